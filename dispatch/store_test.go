package dispatch_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// ledger is a store in memory that a test can look into. It outlives the
// processes that use it: see process.
type ledger struct {
	t  *testing.T
	mu sync.Mutex
	// deliveries by event and destination, events by id.
	deliveries map[string]webhook.Delivery
	events     map[webhook.ID]webhook.Event
	history    map[string][]webhook.Attempt
	gates      map[string]webhook.Destination
	// damaged are events whose bodies have changed on the disk.
	damaged map[webhook.ID]bool
	seq     uint64
	// slow says how long a record takes to be stored; nil is no time.
	slow func(webhook.Record) time.Duration
	// inFlightLog outlives a crash; nil for none.
	inFlightLog dispatch.InFlightLog
}

func newLedger(t *testing.T) *ledger {
	return &ledger{
		t:          t,
		deliveries: map[string]webhook.Delivery{},
		events:     map[webhook.ID]webhook.Event{},
		history:    map[string][]webhook.Attempt{},
		gates:      map[string]webhook.Destination{},
	}
}

func key(id webhook.ID, destination string) string { return id.String() + " " + destination }

// accept stores a new event for the destinations and returns its id.
func (l *ledger) accept(size int64, to ...string) webhook.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	var id webhook.ID
	binary.BigEndian.PutUint64(id[8:], l.seq)
	now := webhook.Ceil(time.Now())
	l.events[id] = webhook.Event{ID: id, Source: "app", ReceivedAt: now, Size: size, SHA256: sha256.Sum256(id[:])}
	for _, name := range to {
		l.deliveries[key(id, name)] = webhook.Delivery{
			EventID: id, Source: "app", Destination: name, State: webhook.Pending,
			Size: size, NextAttemptAt: now, AgeFrom: now,
		}
	}
	return id
}

// delivery returns a delivery as it is stored.
func (l *ledger) delivery(id webhook.ID, destination string) webhook.Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deliveries[key(id, destination)]
}

// attempts returns the history of a delivery.
func (l *ledger) attempts(id webhook.ID, destination string) []webhook.Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.history[key(id, destination)])
}

// all returns every delivery.
func (l *ledger) all() []webhook.Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []webhook.Delivery
	for _, d := range l.deliveries {
		list = append(list, d)
	}
	return list
}

// process is one process's handle on the ledger. A killed one changes nothing
// any more.
type process struct {
	*ledger
	dead atomic.Bool
	// lag is how long an attempt takes to be done after its commit.
	lag time.Duration
}

// errKilled is what a killed process gets from its store; it never sees it.
var errKilled = fmt.Errorf("process was killed: %w", webhook.ErrUnavailable)

func (p *process) Own(_ context.Context, name string) (webhook.Destination, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.gates[name]
	d.Epoch++
	p.gates[name] = d
	return d, nil
}

func (p *process) Save(_ context.Context, d webhook.Destination) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead.Load() {
		return errKilled
	}
	return p.save(d)
}

func (p *process) save(d webhook.Destination) error {
	stored := p.gates[d.Name]
	if stored.Epoch != d.Epoch {
		return webhook.ErrFenced
	}
	if d.Rev > stored.Rev {
		p.gates[d.Name] = d
	}
	return nil
}

func (p *process) Record(_ context.Context, r webhook.Record) error {
	if p.slow != nil {
		<-time.After(p.slow(r))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead.Load() {
		return errKilled
	}
	k := key(r.Delivery.EventID, r.Delivery.Destination)
	if p.gates[r.Delivery.Destination].Epoch != r.Epoch {
		return webhook.ErrFenced
	}
	if p.deliveries[k].State != webhook.Pending {
		p.t.Errorf("a second final record for %s", k)
	}
	if r.Attempt != nil {
		p.history[k] = append(p.history[k], *r.Attempt)
	}
	p.deliveries[k] = r.Delivery
	p.revise(r)
	return p.save(r.Gates)
}

// revise changes the other deliveries that a record says something about.
func (p *process) revise(r webhook.Record) {
	for _, other := range r.Aside {
		k := key(other.EventID, other.Destination)
		if d, found := p.deliveries[k]; found && d.State == webhook.Pending && d.Refusals == 0 {
			d.Refusals, d.NextAttemptAt, d.Detail = 1, other.NextAttemptAt, other.Detail
			p.deliveries[k] = d
		}
	}
	for _, other := range r.Reopen {
		k := key(other.EventID, other.Destination)
		if d, found := p.deliveries[k]; found && d.Reason == webhook.DeadRejected {
			d.State, d.Reason, d.FinishedAt, d.Spent = webhook.Pending, "", time.Time{}, max(d.Spent-1, 0)
			d.NextAttemptAt, d.Detail = other.NextAttemptAt, other.Detail
			p.deliveries[k] = d
		}
	}
}

func (p *process) Due(_ context.Context, q webhook.DueQuery) (webhook.DueList, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list webhook.DueList
	for _, d := range p.deliveries {
		if d.Destination != q.Destination || d.State != webhook.Pending || d.First() == (q.Which == webhook.Retries) {
			continue
		}
		if d.NextAttemptAt.After(q.Now) {
			if list.Next.IsZero() || d.NextAttemptAt.Before(list.Next) {
				list.Next = d.NextAttemptAt
			}
			continue
		}
		list.Deliveries = append(list.Deliveries, d)
	}
	slices.SortFunc(list.Deliveries, func(a, b webhook.Delivery) int {
		if order := a.NextAttemptAt.Compare(b.NextAttemptAt); order != 0 {
			return order
		}
		return slices.Compare(a.EventID[:], b.EventID[:])
	})
	if q.Which == webhook.NewestFirsts {
		slices.Reverse(list.Deliveries)
	}
	if len(list.Deliveries) > q.Limit {
		list.Deliveries = list.Deliveries[:q.Limit]
	}
	return list, nil
}

func (p *process) Load(_ context.Context, id webhook.ID, destination string) (webhook.Event, webhook.Delivery, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.deliveries[key(id, destination)]
	if !ok {
		return webhook.Event{}, d, webhook.ErrNotFound
	}
	if p.damaged[id] {
		return webhook.Event{}, d, webhook.ErrDamaged
	}
	return p.events[id], d, nil
}

func (p *process) Expire(_ context.Context, q webhook.ExpireQuery) (webhook.Expired, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var done webhook.Expired
	for k, d := range p.deliveries {
		if d.Destination != q.Destination || d.State != webhook.Pending {
			continue
		}
		if d.AgeFrom.After(q.AgeBefore) || slices.Contains(q.Except, d.EventID) || done.Count == q.Limit {
			if done.Oldest.IsZero() || d.AgeFrom.Before(done.Oldest) {
				done.Oldest = d.AgeFrom
			}
			continue
		}
		d.State, d.Reason, d.Detail, d.FinishedAt = webhook.Dead, webhook.DeadExpired, q.Detail, q.Now
		p.deliveries[k] = d
		done.Count++
	}
	return done, nil
}

func (p *process) Advance(_ context.Context, q webhook.AdvanceQuery) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := 0
	for k, d := range p.deliveries {
		beyond := q.Backoffs
		switch {
		case d.Refusals > 0:
			beyond = q.Refused
		case d.Attempts == 0:
			beyond = q.Firsts
		}
		if d.Destination != q.Destination || d.State != webhook.Pending || beyond.IsZero() || !d.NextAttemptAt.After(webhook.Ceil(beyond)) {
			continue
		}
		d.NextAttemptAt = webhook.Ceil(q.Now)
		p.deliveries[k] = d
		changed++
	}
	return changed, nil
}

// shift changes a stored delivery.
func (l *ledger) shift(id webhook.ID, destination string, change func(*webhook.Delivery)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.deliveries[key(id, destination)]
	change(&d)
	l.deliveries[key(id, destination)] = d
}
