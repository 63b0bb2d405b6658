package service

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
func (svc *Service) listenAll(ctx context.Context, c Config) error {
	var err error
	if svc.listener, err = c.Listen(ctx, "tcp", svc.settings.Addr); err != nil {
		return cannotListen(svc.settings.Addr, err)
	}
	if err := svc.listenAuxiliary(ctx, c); err != nil {
		return errors.Join(err, svc.listener.Close())
	}
	svc.logStart(svc.listener.Addr())
	svc.logRemoved(ctx)
	return nil
}

// cannotListen says which setting gives another address.
func cannotListen(addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s: %w (WEIR_ADDR or PORT sets another address)", addr, err)
	}
	return fmt.Errorf("listen on %s: %w", addr, err)
}

// Run serves until ctx ends or a part fails, and then stops in the order of
// the design.
func (svc *Service) Run(parent context.Context) error {
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()

	part := func(name string, run func() error) {
		svc.parts.Go(func() {
			if err := run(); err != nil {
				stop(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	svc.startAuxiliary(stop)
	part("serve", func() error { return serveUntilClosed(svc.server, svc.listener) })
	part("dispatch", func() error { return svc.dispatcher.Run(sending, hard) })
	part("housekeeping", func() error { return svc.keep(sending) })
	part("store", func() error { return svc.watchStore(sending) })
	part("watch", func() error { return svc.watch(sending) })

	<-ctx.Done()
	cause := context.Cause(ctx)
	svc.log.Info("weir stops", webhook.LogReason, cause.Error())
	svc.drain(stopSending, cut)
	if parent.Err() != nil || errors.Is(cause, errIdle) {
		return nil
	}
	return cause
}

// drain is the order of stopping: not ready, the delay, no new requests, no
// new deliveries, and what is out may end within the grace.
func (svc *Service) drain(stopSending, cut context.CancelFunc) {
	svc.draining.Store(true)
	if svc.settings.ShutdownDelay > 0 {
		timer := time.NewTimer(svc.settings.ShutdownDelay)
		defer timer.Stop()
		<-timer.C
	}
	grace, cancel := context.WithTimeout(context.Background(), svc.settings.ShutdownGrace)
	context.AfterFunc(grace, cut)
	if err := svc.server.Shutdown(grace); err != nil {
		svc.log.Warn("requests were still coming in when the grace ended", webhook.LogError, err)
		svc.server.Close()
	}
	stopSending()
	svc.parts.Wait()
	svc.logStop()
	svc.stopAuxiliary(grace)
	cancel()
}

// serveUntilClosed serves, and does not call a stop an error.
func serveUntilClosed(server *http.Server, listener net.Listener) error {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
