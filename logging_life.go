package main

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"time"

	"weir/webhook"
)

// logStart writes what is in force: one line for the service, one for each
// source and destination, and one for each hold that stands.
func (h *house) logStart(address net.Addr) {
	h.log.Info("weir is ready", webhook.LogAddress, address.String(), webhook.LogVersion, h.version,
		webhook.LogDatabase, h.store.Path(), webhook.LogPragmas, h.store.Pragmas(),
		slog.Any(webhook.LogSettings, slog.GroupValue(serviceSettings(h.settings)...)))
	for _, source := range h.settings.sources {
		h.log.Info("source", webhook.LogSource, source.name,
			slog.Any(webhook.LogSettings, slog.GroupValue(sourceSettingsOf(source)...)))
	}
	for _, destination := range h.settings.destinations {
		h.log.Info("destination", webhook.LogDestination, destination.policy.Name,
			slog.Any(webhook.LogSettings, slog.GroupValue(destinationSettingsOf(destination)...)))
	}
	for _, name := range h.dispatcher.Names() {
		if status, err := h.dispatcher.Status(name, time.Now()); err == nil {
			h.logStanding(status.Destination)
		}
	}
}

// logStanding writes a line for each hold that a start finds, and for an open
// breaker. They are no news, but they are why nothing is sent.
func (h *house) logStanding(d webhook.Destination) {
	for _, hold := range d.Holds {
		h.log.Warn("hold stands", holdFields(d.Name, hold)...)
	}
	if d.Breaker.Open() {
		h.log.Warn("breaker is open", breakerFields(d)...)
	}
}

// logStop writes what is left for the next start.
func (h *house) logStop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopReadTimeout)
	defer cancel()
	for _, name := range h.dispatcher.Names() {
		queue, err := h.store.Queue(ctx, name, webhook.Ceil(time.Now()))
		if err != nil {
			h.log.Warn("what is left cannot be counted", webhook.LogDestination, name, webhook.LogError, err)
			continue
		}
		h.log.Info("left for the next start", webhook.LogDestination, name,
			webhook.LogPending, queue.Pending, webhook.LogDead, queue.Dead)
	}
	h.log.Info("weir has stopped", webhook.LogCut, h.cut.Load())
}

// setting makes one member of the group LogSettings. The names are those of
// the variables, without their prefix and in lower case.
func setting(name, value string) slog.Attr { return slog.String(name, value) }

// serviceSettings lists the settings of the service that matter to somebody who reads
// the log; none is a secret.
func serviceSettings(s settings) []slog.Attr {
	return []slog.Attr{
		setting("max_body", byteSize(s.maxBody).String()),
		setting("max_inflight", byteSize(s.maxInflight).String()),
		setting("dedupe_window", shortSpan(s.dedupeWindow)),
		setting("retain_delivered", shortSpan(s.retainDelivered)),
		setting("retain_dead", shortSpan(s.retainDead)),
		setting("refused_rate", rate(s.refusedRate).String()),
		setting("shutdown_grace", shortSpan(s.shutdownGrace)),
		setting("shutdown_delay", shortSpan(s.shutdownDelay)),
		setting("idle_exit", shortSpan(s.idleExit)),
		setting("stall_after", shortSpan(s.stallAfter)),
		setting("client_ip_header", orOff(s.clientIPHeader)),
		setting("metrics_addr", orOff(s.metricsAddr)),
		setting("alert_url", setOrOff[s.alertURL != nil]),
		setting("api_token", setOrOff[len(s.apiTokens) > 0]),
	}
}

// sourceSettingsOf is the same for a source.
func sourceSettingsOf(s sourceSettings) []slog.Attr {
	return []slog.Attr{
		setting("scheme", s.scheme),
		setting("previous_secret", setOrOff[len(s.secretList) > 1]),
		setting("rate", orOff(rates(s.rate).String())),
		setting("max_body", byteSize(s.maxBody).String()),
		setting("to", strings.Join(s.to, ",")),
	}
}

// destinationSettingsOf is the same for a destination.
func destinationSettingsOf(d destinationSettings) []slog.Attr {
	p := d.policy
	return []slog.Attr{
		setting("url", d.url.Scheme+"://"+d.url.Host),
		setting("timeout", shortSpan(p.Timeout)),
		setting("rate", orOff(rates(p.Rate).String())),
		setting("retry_budget", rate(p.RetryBudget).String()),
		setting("max_age", shortSpan(p.MaxAge)),
		setting("max_hold", shortSpan(p.MaxHold)),
		setting("fallback", orOff(p.Fallback)),
		slog.Int("concurrency", p.Concurrency),
		slog.Int("max_attempts", p.MaxAttempts),
	}
}

// setOrOff tells whether there is a setting without its value.
var setOrOff = map[bool]string{true: "set", false: "off"}

func orOff(text string) string {
	if text == "" {
		return setOrOff[false]
	}
	return text
}
