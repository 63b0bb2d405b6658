package metrics

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/handler"
	"weir/store"
	"weir/webhook"
)

const (
	// contentType is the content type of the text format.
	contentType = "text/plain; version=0.0.4; charset=utf-8"
	// readTimeout bounds what is read for one page, so that a store that
	// hangs does not keep the counters from being seen.
	readTimeout = 5 * time.Second
	// pageHeaderTimeout bounds the header of a request for the page.
	pageHeaderTimeout = 10 * time.Second
)

// Page answers with all metrics. One page is made at a time: asking
// often costs no more than asking again and again.
type Page struct {
	// Refresh sets what is not counted as it happens.
	Refresh func(ctx context.Context)
	Meters  *Meters
	mu      sync.Mutex // held while a page is made
}

// ServeHTTP writes the page in the Prometheus text format.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := p.render(r.Context())
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, page)
}

// render reads what is not counted as it happens and writes the page. Whoever
// reads it slowly keeps nobody else waiting.
func (p *Page) render(ctx context.Context) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	p.Refresh(ctx)
	var page bytes.Buffer
	p.Meters.Set.WritePrometheus(&page)
	return withHelp(page.String())
}

// withHelp puts what a metric is before its first series: the library does
// not write it.
func withHelp(page string) string {
	byName := map[string]Family{}
	for _, f := range Families() {
		byName[f.Name] = f
	}
	var out strings.Builder
	last := ""
	for line := range strings.Lines(page) {
		if f := FamilyOf(line, byName); f.Name != "" && f.Name != last {
			out.WriteString("# HELP " + f.Name + " " + f.Help + "\n# TYPE " + f.Name + " " + f.Kind + "\n")
			last = f.Name
		}
		out.WriteString(line)
	}
	return out.String()
}

// FamilyOf finds the metric of a line. A histogram's lines have suffixes.
func FamilyOf(line string, byName map[string]Family) Family {
	name, _, _ := strings.Cut(line, " ")
	name, _, _ = strings.Cut(name, "{")
	if f, found := byName[name]; found {
		return f
	}
	for _, suffix := range [...]string{"_bucket", "_sum", "_count"} {
		if base, found := strings.CutSuffix(name, suffix); found && byName[base].Kind == KindHistogram {
			return byName[base]
		}
	}
	return Family{}
}

// gauge sets a series to what was read now.
func (m *Meters) gauge(value float64, name string, labels ...string) {
	m.Set.GetOrCreateGauge(Series(name, labels...), nil).Set(value)
}

// Service are read, not counted.
type Service struct {
	// Ready says that events can be accepted now.
	Ready bool
	// Inflight is how many bytes of bodies are on their way in.
	Inflight int64
}

// SetService sets the gauges of the service itself, of each source's silence, and
// of the process.
func (m *Meters) SetService(g Service, now time.Time) {
	m.gauge(1, metricBuildInfo, m.buildLabels()...)
	m.gauge(asNumber[g.Ready], metricReady)
	m.gauge(float64(g.Inflight), metricIntakeInflight)
	for name, source := range m.Sources {
		if name != handler.UnknownSource {
			m.gauge(source.silence(now, m.Config.Started).Seconds(), MetricSilence, "source", name)
		}
	}
	m.readProcess()
}

// SetStuck says whether the delivery loop of a destination is stuck.
func (m *Meters) SetStuck(destination string, is bool) {
	m.gauge(asNumber[is], metricStuck, "destination", destination)
}

// SetSize sets the gauges of the store and of the bytes that are free on its volume.
func (m *Meters) SetSize(size store.Size, volumeFree uint64) {
	m.gauge(float64(size.Database), MetricDatabaseBytes)
	m.gauge(float64(size.Free), metricFreeBytes)
	m.gauge(float64(size.Log), metricLogBytes)
	m.gauge(float64(size.Max), MetricMaxBytes)
	m.gauge(float64(volumeFree), MetricVolumeFree)
}

// silence is how long ago the last accepted event was, or the start when none
// is known.
func (s *sourceMeters) silence(now, started time.Time) time.Duration {
	last := started
	if ms := s.Accepted.Load(); ms > 0 {
		last = time.UnixMilli(ms)
	}
	return max(now.Sub(last), 0)
}

// SetGates sets the gauges of holds and budgets.
func (m *Meters) SetGates(status webhook.Status) {
	d := status.Destination
	for _, reason := range webhook.HoldReasons() {
		_, held := d.Hold(reason)
		m.gauge(asNumber[held], metricHeld, "destination", d.Name, "reason", string(reason))
	}
	m.gauge(asNumber[d.Breaker.Open()], metricHeld, "destination", d.Name, "reason", breakerOpen)
	m.gauge(asNumber[len(d.NeedsOperator()) > 0], metricNeedsOperator, "destination", d.Name)
	m.gauge(float64(status.RetriesLeft), metricRetriesLeft, "destination", d.Name)
	last := 0.0
	if !d.LastSuccess.IsZero() {
		last = float64(d.LastSuccess.UnixMilli()) / 1000
	}
	m.gauge(last, metricLastSuccess, "destination", d.Name)
}

// SetQueue sets the gauges of what waits.
func (m *Meters) SetQueue(queue webhook.Queue, status webhook.Status, now time.Time) {
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

// asNumber is how the text format writes what is so or not.
var asNumber = map[bool]float64{false: 0, true: 1}

// NewServer returns the server of WEIR_METRICS_ADDR: the page without a
// token, and nothing else.
func NewServer(page http.Handler, log *slog.Logger) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", page)
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: pageHeaderTimeout,
		ReadTimeout:       pageHeaderTimeout,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
