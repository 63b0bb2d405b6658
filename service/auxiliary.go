package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"weir/ratelimit"
	"weir/service/metrics"
	"weir/webhook"
)

// auxiliaryServers start before the service and stop after it: the listeners of
// WEIR_METRICS_ADDR, whose last page is then complete, and of WEIR_ADMIN_ADDR, and
// the sender of alerts, which then has all of them.
type auxiliaryServers struct {
	servers []*auxiliaryServer
	cut     context.CancelFunc
	running sync.WaitGroup
}

// auxiliaryServer is a server with a listener of its own.
type auxiliaryServer struct {
	setting  string // of its address
	address  string
	server   *http.Server
	listener net.Listener
}

// add adds a server before any listens.
func (b *auxiliaryServers) add(setting, address string, server *http.Server) {
	b.servers = append(b.servers, &auxiliaryServer{setting: setting, address: address, server: server})
}

// listenAuxiliary opens the other listeners.
func (svc *Service) listenAuxiliary(ctx context.Context, c Config) error {
	if svc.settings.MetricsAddr != "" {
		svc.auxiliary.add("WEIR_METRICS_ADDR", string(svc.settings.MetricsAddr), metrics.NewServer(svc.page, svc.log))
	}
	for _, s := range svc.auxiliary.servers {
		listener, err := c.Listen(ctx, "tcp", s.address)
		if err != nil {
			return errors.Join(fmt.Errorf("listen on %s (%s): %w", s.address, s.setting, err), svc.auxiliary.closeListeners())
		}
		s.listener = ratelimit.NewConnections(svc.failures, svc.cannotAccept).Listener(listener)
	}
	return nil
}

// closeListeners closes what was opened when another one could not be.
func (b *auxiliaryServers) closeListeners() error {
	var errs []error
	for _, s := range b.servers {
		if s.listener != nil {
			errs = append(errs, s.listener.Close())
		}
	}
	return errors.Join(errs...)
}

// startAuxiliary starts all of them. A listener that breaks ends the service by
// fail.
func (svc *Service) startAuxiliary(fail func(error)) {
	b := &svc.auxiliary
	for _, s := range b.servers {
		b.running.Go(func() {
			if err := serveUntilClosed(s.server, s.listener); err != nil {
				fail(fmt.Errorf("serve %s: %w", s.setting, err))
			}
		})
	}
	if svc.alerter.Sends() {
		var sending context.Context
		sending, b.cut = context.WithCancel(context.Background())
		b.running.Go(func() { svc.alerter.Run(sending) })
	}
}

// stopAuxiliary sends what alerts are left and closes the listeners, until grace
// ends.
func (svc *Service) stopAuxiliary(grace context.Context) {
	b := &svc.auxiliary
	svc.alerter.Close()
	if b.cut != nil {
		stop := context.AfterFunc(grace, b.cut)
		defer stop()
		defer b.cut()
	}
	for _, s := range b.servers {
		if err := s.server.Shutdown(grace); err != nil && !errors.Is(err, http.ErrServerClosed) {
			svc.log.Debug("an auxiliary server still had requests when the grace ended", webhook.LogError, err)
			s.server.Close()
		}
	}
	b.running.Wait()
}
