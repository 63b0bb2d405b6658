package main

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

// maxOutbox bounds the messages that wait to be sent.
const maxOutbox = 64

// alertDesk takes in what happens, asks [alerts] what to tell, and hands the
// messages to whoever sends them. None of its methods blocks.
type alertDesk struct {
	config alertConfig
	// outbox is nil when nobody is to be told: then messages are only logged.
	outbox chan string
	// failing says that the last transaction failed, so that those that do not
	// need not take the lock.
	failing atomic.Bool

	mu      sync.Mutex // guards what is below
	alerts  *alerts
	rhythms map[string]rhythm
	closed  bool
}

// alertConfig is what an alertDesk needs.
type alertConfig struct {
	// url gets the messages; it is a secret. Without one they are only logged.
	url string
	// secrets are redacted from every message.
	secrets outbound.Secrets
	// version is told in User-Agent.
	version string
	// dial connects to the url.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	log  *slog.Logger
	// count is called once for each message that was sent, failed or dropped.
	// It must not block.
	count func(alertResult)
	// started is since when sources could be heard.
	started time.Time
}

// alertResult is what became of a message. The strings are metric labels.
type alertResult string

// The results of messages.
const (
	alertSent    alertResult = "sent"
	alertFailed  alertResult = "failed"
	alertDropped alertResult = "dropped"
)

// alertResults lists every [alertResult].
func alertResults() []alertResult { return []alertResult{alertSent, alertFailed, alertDropped} }

// newAlertDesk returns a desk; it sends only when the configuration names an
// address, and only while run runs.
func newAlertDesk(c alertConfig) *alertDesk {
	d := &alertDesk{config: c, alerts: newAlerts(), rhythms: map[string]rhythm{}}
	if c.url != "" {
		d.outbox = make(chan string, maxOutbox)
	}
	return d
}

// close takes no further messages; what waits can still be sent.
func (d *alertDesk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && d.outbox != nil {
		close(d.outbox)
	}
	d.closed = true
}

// decide asks for messages, hands them over, and logs them.
func (d *alertDesk) decide(ask func(*alerts) []string) {
	for _, text := range d.handed(ask) {
		d.config.log.Warn("alert", webhook.LogAlert, text)
	}
}

// handed returns the messages that were asked for, after it has handed them
// over.
func (d *alertDesk) handed(ask func(*alerts) []string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	texts := ask(d.alerts)
	for _, text := range texts {
		d.hand(text)
	}
	return texts
}

// hand puts a message into the outbox, if there is room. The caller holds mu.
func (d *alertDesk) hand(text string) {
	if d.outbox == nil || d.closed {
		return
	}
	select {
	case d.outbox <- text:
	default:
		d.config.count(alertDropped)
	}
}

// received looks at a request to a receive path.
func (d *alertDesk) received(seen handler.Observation) {
	switch {
	case seen.Result == webhook.ResultAccepted || seen.Result == webhook.ResultDuplicate:
		d.heard(seen.Source, seen.At)
	case seen.Limit() == handler.LimitDatabase:
		d.decide(func(a *alerts) []string {
			return a.begin(matter{alertFull, ""}, "the store is full: new events are answered 503", seen.At)
		})
	}
	if seen.Alert != "" {
		d.decide(func(a *alerts) []string {
			return a.happen(matter{alertRevoked, seen.Source},
				happening{text: "source " + seen.Source, what: seen.Alert, count: 1}, seen.At)
		})
	}
}

// heard notes that a source is not silent.
func (d *alertDesk) heard(source string, at time.Time) {
	d.decide(func(a *alerts) []string {
		d.rhythms[source] = d.rhythms[source].heard(at)
		return a.end(matter{alertSilent, source}, at)
	})
}

// remember adds what was stored before this process began.
func (d *alertDesk) remember(source string, before rhythm) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rhythms[source] = before.followedBy(d.rhythms[source])
}

// died notes deliveries that ended without success. What an operator cancelled
// is no news to one.
func (d *alertDesk) died(destination string, reason webhook.DeadReason, count int) {
	if count == 0 || reason == webhook.DeadCancelled {
		return
	}
	d.decide(func(a *alerts) []string {
		return a.happen(matter{alertDead, destination}, happening{
			text: "deliveries to " + destination + " died", what: string(reason), count: count,
		}, time.Now())
	})
}

// committed notes whether the store commits.
func (d *alertDesk) committed(c store.Commit) {
	failed := errors.Is(c.Err, webhook.ErrUnavailable)
	if !failed && !d.failing.Load() || !failed && c.Err != nil {
		return
	}
	d.failing.Store(failed)
	m, now := matter{alertStore, ""}, time.Now()
	d.decide(func(a *alerts) []string {
		if failed {
			return a.begin(m, "the store cannot commit: new events are answered 503", now)
		}
		return a.end(m, now)
	})
}

// condition is a matter that may stand at the moment.
type condition struct {
	matter
	text  string
	since time.Time
}

// stand tells which matters of a kind stand now: others of it have ended.
func (d *alertDesk) stand(kind alertKind, now []condition, at time.Time) {
	d.decide(func(a *alerts) []string {
		var due []string
		current := map[matter]bool{}
		for _, c := range now {
			current[c.matter] = true
			due = append(due, a.begin(c.matter, c.text, at)...)
		}
		for _, m := range a.standing(kind) {
			if !current[m] {
				due = append(due, a.end(m, at)...)
			}
		}
		return due
	})
}

// stood tells which matters stand when the service starts.
func (d *alertDesk) stood(found []condition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range found {
		d.alerts.known(c.matter, c.text, c.since)
	}
}

// tick looks for silent sources and sends the summaries that are due.
func (d *alertDesk) tick(now time.Time) {
	d.decide(func(a *alerts) []string {
		var due []string
		for source, r := range d.rhythms {
			if patience, _ := r.patience(); r.silent(now, d.config.started) {
				due = append(due, a.begin(matter{alertSilent, source}, fmt.Sprintf(
					"source %s is silent: nothing since %s, longer than the %s that its rhythm allows",
					source, r.last.UTC().Format(time.RFC3339), patience.Truncate(time.Second)), now)...)
			}
		}
		return append(due, a.tick(now)...)
	})
}

// told reports whether a matter stands.
func (d *alertDesk) told(m matter) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.alerts.stands(m)
}
