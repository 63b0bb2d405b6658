package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"weir/webhook"
)

const (
	// closeTimeout bounds the last checkpoint and the closing of the store.
	closeTimeout = 10 * time.Second
)

// errIdle ends a service that has had nothing to do for WEIR_IDLE_EXIT.
var errIdle = errors.New("nothing to do for as long as WEIR_IDLE_EXIT says")

// listenAll opens the listeners and logs what is in force.
func (h *house) listenAll(ctx context.Context, c serviceConfig) error {
	var err error
	if h.listener, err = c.listen(ctx, "tcp", h.settings.addr); err != nil {
		return cannotListen(h.settings.addr, err)
	}
	if err := h.listenBeside(ctx, c); err != nil {
		return errors.Join(err, h.listener.Close())
	}
	h.logStart(h.listener.Addr())
	h.logStrays(ctx)
	return nil
}

// cannotListen says which setting gives another address.
func cannotListen(addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s: %w (WEIR_ADDR or PORT sets another address)", addr, err)
	}
	return fmt.Errorf("listen on %s: %w", addr, err)
}

// run serves until ctx ends or a part fails, and then stops in the order of
// the design.
func (h *house) run(parent context.Context) error {
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()

	part := func(name string, run func() error) {
		h.parts.Go(func() {
			if err := run(); err != nil {
				stop(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	h.beginBeside(stop)
	part("serve", func() error { return serveUntilClosed(h.server, h.listener) })
	part("dispatch", func() error { return h.dispatcher.Run(sending, hard) })
	part("housekeeping", func() error { return h.keep(sending) })
	part("store", func() error { return h.watchStore(sending) })
	part("watch", func() error { return h.watch(sending) })

	<-ctx.Done()
	cause := context.Cause(ctx)
	h.log.Info("weir stops", webhook.LogReason, cause.Error())
	h.drain(stopSending, cut)
	if parent.Err() != nil || errors.Is(cause, errIdle) {
		return nil
	}
	return cause
}

// drain is the order of stopping: not ready, the delay, no new requests, no
// new deliveries, and what is out may end within the grace.
func (h *house) drain(stopSending, cut context.CancelFunc) {
	h.draining.Store(true)
	if h.settings.shutdownDelay > 0 {
		timer := time.NewTimer(h.settings.shutdownDelay)
		defer timer.Stop()
		<-timer.C
	}
	grace, cancel := context.WithTimeout(context.Background(), h.settings.shutdownGrace)
	context.AfterFunc(grace, cut)
	if err := h.server.Shutdown(grace); err != nil {
		h.log.Warn("requests were still coming in when the grace ended", webhook.LogError, err)
		h.server.Close()
	}
	stopSending()
	h.parts.Wait()
	h.logStop()
	h.endBeside(grace)
	cancel()
}

// serveUntilClosed serves, and does not call a stop an error.
func serveUntilClosed(server *http.Server, listener net.Listener) error {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
