package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"weir/service/metrics"
	"weir/webhook"
)

// auxiliaryServers start before the service and stop after it: the listener of
// WEIR_METRICS_ADDR, whose last page is then complete, and the sender of alerts,
// which then has all of them.
type auxiliaryServers struct {
	server   *http.Server
	listener net.Listener // nil when WEIR_METRICS_ADDR is not set
	cut      context.CancelFunc
	running  sync.WaitGroup
}

// listenAuxiliary opens the second listener.
func (svc *Service) listenAuxiliary(ctx context.Context, c Config) error {
	if svc.settings.MetricsAddr == "" {
		return nil
	}
	listener, err := c.Listen(ctx, "tcp", string(svc.settings.MetricsAddr))
	if err != nil {
		return fmt.Errorf("listen on %s for metrics: %w", svc.settings.MetricsAddr, err)
	}
	svc.auxiliary.listener = listener
	svc.auxiliary.server = metrics.NewServer(svc.page, svc.log)
	return nil
}

// startAuxiliary starts both. A listener that breaks ends the service by fail.
func (svc *Service) startAuxiliary(fail func(error)) {
	b := &svc.auxiliary
	if b.listener != nil {
		b.running.Go(func() {
			if err := serveUntilClosed(b.server, b.listener); err != nil {
				fail(fmt.Errorf("serve metrics: %w", err))
			}
		})
	}
	if svc.alerter.Sends() {
		var sending context.Context
		sending, b.cut = context.WithCancel(context.Background())
		b.running.Go(func() { svc.alerter.Run(sending) })
	}
}

// stopAuxiliary sends what alerts are left and closes the listener, until grace
// ends.
func (svc *Service) stopAuxiliary(grace context.Context) {
	b := &svc.auxiliary
	svc.alerter.Close()
	if b.cut != nil {
		stop := context.AfterFunc(grace, b.cut)
		defer stop()
		defer b.cut()
	}
	if b.server != nil {
		if err := b.server.Shutdown(grace); err != nil && !errors.Is(err, http.ErrServerClosed) {
			svc.log.Debug("metrics were still being read when the grace ended", webhook.LogError, err)
			b.server.Close()
		}
	}
	b.running.Wait()
}
