package main

import (
	"fmt"
	"net/http"

	"weir/dashboard"
	"weir/dispatch"
	"weir/handler"
)

// pages returns the dashboard over the rooms of the house.
func (h *house) pages(strangers dashboard.Strangers) (http.Handler, error) {
	config := dashboard.Config{
		Strangers: strangers,
		Events:    h.store, Bodies: h.store, Deliveries: h.store, Queues: h.store, Operator: watchedStore{h.store, h},
		Destinations: watchedDispatcher{h.dispatcher, h}, Wake: h.dispatcher.Wake, Waiting: dispatch.Waiting,
		Minutes: h.stats.Minutes, Since: h.stats.Since(), Stuck: h.dispatcher.Stuck, StallAfter: h.settings.stallAfter,
		Version: h.version, Log: h.log, Signatures: map[string]string{},
	}
	if len(h.settings.apiTokens) > 0 {
		config.Tokens = handler.NewTokens(h.settings.apiTokens...)
	}
	if h.settings.publicURL != nil {
		config.Origin = h.settings.publicURL.Scheme + "://" + h.settings.publicURL.Host
	}
	for _, d := range h.downstreams() {
		config.Downstreams = append(config.Downstreams, dashboard.Downstream(d))
	}
	for _, s := range h.settings.sources {
		config.Sources = append(config.Sources, s.name)
		config.Signatures[s.name] = s.hmac.header
	}
	pages, err := dashboard.New(config)
	if err != nil {
		return nil, fmt.Errorf("put the dashboard together: %w", err)
	}
	return pages, nil
}
