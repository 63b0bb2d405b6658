package service

import (
	"context"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"weir/service/metrics"
	"weir/webhook"
)

// stopReadTimeout bounds what is read at a stop, so that a store that hangs does
// not keep the service from ending.
const stopReadTimeout = 5 * time.Second

// readGauges sets the metrics that are not counted as they happen.
func (svc *Service) readGauges(ctx context.Context) {
	now := webhook.Ceil(time.Now())
	svc.meters.SetService(metrics.Service{Ready: svc.ready(ctx) == nil, Inflight: svc.inflight.Used()}, now)
	stuck := svc.dispatcher.Stuck()
	for _, name := range svc.dispatcher.Names() {
		svc.meters.SetStuck(name, slices.Contains(stuck, name))
		svc.readDestination(ctx, name, now)
	}
	svc.readStore(ctx)
}

// readDestination reads the gates and the queue of one destination. What
// cannot be read keeps its last value.
func (svc *Service) readDestination(ctx context.Context, name string, now time.Time) {
	status, err := svc.dispatcher.Status(name, now)
	if err != nil {
		return
	}
	svc.meters.SetGates(status)
	queue, err := svc.store.Queue(ctx, name, now)
	if err != nil {
		svc.log.Debug("metrics lack a queue", webhook.LogDestination, name, webhook.LogError, err)
		return
	}
	svc.meters.SetQueue(queue, status, now)
}

// readStore reads the sizes.
func (svc *Service) readStore(ctx context.Context) {
	size, err := svc.store.Size(ctx)
	if err != nil {
		svc.log.Debug("metrics lack the size of the store", webhook.LogError, err)
		return
	}
	svc.meters.SetSize(size, volumeFree(svc.store.Path()))
}

// volumeFree returns the bytes that are free to this process on the volume of
// a file.
func volumeFree(path string) uint64 {
	volume, err := volumeOf(path)
	if err != nil {
		return 0
	}
	return volume.Bavail * uint64(volume.Bsize)
}

// volumeOf asks the system about the volume that a file is on, or would be.
func volumeOf(path string) (volume syscall.Statfs_t, err error) {
	err = syscall.Statfs(filepath.Dir(path), &volume)
	return volume, err
}
