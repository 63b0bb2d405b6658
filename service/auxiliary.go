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

// auxiliaryServers is what runs beside the service, begins before it and ends after it:
// the listener of WEIR_METRICS_ADDR, whose last page then tells everything, and
// the sender of alerts, which then has all of them.
type auxiliaryServers struct {
	server   *http.Server
	listener net.Listener // nil when WEIR_METRICS_ADDR is not set
	cut      context.CancelFunc
	running  sync.WaitGroup
}

// listenAuxiliary opens the second listener.
func (h *Service) listenAuxiliary(ctx context.Context, c Config) error {
	if h.settings.MetricsAddr == "" {
		return nil
	}
	listener, err := c.Listen(ctx, "tcp", h.settings.MetricsAddr)
	if err != nil {
		return fmt.Errorf("listen on %s for metrics: %w", h.settings.MetricsAddr, err)
	}
	h.auxiliary.listener = listener
	h.auxiliary.server = metrics.NewServer(h.page, h.log)
	return nil
}

// startAuxiliary starts both. A listener that breaks ends the service by fail.
func (h *Service) startAuxiliary(fail func(error)) {
	b := &h.auxiliary
	if b.listener != nil {
		b.running.Go(func() {
			if err := serveUntilClosed(b.server, b.listener); err != nil {
				fail(fmt.Errorf("serve metrics: %w", err))
			}
		})
	}
	if h.alerter.Sends() {
		var sending context.Context
		sending, b.cut = context.WithCancel(context.Background())
		b.running.Go(func() { h.alerter.Run(sending) })
	}
}

// stopAuxiliary sends what alerts are left and closes the listener, until grace
// ends.
func (h *Service) stopAuxiliary(grace context.Context) {
	b := &h.auxiliary
	h.alerter.Close()
	if b.cut != nil {
		stop := context.AfterFunc(grace, b.cut)
		defer stop()
		defer b.cut()
	}
	if b.server != nil {
		if err := b.server.Shutdown(grace); err != nil && !errors.Is(err, http.ErrServerClosed) {
			h.log.Debug("metrics were still being read when the grace ended", webhook.LogError, err)
			b.server.Close()
		}
	}
	b.running.Wait()
}
