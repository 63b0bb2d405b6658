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
	h.log.Info("weir is ready", webhook.LogAddress, address.String(), webhook.LogVersion, buildVersion(),
		webhook.LogDatabase, h.store.Path(), webhook.LogPragmas, h.store.Pragmas(),
		slog.Any(webhook.LogSettings, slog.GroupValue(h.settings.shown()...)))
	for _, source := range h.settings.sources {
		h.log.Info("source", webhook.LogSource, source.name,
			slog.Any(webhook.LogSettings, slog.GroupValue(source.shown()...)))
	}
	for _, destination := range h.settings.destinations {
		h.log.Info("destination", webhook.LogDestination, destination.policy.Name,
			slog.Any(webhook.LogSettings, slog.GroupValue(destination.shown()...)))
	}
	for _, name := range h.dispatcher.Names() {
		if status, err := h.dispatcher.Status(name, time.Now()); err == nil {
			h.logGates(webhook.Destination{Name: name}, status.Destination)
		}
	}
}

// logStop writes what is left for the next start.
func (h *house) logStop() {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
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

// shown lists the settings of the service that matter to somebody who reads
// the log; none is a secret.
func (s settings) shown() []slog.Attr {
	return []slog.Attr{
		setting("max_body", byteSize(s.maxBody).String()),
		setting("max_inflight", byteSize(s.maxInflight).String()),
		setting("dedupe_window", s.dedupeWindow.String()),
		setting("retain_delivered", s.retainDelivered.String()),
		setting("retain_dead", s.retainDead.String()),
		setting("refused_rate", s.refusedRate.String()),
		setting("shutdown_grace", s.shutdownGrace.String()),
		setting("shutdown_delay", s.shutdownDelay.String()),
		setting("idle_exit", s.idleExit.String()),
		setting("stall_after", s.stallAfter.String()),
		setting("client_ip_header", orOff(s.clientIPHeader)),
		setting("metrics_addr", orOff(s.metricsAddr)),
		setting("alert_url", setOrOff[s.alertURL != nil]),
		setting("api_token", setOrOff[len(s.apiTokens) > 0]),
	}
}

// shown is the same for a source.
func (s sourceSettings) shown() []slog.Attr {
	return []slog.Attr{
		setting("scheme", s.scheme),
		setting("previous_secret", setOrOff[len(s.secretList) > 1]),
		setting("rate", ratesText(s.rate)),
		setting("max_body", byteSize(s.maxBody).String()),
		setting("to", strings.Join(s.to, ",")),
	}
}

// shown is the same for a destination.
func (d destinationSettings) shown() []slog.Attr {
	p := d.policy
	return []slog.Attr{
		setting("url", d.url.Scheme+"://"+d.url.Host),
		setting("timeout", p.Timeout.String()),
		setting("rate", ratesText(p.Rate)),
		setting("retry_budget", p.RetryBudget.String()),
		setting("max_age", p.MaxAge.String()),
		setting("max_hold", p.MaxHold.String()),
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

func ratesText(list []webhook.Rate) string {
	var texts []string
	for _, rate := range list {
		texts = append(texts, rate.String())
	}
	return orOff(strings.Join(texts, ","))
}
