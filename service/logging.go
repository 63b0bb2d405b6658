package service

import (
	"io"
	"log/slog"
	"os"
	"strings"

	"weir/config"
	"weir/outbound"
	"weir/webhook"
)

// maxLogError bounds the text of an error in a line.
const maxLogError = 2000

// logTime is how times are written: RFC 3339 in UTC with milliseconds.
const logTime = "2006-01-02T15:04:05.000Z07:00"

// newLogger writes text to people at a terminal and JSON to everyone else.
func newLogger(out io.Writer, s config.Settings) *slog.Logger {
	form := logForm{secrets: outbound.NewSecrets(s.Secrets()...)}
	options := &slog.HandlerOptions{Level: s.Level(), ReplaceAttr: form.replace}
	if s.LogFormat == "text" || s.LogFormat != "json" && isTerminal(out) {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(out, options))
}

// logForm gives values the form in which they are logged, in one place:
// durations in milliseconds under a name that says so, times in UTC, nothing
// for a time that is not set, and errors without the secrets of the settings.
// The last is a second net: what makes an error keeps secrets out of it.
type logForm struct {
	secrets outbound.Secrets
}

// replace is for [slog.HandlerOptions].
func (f logForm) replace(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindDuration:
		return slog.Float64(millisecondsName(a.Key), float64(a.Value.Duration().Microseconds())/1000)
	case slog.KindTime:
		if a.Value.Time().IsZero() {
			return slog.Attr{}
		}
		return slog.String(a.Key, a.Value.Time().UTC().Format(logTime))
	}
	if a.Key == webhook.LogError || a.Key == webhook.LogAlert {
		return slog.String(a.Key, f.secrets.Redact(a.Value.String(), maxLogError))
	}
	return a
}

// millisecondsName ends in the unit.
func millisecondsName(name string) string {
	return strings.TrimSuffix(name, "_ms") + "_ms"
}

// String keeps the secrets from whatever prints a logForm.
func (f logForm) String() string { return "log form" }

// isTerminal reports whether out is a terminal.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
