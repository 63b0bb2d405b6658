package service

import (
	"fmt"
	"net/http"

	"weir/dashboard"
	"weir/dispatch"
	"weir/handler"
)

// pages returns the dashboard over the rooms of the house.
func (h *Service) pages(strangers dashboard.Strangers) (http.Handler, error) {
	config := dashboard.Config{
		Strangers: strangers,
		Events:    h.store, Bodies: h.store, Deliveries: h.store, Queues: h.store, Operator: watchedStore{h.store, h},
		Destinations: watchedDispatcher{h.dispatcher, h}, Wake: h.dispatcher.Wake, Waiting: dispatch.Waiting,
		Minutes: h.stats.Minutes, Since: h.stats.Since(), Stuck: h.dispatcher.Stuck, StallAfter: h.settings.StallAfter,
		Version: h.version, Log: h.log, Signatures: map[string]string{},
	}
	if len(h.settings.APITokens) > 0 {
		config.Tokens = handler.NewTokens(h.settings.APITokens...)
	}
	if h.settings.PublicURL != nil {
		config.Origin = h.settings.PublicURL.Scheme + "://" + h.settings.PublicURL.Host
	}
	for _, d := range h.downstreams() {
		config.Downstreams = append(config.Downstreams, dashboard.Downstream(d))
	}
	for _, s := range h.settings.Sources {
		config.Sources = append(config.Sources, s.Name)
		config.Signatures[s.Name] = s.Hmac.Header
	}
	pages, err := dashboard.New(config)
	if err != nil {
		return nil, fmt.Errorf("put the dashboard together: %w", err)
	}
	return pages, nil
}
