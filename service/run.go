package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"weir/ratelimit"
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
	listener, err := c.Listen(ctx, "tcp", string(svc.settings.Addr))
	if err != nil {
		return cannotListen(string(svc.settings.Addr), err)
	}
	svc.listener = ratelimit.NewConnections(svc.failures, svc.cannotAccept).Listener(listener)
	if err := svc.listenAuxiliary(ctx, c); err != nil {
		return errors.Join(err, svc.listener.Close())
	}
	svc.logStart(svc.listener.Addr())
	svc.logRemoved(ctx)
	return nil
}

// cannotAccept logs that connections cannot be accepted, at most once a minute.
func (svc *Service) cannotAccept(err error) {
	now := int64(time.Since(svc.created))
	if last := svc.acceptFault.Load(); last == 0 || time.Duration(now-last) >= time.Minute {
		svc.acceptFault.Store(now)
		svc.log.Error("connections cannot be accepted", webhook.LogError, err)
	}
}

// cannotListen says which setting gives another address.
func cannotListen(addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s: %w (WEIR_ADDR or PORT sets another address)", addr, err)
	}
	return fmt.Errorf("listen on %s: %w", addr, err)
}

// ErrNotIdle is how Run ends when an event came in while a service that had been
// idle for WEIR_IDLE_EXIT was closing. The event is stored and pending, and a
// host that starts weir only for requests may not come back for it: whoever gets
// this error opens the service again.
var ErrNotIdle = errors.New("an event came in while the idle service was closing")

// running is what one Run has started, by the order in which it stops.
type running struct {
	// stopSending ends the dispatcher, which then waits for the attempts that
	// are out; cut ends those, too.
	stopSending context.CancelFunc
	cut         context.CancelFunc
	dispatcher  sync.WaitGroup
	// stopBackground ends what looks after the store and the alerts.
	stopBackground context.CancelFunc
	background     sync.WaitGroup
}

// Run receives and delivers until ctx ends or a part fails, and then stops as
// drain says. It returns nil when ctx ended or the service was idle for
// WEIR_IDLE_EXIT, [ErrNotIdle], or why a part failed.
func (svc *Service) Run(parent context.Context) error {
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	r := svc.start(ctx, stop)
	<-ctx.Done()
	cause := context.Cause(ctx)
	svc.log.Info("weir stops", webhook.LogReason, cause.Error())
	idle := errors.Is(cause, errIdle) && parent.Err() == nil
	if !idle {
		svc.draining.Store(true)
		svc.shutdownDelay()
	}
	svc.drain(r)
	switch {
	case idle && svc.anythingPending(context.WithoutCancel(ctx)):
		return ErrNotIdle
	case idle || parent.Err() != nil:
		return nil
	}
	return cause
}

// start begins everything. A part that fails stops all others.
func (svc *Service) start(ctx context.Context, stop context.CancelCauseFunc) *running {
	r := &running{}
	var sending, hard, background context.Context
	sending, r.stopSending = context.WithCancel(context.WithoutCancel(ctx))
	hard, r.cut = context.WithCancel(context.WithoutCancel(ctx))
	background, r.stopBackground = context.WithCancel(context.WithoutCancel(ctx))
	part := func(group *sync.WaitGroup, name string, run func() error) {
		group.Go(func() {
			if err := run(); err != nil {
				stop(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	svc.startAuxiliary(stop)
	part(&r.background, "serve", func() error { return serveUntilClosed(svc.server, svc.listener) })
	part(&r.dispatcher, "dispatch", func() error { return svc.dispatcher.Run(sending, hard) })
	part(&r.background, "housekeeping", func() error { return svc.keep(background) })
	part(&r.background, "store", func() error { return svc.watchStore(background) })
	part(&r.background, "watch", func() error { return svc.watch(background) })
	return r
}

// shutdownDelay waits for WEIR_SHUTDOWN_DELAY: a load balancer needs the time to
// see that the service is not ready.
func (svc *Service) shutdownDelay() {
	if svc.settings.ShutdownDelay > 0 {
		timer := time.NewTimer(time.Duration(svc.settings.ShutdownDelay))
		defer timer.Stop()
		<-timer.C
	}
}

// maxRequestsShare bounds the part of the grace that is kept for requests that
// are still coming in when the attempts have ended.
const maxRequestsShare = 5 * time.Second

// drain stops in an order that refuses no sender for as long as it can: nothing
// new is sent, the attempts that are out end or are cut, while events are still
// received and stored; then the listener closes, the requests in hand end, and
// last the background work. All within WEIR_SHUTDOWN_GRACE.
func (svc *Service) drain(r *running) {
	total := time.Duration(svc.settings.ShutdownGrace)
	grace, cancel := context.WithTimeout(context.Background(), total)
	defer cancel()
	share := min(total/4, maxRequestsShare)
	cut := time.AfterFunc(total-share, r.cut)
	r.stopSending()
	r.dispatcher.Wait()
	cut.Stop()
	if err := svc.server.Shutdown(grace); err != nil {
		svc.log.Warn("requests were still coming in when the grace ended", webhook.LogError, err)
		svc.server.Close()
	}
	r.stopBackground()
	r.background.Wait()
	r.cut()
	svc.logStop()
	svc.stopAuxiliary(grace)
}

// serveUntilClosed serves, and does not call a stop an error.
func serveUntilClosed(server *http.Server, listener net.Listener) error {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
