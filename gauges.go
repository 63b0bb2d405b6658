package main

import (
	"context"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"weir/webhook"
)

// stopReadTimeout bounds what is read at a stop, so that a store that hangs does
// not keep the service from ending.
const stopReadTimeout = 5 * time.Second

// readGauges sets the metrics that are not counted as they happen.
func (h *house) readGauges(ctx context.Context) {
	now := webhook.Ceil(time.Now())
	h.meters.service(serviceGauges{ready: h.ready(ctx) == nil, inflight: h.inflight.Used()}, now)
	stuck := h.dispatcher.Stuck(now)
	for _, name := range h.dispatcher.Names() {
		h.meters.stuck(name, slices.Contains(stuck, name))
		h.readDestination(ctx, name, now)
	}
	h.readStore(ctx)
}

// readDestination reads the gates and the queue of one destination. What
// cannot be read keeps its last value.
func (h *house) readDestination(ctx context.Context, name string, now time.Time) {
	status, err := h.dispatcher.Status(name, now)
	if err != nil {
		return
	}
	h.meters.gates(status)
	queue, err := h.store.Queue(ctx, name, now)
	if err != nil {
		h.log.Debug("metrics lack a queue", webhook.LogDestination, name, webhook.LogError, err)
		return
	}
	h.meters.queue(queue, status, now)
}

// readStore reads the sizes.
func (h *house) readStore(ctx context.Context) {
	size, err := h.store.Size(ctx)
	if err != nil {
		h.log.Debug("metrics lack the size of the store", webhook.LogError, err)
		return
	}
	h.meters.size(size, volumeFree(h.store.Path()))
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
