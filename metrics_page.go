package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/handler"
	"weir/webhook"
)

const (
	// metricsType is the content type of the text format.
	metricsType = "text/plain; version=0.0.4; charset=utf-8"
	// readTimeout bounds what is read for one page, so that a store that
	// hangs does not keep the counters from being seen.
	readTimeout = 5 * time.Second
)

// metricsPage answers with all metrics. One page is made at a time: asking
// often costs no more than asking again and again.
type metricsPage struct {
	house *house
	mu    sync.Mutex // held while a page is made
}

// ServeHTTP writes the page in the Prometheus text format.
func (p *metricsPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := p.render(r.Context())
	w.Header().Set("Content-Type", metricsType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, page)
}

// render reads what is not counted as it happens and writes the page. Whoever
// reads it slowly keeps nobody else waiting.
func (p *metricsPage) render(ctx context.Context) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	p.house.readGauges(ctx)
	var page bytes.Buffer
	p.house.meters.set.WritePrometheus(&page)
	return withHelp(page.String())
}

// withHelp puts what a metric is before its first series: the library does
// not write it.
func withHelp(page string) string {
	byName := map[string]family{}
	for _, f := range families() {
		byName[f.name] = f
	}
	var out strings.Builder
	last := ""
	for line := range strings.Lines(page) {
		if f := familyOf(line, byName); f.name != "" && f.name != last {
			out.WriteString("# HELP " + f.name + " " + f.help + "\n# TYPE " + f.name + " " + f.kind + "\n")
			last = f.name
		}
		out.WriteString(line)
	}
	return out.String()
}

// familyOf finds the metric of a line. A histogram's lines have suffixes.
func familyOf(line string, byName map[string]family) family {
	name, _, _ := strings.Cut(line, " ")
	name, _, _ = strings.Cut(name, "{")
	if f, found := byName[name]; found {
		return f
	}
	for _, suffix := range [...]string{"_bucket", "_sum", "_count"} {
		if base, found := strings.CutSuffix(name, suffix); found && byName[base].kind == kindHistogram {
			return byName[base]
		}
	}
	return family{}
}

// gauge sets a series to what was read now.
func (m *meters) gauge(value float64, name string, labels ...string) {
	m.set.GetOrCreateGauge(series(name, labels...), nil).Set(value)
}

// readGauges reads what is not counted as it happens.
func (h *house) readGauges(ctx context.Context) {
	now := webhook.Ceil(time.Now())
	h.meters.gauge(1, metricBuildInfo, buildLabels()...)
	h.meters.gauge(asNumber[h.ready(ctx) == nil], metricReady)
	h.meters.gauge(float64(h.inflight.Used()), metricIntakeInflight)
	for name, source := range h.meters.sources {
		if name != handler.UnknownSource {
			h.meters.gauge(source.silence(now, h.meters.started).Seconds(), metricSilence, "source", name)
		}
	}
	stuck := h.dispatcher.Stuck(now)
	for _, name := range h.dispatcher.Names() {
		h.meters.gauge(asNumber[slices.Contains(stuck, name)], metricStuck, "destination", name)
		h.readDestination(ctx, name, now)
	}
	h.readStore(ctx)
	h.meters.readProcess()
}

// silence is how long ago the last accepted event was, or the start when none
// is known.
func (s *sourceMeters) silence(now, started time.Time) time.Duration {
	last := started
	if ms := s.accepted.Load(); ms > 0 {
		last = time.UnixMilli(ms)
	}
	return max(now.Sub(last), 0)
}

// readDestination reads the gates and the queue of one destination. What
// cannot be read keeps its last value.
func (h *house) readDestination(ctx context.Context, name string, now time.Time) {
	status, err := h.dispatcher.Status(name, now)
	if err != nil {
		return
	}
	h.meters.gates(status)
	queue, err := h.store.Queue(ctx, name, now)
	if err != nil {
		h.log.Debug("metrics lack a queue", webhook.LogDestination, name, webhook.LogError, err)
		return
	}
	h.meters.queue(queue, status, now)
}

// gates sets the gauges of holds and budgets.
func (m *meters) gates(status webhook.Status) {
	d := status.Destination
	for _, reason := range webhook.HoldReasons() {
		_, held := d.Hold(reason)
		m.gauge(asNumber[held], metricHeld, "destination", d.Name, "reason", string(reason))
	}
	m.gauge(asNumber[d.Breaker.Open()], metricHeld, "destination", d.Name, "reason", breakerOpen)
	m.gauge(asNumber[len(needy(d)) > 0], metricNeedsOperator, "destination", d.Name)
	m.gauge(float64(status.RetriesLeft), metricRetriesLeft, "destination", d.Name)
	last := 0.0
	if !d.LastSuccess.IsZero() {
		last = float64(d.LastSuccess.UnixMilli()) / 1000
	}
	m.gauge(last, metricLastSuccess, "destination", d.Name)
}

// queue sets the gauges of what waits.
func (m *meters) queue(queue webhook.Queue, status webhook.Status, now time.Time) {
	name := status.Destination.Name
	waits := queue.ByWait(status)
	for _, reason := range webhook.WaitingFors() {
		m.gauge(float64(waits[reason]), metricPending, "destination", name, "reason", string(reason))
	}
	m.gauge(float64(queue.Dead), metricDead, "destination", name)
	m.gauge(float64(queue.Due), metricDue, "destination", name)
	m.gauge(age(queue.OldestDue, now), metricOldestDue, "destination", name)
	m.gauge(age(queue.Oldest, now), metricOldest, "destination", name)
}

// age is how many seconds ago something was, 0 for what is not.
func age(at, now time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(now.Sub(at), 0).Seconds()
}

// readStore reads the sizes.
func (h *house) readStore(ctx context.Context) {
	size, err := h.store.Size(ctx)
	if err != nil {
		h.log.Debug("metrics lack the size of the store", webhook.LogError, err)
		return
	}
	h.meters.gauge(float64(size.Database), metricDatabaseBytes)
	h.meters.gauge(float64(size.Free), metricFreeBytes)
	h.meters.gauge(float64(size.Log), metricLogBytes)
	h.meters.gauge(float64(size.Max), metricMaxBytes)
	h.meters.gauge(float64(volumeFree(h.store.Path())), metricVolumeFree)
}

// asNumber is how the text format writes what is so or not.
var asNumber = map[bool]float64{false: 0, true: 1}

// newMetricsServer returns the server of WEIR_METRICS_ADDR: the page without a
// token, and nothing else.
func newMetricsServer(page http.Handler, log *slog.Logger) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", page)
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
