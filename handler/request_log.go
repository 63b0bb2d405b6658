package handler

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"weir/webhook"
)

// The most lines in a second about refusals, and about our own failures. The rest
// are counted by [Stats] and the metrics all the same. Each kind has its own
// budget: a stranger's junk must not hide that the store fails.
const (
	refusalLines = 10
	failureLines = 10
)

// requestLog writes one line for each event and for each refusal that is not
// suppressed.
type requestLog struct {
	log      *slog.Logger
	refusals lineBudget
	failures lineBudget
}

// newRequestLog returns a log of requests.
func newRequestLog(log *slog.Logger) *requestLog {
	return &requestLog{log: log, refusals: lineBudget{most: refusalLines}, failures: lineBudget{most: failureLines}}
}

// lineBudget bounds the lines of one kind.
type lineBudget struct {
	most int // in a second

	mu         sync.Mutex // guards what is below
	second     time.Time
	lines      int
	suppressed int
}

// allow reports whether a line may be logged at now, and how many were suppressed
// since the last that was.
func (b *lineBudget) allow(now time.Time) (suppressed int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if second := now.Truncate(time.Second); !second.Equal(b.second) {
		b.second, b.lines = second, 0
	}
	if b.lines >= b.most {
		b.suppressed++
		return 0, false
	}
	b.lines++
	suppressed, b.suppressed = b.suppressed, 0
	return suppressed, true
}

// report reports a request to the log, the counters and the observer.
func (h *receiver) report(r *http.Request, requestID string, in *intake, out outcome) {
	if out.result == "" {
		return
	}
	seen := Observation{
		Source: in.name, Result: out.result, Reason: out.reason, Secret: out.secret,
		Event: out.receipt.ID, Bytes: in.read, At: in.arrived, Duration: time.Since(in.arrived),
		Alert: out.alert,
	}
	h.config.Stats.observe(seen)
	h.noteRefusal(r, requestID, in, out)
	h.config.Observe(seen)
	ctx := r.Context()
	switch out.result {
	case webhook.ResultAccepted, webhook.ResultDuplicate:
		h.lines.event(ctx, seen, out)
	default:
		h.lines.refusal(ctx, requestID, h.config.Client(ctx), seen)
	}
	if out.alert != "" {
		h.lines.log.LogAttrs(ctx, slog.LevelWarn, out.alert, slog.String(webhook.LogSource, in.name))
	}
	if out.cause != nil {
		h.lines.failure(ctx, requestID, seen, out.cause)
	}
}

// event logs what was stored or repeated.
func (l *requestLog) event(ctx context.Context, seen Observation, out outcome) {
	l.log.LogAttrs(ctx, slog.LevelInfo, "event received",
		slog.String(webhook.LogSource, seen.Source),
		slog.String(webhook.LogEvent, seen.Event.String()),
		slog.String(webhook.LogResult, string(seen.Result)),
		slog.Int(webhook.LogSecret, seen.Secret),
		slog.Int64(webhook.LogBytes, seen.Bytes),
		slog.Duration(webhook.LogDuration, seen.Duration))
	if len(out.receipt.Reopened) > 0 {
		l.log.LogAttrs(ctx, slog.LevelInfo, "repeat revived dead deliveries",
			slog.String(webhook.LogEvent, seen.Event.String()),
			slog.Any(webhook.LogDestination, out.receipt.Reopened))
	}
}

// refusal logs what was not stored, challenges among it.
func (l *requestLog) refusal(ctx context.Context, requestID string, client netip.Addr, seen Observation) {
	suppressed, ok := l.refusals.allow(seen.At)
	if !ok {
		return
	}
	attrs := []slog.Attr{
		slog.String(webhook.LogSource, seen.Source),
		slog.String(webhook.LogResult, string(seen.Result)),
		slog.String(webhook.LogReason, seen.Reason),
		slog.String(webhook.LogRequest, requestID),
	}
	if client.IsValid() {
		attrs = append(attrs, slog.String(webhook.LogClient, client.String()))
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int(webhook.LogSuppressed, suppressed))
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, "request not stored", attrs...)
}

// failure logs our own fault, under a bound of its own.
func (l *requestLog) failure(ctx context.Context, requestID string, seen Observation, cause error) {
	suppressed, ok := l.failures.allow(seen.At)
	if !ok {
		return
	}
	l.log.LogAttrs(ctx, slog.LevelError, "event could not be stored",
		slog.Int(webhook.LogSuppressed, suppressed),
		slog.String(webhook.LogSource, seen.Source),
		slog.String(webhook.LogRequest, requestID),
		slog.String(webhook.LogError, cause.Error()))
}
