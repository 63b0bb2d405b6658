// Package metrics counts what happens and writes it in the Prometheus text
// format.
//
// # Guarantees
//
// Every series exists from the start, so that none is missing before its first
// event, and no request can add one: whatever is not configured counts under
// "unknown". Counting does not block.
//
// # Vocabulary
//
// [Meters] are all series. A [Page] answers with them; its Refresh sets the
// gauges that are read and not counted. A [Family] is one metric with what it
// means.
//
// # Example
//
//	m := metrics.New(metrics.Config{Sources: map[string]int{"github": 1}, Destinations: []string{"app"}, Started: time.Now()})
//	http.Handle("/metrics", &metrics.Page{Meters: m, Refresh: func(context.Context) {}})
package metrics

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"weir/handler"
	"weir/store"
	"weir/webhook"
)

// Meters counts what happens. Every series is made at the start, so that none
// is missing before its first event, and no request can add one: whatever is
// not configured counts under "unknown".
type Meters struct {
	Set    *metrics.Set
	Config Config

	requests map[string]*metrics.Counter // by route class
	Sources  map[string]*sourceMeters
	targets  map[string]*destinationMeters
	alerts   map[string]*metrics.Counter // by result

	intakeDuration *metrics.PrometheusHistogram
	commitDuration *metrics.PrometheusHistogram
	commitSize     *metrics.PrometheusHistogram
	commitFailures *metrics.Counter
}

// sourceMeters are those of one source.
type sourceMeters struct {
	results map[webhook.Result]*metrics.Counter
	limits  map[handler.Limit]*metrics.Counter
	secrets []*metrics.Counter // by position
	bytes   *metrics.Counter
	// Accepted is when the last event was, in Unix milliseconds; 0 is never.
	Accepted atomic.Int64
}

// destinationMeters are those of one destination.
type destinationMeters struct {
	outcomes    map[webhook.Outcome]*metrics.Counter
	deaths      map[webhook.DeadReason]*metrics.Counter
	firsts      *metrics.Counter
	probes      *metrics.Counter
	witnesses   map[webhook.Verdict]*metrics.Counter
	delivered   *metrics.Counter
	redelivered *metrics.Counter
	duration    *metrics.PrometheusHistogram
	latency     *metrics.PrometheusHistogram
}

// Config says which series there are.
type Config struct {
	// Sources has the number of secrets of each source.
	Sources map[string]int
	// Destinations names them.
	Destinations []string
	// AlertResults are the results of messages to a person.
	AlertResults []string
	// Version and commit are those of the program.
	Version string
	Commit  string
	// Started is when the process began.
	Started time.Time
}

// New makes all series of the configured sources and destinations.
func New(c Config) *Meters {
	set := metrics.NewSet()
	m := &Meters{
		Set: set, Config: c,
		requests: counters(set, RouteClasses(), MetricRequests, "route"),
		alerts:   counters(set, c.AlertResults, metricAlerts, "result"),
		Sources:  map[string]*sourceMeters{handler.UnknownSource: newSourceMeters(set, handler.UnknownSource, 0)},
		targets:  map[string]*destinationMeters{},

		intakeDuration: set.NewPrometheusHistogramExt(metricIntakeDuration, commitBuckets()),
		commitDuration: set.NewPrometheusHistogramExt(MetricCommitDuration, commitBuckets()),
		commitSize:     set.NewPrometheusHistogramExt(MetricCommitOperations, metrics.ExponentialBuckets(1, 2, 9)),
		commitFailures: set.NewCounter(metricCommitFailures),
	}
	for source, secrets := range c.Sources {
		m.Sources[source] = newSourceMeters(set, source, secrets)
	}
	for _, destination := range c.Destinations {
		m.targets[destination] = newDestinationMeters(set, destination)
	}
	return m
}

func newSourceMeters(set *metrics.Set, name string, secrets int) *sourceMeters {
	m := &sourceMeters{
		results: counters(set, webhook.Results(), metricIntake, "source", name, "result"),
		limits:  counters(set, handler.Limits(), metricLimitsHit, "source", name, "reason"),
		bytes:   set.NewCounter(Series(metricIntakeBytes, "source", name)),
	}
	for position := range secrets {
		m.secrets = append(m.secrets,
			set.NewCounter(Series(metricSecretMatched, "source", name, "secret", strconv.Itoa(position))))
	}
	return m
}

func newDestinationMeters(set *metrics.Set, name string) *destinationMeters {
	counter := func(metric string) *metrics.Counter { return set.NewCounter(Series(metric, "destination", name)) }
	return &destinationMeters{
		outcomes:    counters(set, webhook.Outcomes(), metricAttempts, "destination", name, "outcome"),
		deaths:      counters(set, webhook.DeadReasons(), metricDied, "destination", name, "reason"),
		firsts:      counter(metricFirstAttempts),
		probes:      counter(metricProbes),
		witnesses:   counters(set, webhook.Verdicts(), metricWitnesses, "destination", name, "result"),
		delivered:   counter(metricDelivered),
		redelivered: counter(metricRedelivered),
		duration: set.NewPrometheusHistogramExt(Series(metricAttemptDuration, "destination", name),
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}),
		latency: set.NewPrometheusHistogramExt(Series(metricLatency, "destination", name),
			[]float64{.01, .05, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 14400, 86400}),
	}
}

// commitBuckets reach from a fast disk's sync to a sender's patience, in
// seconds.
func commitBuckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
}

// counters makes one counter for each value of the last label; before it are
// pairs of name and value.
func counters[T ~string](set *metrics.Set, values []T, name string, labels ...string) map[T]*metrics.Counter {
	made := make(map[T]*metrics.Counter, len(values))
	for _, value := range values {
		made[value] = set.NewCounter(Series(name, append(slices.Clip(labels), string(value))...))
	}
	return made
}

// Series writes the name of one series; labels are pairs of name and value.
func Series(name string, labels ...string) string {
	if len(labels) == 0 {
		return name
	}
	var pairs []string
	for i := 0; i+1 < len(labels); i += 2 {
		pairs = append(pairs, labels[i]+"="+strconv.Quote(labels[i+1]))
	}
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// Received counts a request to a receive path.
func (m *Meters) Received(seen handler.Observation) {
	source, known := m.Sources[seen.Source]
	if !known {
		return
	}
	increase(source.results[seen.Result])
	increase(source.limits[seen.Limit()])
	source.bytes.AddInt64(seen.Bytes)
	if 0 <= seen.Secret && seen.Secret < len(source.secrets) {
		source.secrets[seen.Secret].Inc()
	}
	switch seen.Result {
	case webhook.ResultAccepted:
		source.Accepted.Store(seen.At.UnixMilli())
		m.intakeDuration.Update(seen.Duration.Seconds())
	case webhook.ResultDuplicate:
		m.intakeDuration.Update(seen.Duration.Seconds())
	}
}

// Sent counts an attempt under the destination that it went to.
func (m *Meters) Sent(a webhook.Attempt) {
	target, known := m.targets[a.SentTo]
	if !known {
		return
	}
	increase(target.outcomes[a.Outcome])
	target.duration.Update(a.Duration.Seconds())
	if a.Number == 1 {
		target.firsts.Inc()
	}
	if a.Probe {
		target.probes.Inc()
	}
}

// Witnessed counts what an answer of a destination said about the refusal of
// another payload; no verdict counts nothing.
func (m *Meters) Witnessed(destination string, verdict webhook.Verdict) {
	if target, known := m.targets[destination]; known && verdict != "" {
		increase(target.witnesses[verdict])
	}
}

// Ended counts a delivery that is no longer pending, under its own
// destination.
func (m *Meters) Ended(d webhook.Delivery, receivedAt time.Time) {
	target, known := m.targets[d.Destination]
	switch {
	case !known:
	case d.State == webhook.Delivered:
		target.delivered.Inc()
		target.latency.Update(d.FinishedAt.Sub(receivedAt).Seconds())
	case d.State == webhook.Dead:
		increase(target.deaths[d.Reason])
	}
}

// Died counts deliveries that ended without an attempt.
func (m *Meters) Died(destination string, reason webhook.DeadReason, count int) {
	if target, known := m.targets[destination]; known && count > 0 {
		target.deaths[reason].Add(count)
	}
}

// Redelivered counts a delivery that is pending again.
func (m *Meters) Redelivered(destination string) {
	if target, known := m.targets[destination]; known {
		target.redelivered.Inc()
	}
}

// Committed counts a transaction of the writer.
func (m *Meters) Committed(c store.Commit) {
	if c.Err != nil {
		m.commitFailures.Inc()
		return
	}
	m.commitDuration.Update(c.Took.Seconds())
	m.commitSize.Update(float64(c.Operations))
}

// increase adds one to a counter that may not exist.
func increase(counter *metrics.Counter) {
	if counter != nil {
		counter.Inc()
	}
}

// routeOf returns the class of a path. There are as many as routeClasses
// lists, whatever paths are tried.
func routeOf(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "hooks", "v1", "metrics":
		return "/" + first
	case "livez", "readyz", "healthz":
		return routeHealth
	default:
		return routeDashboard
	}
}

// Alerted counts a message for a person.
func (m *Meters) Alerted(result string) { increase(m.alerts[result]) }

// Requested counts a request by the class of its path.
func (m *Meters) Requested(path string) { m.requests[routeOf(path)].Inc() }

// AcceptedBefore notes when a source was last accepted from, so that a restart
// does not make a silent source look alive.
func (m *Meters) AcceptedBefore(source string, at time.Time) {
	if of, known := m.Sources[source]; known {
		of.Accepted.Store(at.UnixMilli())
	}
}

// IsProbe reports whether a path is one that hosts and monitors ask for.
func IsProbe(path string) bool { return routeOf(path) == routeHealth }
