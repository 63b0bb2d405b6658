package main

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

// meters counts what happens. Every series is made at the start, so that none
// is missing before its first event, and no request can add one: whatever is
// not configured counts under "unknown".
type meters struct {
	set    *metrics.Set
	config metersConfig

	requests map[string]*metrics.Counter // by route class
	sources  map[string]*sourceMeters
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
	// accepted is when the last event was, in Unix milliseconds; 0 is never.
	accepted atomic.Int64
}

// destinationMeters are those of one destination.
type destinationMeters struct {
	outcomes    map[webhook.Outcome]*metrics.Counter
	deaths      map[webhook.DeadReason]*metrics.Counter
	firsts      *metrics.Counter
	probes      *metrics.Counter
	delivered   *metrics.Counter
	redelivered *metrics.Counter
	duration    *metrics.PrometheusHistogram
	latency     *metrics.PrometheusHistogram
}

// metersConfig says which series there are.
type metersConfig struct {
	// sources has the number of secrets of each source.
	sources map[string]int
	// destinations names them.
	destinations []string
	// alertResults are the results of messages to a person.
	alertResults []string
	// version and commit are those of the program.
	version string
	commit  string
	// started is when the process began.
	started time.Time
}

// newMeters makes all series of the configured sources and destinations.
func newMeters(c metersConfig) *meters {
	set := metrics.NewSet()
	m := &meters{
		set: set, config: c,
		requests: counters(set, routeClasses(), metricRequests, "route"),
		alerts:   counters(set, c.alertResults, metricAlerts, "result"),
		sources:  map[string]*sourceMeters{handler.UnknownSource: newSourceMeters(set, handler.UnknownSource, 0)},
		targets:  map[string]*destinationMeters{},

		intakeDuration: set.NewPrometheusHistogramExt(metricIntakeDuration, commitBuckets()),
		commitDuration: set.NewPrometheusHistogramExt(metricCommitDuration, commitBuckets()),
		commitSize:     set.NewPrometheusHistogramExt(metricCommitOperations, metrics.ExponentialBuckets(1, 2, 9)),
		commitFailures: set.NewCounter(metricCommitFailures),
	}
	for source, secrets := range c.sources {
		m.sources[source] = newSourceMeters(set, source, secrets)
	}
	for _, destination := range c.destinations {
		m.targets[destination] = newDestinationMeters(set, destination)
	}
	return m
}

func newSourceMeters(set *metrics.Set, name string, secrets int) *sourceMeters {
	m := &sourceMeters{
		results: counters(set, webhook.Results(), metricIntake, "source", name, "result"),
		limits:  counters(set, handler.Limits(), metricLimitsHit, "source", name, "reason"),
		bytes:   set.NewCounter(series(metricIntakeBytes, "source", name)),
	}
	for position := range secrets {
		m.secrets = append(m.secrets,
			set.NewCounter(series(metricSecretMatched, "source", name, "secret", strconv.Itoa(position))))
	}
	return m
}

func newDestinationMeters(set *metrics.Set, name string) *destinationMeters {
	counter := func(metric string) *metrics.Counter { return set.NewCounter(series(metric, "destination", name)) }
	return &destinationMeters{
		outcomes:    counters(set, webhook.Outcomes(), metricAttempts, "destination", name, "outcome"),
		deaths:      counters(set, webhook.DeadReasons(), metricDied, "destination", name, "reason"),
		firsts:      counter(metricFirstAttempts),
		probes:      counter(metricProbes),
		delivered:   counter(metricDelivered),
		redelivered: counter(metricRedelivered),
		duration: set.NewPrometheusHistogramExt(series(metricAttemptDuration, "destination", name),
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}),
		latency: set.NewPrometheusHistogramExt(series(metricLatency, "destination", name),
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
		made[value] = set.NewCounter(series(name, append(slices.Clip(labels), string(value))...))
	}
	return made
}

// series writes the name of one series; labels are pairs of name and value.
func series(name string, labels ...string) string {
	if len(labels) == 0 {
		return name
	}
	var pairs []string
	for i := 0; i+1 < len(labels); i += 2 {
		pairs = append(pairs, labels[i]+"="+strconv.Quote(labels[i+1]))
	}
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// received counts a request to a receive path.
func (m *meters) received(seen handler.Observation) {
	source, known := m.sources[seen.Source]
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
		source.accepted.Store(seen.At.UnixMilli())
		m.intakeDuration.Update(seen.Duration.Seconds())
	case webhook.ResultDuplicate:
		m.intakeDuration.Update(seen.Duration.Seconds())
	}
}

// sent counts an attempt under the destination that it went to.
func (m *meters) sent(a webhook.Attempt) {
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

// ended counts a delivery that is no longer pending, under its own
// destination.
func (m *meters) ended(d webhook.Delivery, receivedAt time.Time) {
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

// died counts deliveries that ended without an attempt.
func (m *meters) died(destination string, reason webhook.DeadReason, count int) {
	if target, known := m.targets[destination]; known && count > 0 {
		target.deaths[reason].Add(count)
	}
}

// redelivered counts a delivery that is pending again.
func (m *meters) redelivered(destination string) {
	if target, known := m.targets[destination]; known {
		target.redelivered.Inc()
	}
}

// committed counts a transaction of the writer.
func (m *meters) committed(c store.Commit) {
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

// alerted counts a message for a person.
func (m *meters) alerted(result string) { increase(m.alerts[result]) }

// requested counts a request by the class of its path.
func (m *meters) requested(path string) { m.requests[routeOf(path)].Inc() }

// acceptedBefore notes when a source was last accepted from, so that a restart
// does not make a silent source look alive.
func (m *meters) acceptedBefore(source string, at time.Time) {
	if of, known := m.sources[source]; known {
		of.accepted.Store(at.UnixMilli())
	}
}

// isProbe reports whether a path is one that hosts and monitors ask for.
func isProbe(path string) bool { return routeOf(path) == routeHealth }
