package service

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"time"

	"weir/config"
	"weir/webhook"
)

// logStart writes what is in force: one line for the service, one for each
// source and destination, and one for each active hold.
func (svc *Service) logStart(address net.Addr) {
	svc.log.Info("weir is ready", webhook.LogAddress, address.String(), webhook.LogVersion, svc.version,
		webhook.LogDatabase, svc.store.Path(), webhook.LogPragmas, svc.store.Pragmas(),
		slog.Any(webhook.LogSettings, slog.GroupValue(serviceSettings(svc.settings)...)))
	for _, source := range svc.settings.Sources {
		svc.log.Info("source", webhook.LogSource, source.Name,
			slog.Any(webhook.LogSettings, slog.GroupValue(sourceSettingsOf(source)...)))
	}
	for _, destination := range svc.settings.Destinations {
		svc.log.Info("destination", webhook.LogDestination, destination.Policy.Name,
			slog.Any(webhook.LogSettings, slog.GroupValue(destinationSettingsOf(destination)...)))
	}
	for _, name := range svc.dispatcher.Names() {
		if status, err := svc.dispatcher.Status(name, time.Now()); err == nil {
			svc.logActive(status.Destination)
		}
	}
}

// logActive writes a line for each hold that a start finds, and for an open
// breaker. They are no news, but they are why nothing is sent.
func (svc *Service) logActive(d webhook.Destination) {
	for _, hold := range d.Holds {
		svc.log.Warn("hold is active", holdFields(d.Name, hold)...)
	}
	if d.Breaker.Open() {
		svc.log.Warn("breaker is open", breakerFields(d)...)
	}
}

// logStop writes what is left for the next start.
func (svc *Service) logStop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopReadTimeout)
	defer cancel()
	for _, name := range svc.dispatcher.Names() {
		queue, err := svc.store.Queue(ctx, name, webhook.Ceil(time.Now()))
		if err != nil {
			svc.log.Warn("what is left cannot be counted", webhook.LogDestination, name, webhook.LogError, err)
			continue
		}
		svc.log.Info("left for the next start", webhook.LogDestination, name,
			webhook.LogPending, queue.Pending, webhook.LogDead, queue.Dead)
	}
	svc.log.Info("weir has stopped", webhook.LogCut, svc.cut.Load())
}

// setting makes one member of the group LogSettings. The names are those of
// the variables, without their prefix and in lower case.
func setting(name, value string) slog.Attr { return slog.String(name, value) }

// serviceSettings lists the settings of the service that matter to whoever reads
// the log; none is a secret.
func serviceSettings(s config.Settings) []slog.Attr {
	return []slog.Attr{
		setting("max_body", config.ByteSize(s.MaxBody).String()),
		setting("max_inflight", config.ByteSize(s.MaxInflight).String()),
		setting("dedupe_window", config.ShortSpan(s.DedupeWindow)),
		setting("retain_delivered", config.ShortSpan(s.RetainDelivered)),
		setting("retain_dead", config.ShortSpan(s.RetainDead)),
		setting("refused_rate", config.Rate(s.RefusedRate).String()),
		setting("shutdown_grace", config.ShortSpan(s.ShutdownGrace)),
		setting("shutdown_delay", config.ShortSpan(s.ShutdownDelay)),
		setting("idle_exit", config.ShortSpan(s.IdleExit)),
		setting("stall_after", config.ShortSpan(s.StallAfter)),
		setting("client_ip_header", orOff(s.ClientIPHeader)),
		setting("metrics_addr", orOff(s.MetricsAddr)),
		setting("admin_addr", orOff(s.AdminAddr)),
		setting("alert_url", setOrOff[s.AlertURL != nil]),
		setting("api_token", setOrOff[len(s.APITokens) > 0]),
	}
}

// sourceSettingsOf is the same for a source.
func sourceSettingsOf(s config.Source) []slog.Attr {
	return []slog.Attr{
		setting("scheme", s.Scheme),
		setting("previous_secret", setOrOff[len(s.SecretList) > 1]),
		setting("rate", orOff(config.Rates(s.Rate).String())),
		setting("max_body", config.ByteSize(s.MaxBody).String()),
		setting("to", strings.Join(s.To, ",")),
	}
}

// destinationSettingsOf is the same for a destination.
func destinationSettingsOf(d config.Destination) []slog.Attr {
	p := d.Policy
	return []slog.Attr{
		setting("url", d.URL.Scheme+"://"+d.URL.Host),
		setting("timeout", config.ShortSpan(p.Timeout)),
		setting("rate", orOff(config.Rates(p.Rate).String())),
		setting("retry_budget", config.Rate(p.RetryBudget).String()),
		setting("max_age", config.ShortSpan(p.MaxAge)),
		setting("max_hold", config.ShortSpan(p.MaxHold)),
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
