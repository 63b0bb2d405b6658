package service

import (
	"fmt"
	"net/http"
	"time"

	"weir/dashboard"
	"weir/dispatch"
	"weir/handler"
)

// pages returns the dashboard.
func (svc *Service) pages(failures dashboard.Failures) (http.Handler, error) {
	config := dashboard.Config{
		Failures: failures,
		Events:   svc.store, Bodies: svc.store, Deliveries: svc.store, Queues: svc.store, Operator: watchedStore{svc.store, svc},
		Destinations: watchedDispatcher{svc.dispatcher, svc}, Wake: svc.dispatcher.Wake, Waiting: dispatch.Waiting,
		Minutes: svc.stats.Minutes, Since: svc.stats.Since(), Stuck: func(time.Time) []string { return svc.dispatcher.Stuck() }, StallAfter: time.Duration(svc.settings.StallAfter),
		Version: svc.version, Log: svc.log, Signatures: map[string]string{},
	}
	if tokens := svc.settings.APITokens(); len(tokens) > 0 {
		config.Tokens = handler.NewTokens(tokens...)
	}
	if public := svc.settings.PublicURL.Parsed(); public != nil {
		config.Origin = public.Scheme + "://" + public.Host
	}
	for _, d := range svc.downstreams() {
		config.Downstreams = append(config.Downstreams, dashboard.Downstream(d))
	}
	for _, s := range svc.settings.Sources {
		config.Sources = append(config.Sources, s.Name)
		config.Signatures[s.Name] = string(s.HMACHeader)
	}
	pages, err := dashboard.New(config)
	if err != nil {
		return nil, fmt.Errorf("make the dashboard: %w", err)
	}
	return pages, nil
}
