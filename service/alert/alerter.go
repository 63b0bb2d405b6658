package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"weir/handler"
	"weir/outbound"
	"weir/store"
	"weir/webhook"
)

// maxQueued bounds the messages that wait to be sent.
const maxQueued = 64

// Alerter takes in what happens, asks a tracker what to say, and queues the
// messages for Run. None of its methods blocks.
type Alerter struct {
	config Config
	// queue is nil when nobody is to be told: then messages are only logged.
	queue chan string
	// failing says that the last transaction failed, so that those that do not
	// need not take the lock.
	failing atomic.Bool

	mu       sync.Mutex // guards what is below
	tracker  *tracker
	cadences map[string]Cadence
	closed   bool
}

// Config is what an Alerter needs.
type Config struct {
	// URL gets the messages; it is a secret. Without one they are only logged.
	URL string
	// Secrets are redacted from every message.
	Secrets outbound.Secrets
	// Version is told in User-Agent.
	Version string
	// Dial connects to the url.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger
	// Count is called once for each message that was sent, failed or dropped.
	// It must not block.
	Count func(Result)
	// Started is since when sources could be heard.
	Started time.Time
}

// Result is what became of a message. The strings are metric labels.
type Result string

// The results of messages.
const (
	Sent    Result = "sent"
	Failed  Result = "failed"
	Dropped Result = "dropped"
)

// Results lists every [alertResult].
func Results() []Result { return []Result{Sent, Failed, Dropped} }

// New returns an Alerter. It sends only when the configuration names an address,
// and only while Run runs.
func New(c Config) *Alerter {
	d := &Alerter{config: c, tracker: newTracker(), cadences: map[string]Cadence{}}
	if c.URL != "" {
		d.queue = make(chan string, maxQueued)
	}
	return d
}

// Close takes no further messages; what waits can still be sent.
func (d *Alerter) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && d.queue != nil {
		close(d.queue)
	}
	d.closed = true
}

// decide asks for messages, enqueues them, and logs them.
func (d *Alerter) decide(ask func(*tracker) []string) {
	for _, text := range d.enqueueDue(ask) {
		d.config.Log.Warn("alert", webhook.LogAlert, d.config.Secrets.Redact(text, maxText))
	}
}

// enqueueDue returns the messages that were asked for, after it has enqueued them.
func (d *Alerter) enqueueDue(ask func(*tracker) []string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	texts := ask(d.tracker)
	for _, text := range texts {
		d.enqueue(text)
	}
	return texts
}

// enqueue puts a message into the queue, if there is room. The caller holds mu.
func (d *Alerter) enqueue(text string) {
	if d.queue == nil || d.closed {
		return
	}
	select {
	case d.queue <- text:
	default:
		d.config.Count(Dropped)
	}
}

// Received looks at a request to a receive path.
func (d *Alerter) Received(seen handler.Observation) {
	switch {
	case seen.Result == webhook.ResultAccepted || seen.Result == webhook.ResultDuplicate:
		d.heard(seen.Source, seen.At)
	case seen.Limit() == handler.LimitDatabase:
		d.decide(func(a *tracker) []string {
			return a.begin(Condition{Full, ""}, "the store is full: new events are answered 503", seen.At)
		})
	}
	if seen.Alert != "" {
		d.decide(func(a *tracker) []string {
			return a.occur(Condition{Revoked, seen.Source},
				occurrence{text: "source " + seen.Source, what: seen.Alert, count: 1}, seen.At)
		})
	}
}

// heard notes that a source is not silent.
func (d *Alerter) heard(source string, at time.Time) {
	d.decide(func(a *tracker) []string {
		d.cadences[source] = d.cadences[source].Heard(at)
		return a.end(Condition{Silent, source}, at)
	})
}

// Remember adds what was stored before this process began.
func (d *Alerter) Remember(source string, before Cadence) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cadences[source] = before.followedBy(d.cadences[source])
}

// Died notes deliveries that ended without success. What an operator cancelled
// is no news to one.
func (d *Alerter) Died(destination string, reason webhook.DeadReason, count int) {
	if count == 0 || reason == webhook.DeadCancelled {
		return
	}
	d.decide(func(a *tracker) []string {
		return a.occur(Condition{Dead, destination}, occurrence{
			text: "deliveries to " + destination + " died", what: string(reason), count: count,
		}, time.Now())
	})
}

// Committed notes whether the store commits.
func (d *Alerter) Committed(c store.Commit) {
	failed := errors.Is(c.Err, webhook.ErrUnavailable)
	if !failed && !d.failing.Load() || !failed && c.Err != nil {
		return
	}
	d.failing.Store(failed)
	m, now := Condition{Store, ""}, time.Now()
	d.decide(func(a *tracker) []string {
		if failed {
			return a.begin(m, "the store cannot commit: new events are answered 503", now)
		}
		return a.end(m, now)
	})
}

// Active is a condition that is active, with a sentence about it.
type Active struct {
	Condition
	Text  string
	Since time.Time
}

// SetActive says which conditions of a kind are active now: all others of the kind
// have ended.
func (d *Alerter) SetActive(kind Kind, now []Active, at time.Time) {
	d.decide(func(a *tracker) []string {
		var due []string
		current := map[Condition]bool{}
		for _, c := range now {
			current[c.Condition] = true
			due = append(due, a.begin(c.Condition, c.Text, at)...)
		}
		for _, m := range a.active(kind) {
			if !current[m] {
				due = append(due, a.end(m, at)...)
			}
		}
		return due
	})
}

// Seed sets the conditions that are active when the service starts: they are no
// news.
func (d *Alerter) Seed(found []Active) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range found {
		d.tracker.seed(c.Condition, c.Text, c.Since)
	}
}

// Tick looks for silent sources and sends the summaries that are due.
func (d *Alerter) Tick(now time.Time) {
	d.decide(func(a *tracker) []string {
		var due []string
		for source, r := range d.cadences {
			if patience, _ := r.silenceThreshold(); r.silent(now, d.config.Started) {
				due = append(due, a.begin(Condition{Silent, source}, fmt.Sprintf(
					"source %s is silent: nothing since %s, longer than the %s that its cadence allows",
					source, r.last.UTC().Format(time.RFC3339), patience.Truncate(time.Second)), now)...)
			}
		}
		return append(due, a.tick(now)...)
	})
}

// IsActive reports whether a condition is active.
func (d *Alerter) IsActive(m Condition) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tracker.isActive(m)
}
