package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"weir/webhook"
)

// beside is what runs beside the service, begins before it and ends after it:
// the listener of WEIR_METRICS_ADDR, whose last page then tells everything, and
// the sender of alerts, which then has all of them.
type beside struct {
	server   *http.Server
	listener net.Listener // nil when WEIR_METRICS_ADDR is not set
	cut      context.CancelFunc
	running  sync.WaitGroup
}

// listenBeside opens the second listener.
func (h *house) listenBeside(ctx context.Context, c serviceConfig) error {
	if h.settings.metricsAddr == "" {
		return nil
	}
	listener, err := c.listen(ctx, "tcp", h.settings.metricsAddr)
	if err != nil {
		return fmt.Errorf("listen on %s for metrics: %w", h.settings.metricsAddr, err)
	}
	h.beside.listener = listener
	h.beside.server = newMetricsServer(h.page, h.log)
	return nil
}

// beginBeside starts both. A listener that breaks ends the service by fail.
func (h *house) beginBeside(fail func(error)) {
	b := &h.beside
	if b.listener != nil {
		b.running.Go(func() {
			if err := serveUntilClosed(b.server, b.listener); err != nil {
				fail(fmt.Errorf("serve metrics: %w", err))
			}
		})
	}
	if h.desk.sends() {
		var sending context.Context
		sending, b.cut = context.WithCancel(context.Background())
		b.running.Go(func() { h.desk.run(sending) })
	}
}

// endBeside sends what alerts are left and closes the listener, until grace
// ends.
func (h *house) endBeside(grace context.Context) {
	b := &h.beside
	h.desk.close()
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
