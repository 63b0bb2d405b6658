package service

import (
	"context"
	"log/slog"
	"net"
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
		svc.log.Info("destination", webhook.LogDestination, destination.Name,
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
		setting("max_body", s.MaxBody.String()),
		setting("max_inflight", s.MaxInflight.String()),
		setting("dedupe_window", s.DedupeWindow.String()),
		setting("retain_delivered", s.RetainDelivered.String()),
		setting("retain_dead", s.RetainDead.String()),
		setting("refused_rate", s.RefusedRate.String()),
		setting("shutdown_grace", s.ShutdownGrace.String()),
		setting("shutdown_delay", s.ShutdownDelay.String()),
		setting("idle_exit", s.IdleExit.String()),
		setting("stall_after", s.StallAfter.String()),
		setting("client_ip_header", orOff(s.ClientIPHeader.String())),
		setting("metrics_addr", orOff(s.MetricsAddr.String())),
		setting("admin_addr", orOff(s.AdminAddr.String())),
		setting("alert_url", setOrOff[s.AlertURL != ""]),
		setting("api_token", setOrOff[len(s.APITokens()) > 0]),
	}
}

// sourceSettingsOf is the same for a source.
func sourceSettingsOf(s config.Source) []slog.Attr {
	return []slog.Attr{
		setting("scheme", s.Scheme.String()),
		setting("previous_secret", setOrOff[len(s.Secrets()) > 1]),
		setting("rate", orOff(s.Rate.String())),
		setting("max_body", s.MaxBody.String()),
		setting("to", s.To.String()),
	}
}

// destinationSettingsOf is the same for a destination.
func destinationSettingsOf(d config.Destination) []slog.Attr {
	target := d.URL.Parsed()
	return []slog.Attr{
		setting("url", target.Scheme+"://"+target.Host),
		setting("timeout", d.Timeout.String()),
		setting("rate", orOff(d.Rate.String())),
		setting("retry_budget", d.RetryBudget.String()),
		setting("max_age", d.MaxAge.String()),
		setting("max_hold", d.MaxHold.String()),
		setting("fallback", orOff(d.Fallback.String())),
		slog.Int("concurrency", int(d.Concurrency)),
		slog.Int("max_attempts", int(d.MaxAttempts)),
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
