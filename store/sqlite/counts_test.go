package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/store"
	"weir/webhook"
)

// countTrial changes deliveries in every way and compares the kept counts with
// counted rows.
type countTrial struct {
	t      *testing.T
	store  *Store
	path   string
	chance *rand.Rand
	now    time.Time
	owner  webhook.Destination
	events []webhook.ID
	// stale are deliveries as they were a while ago: late records know no more.
	stale []webhook.Delivery
}

func TestKeptCountsAreThoseOfTheRows(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			trial := &countTrial{
				t: t, path: filepath.Join(t.TempDir(), "weir.db"), chance: rand.New(rand.NewPCG(seed, 7)), now: time.Now(),
			}
			trial.open()
			for range 500 {
				trial.step()
			}
			trial.compare()
			trial.close()
		})
	}
}

func (c *countTrial) open() {
	c.t.Helper()
	var err error
	if c.store, err = Open(c.t.Context(), Config{Path: c.path, DedupeWindow: 10 * time.Minute}); err != nil {
		c.t.Fatal(err)
	}
	if c.owner, err = c.store.Own(c.t.Context(), "app"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *countTrial) close() {
	c.t.Helper()
	if err := c.store.Close(context.WithoutCancel(c.t.Context())); err != nil {
		c.t.Fatal(err)
	}
}

// step does one thing, most of them in the minutes around now.
func (c *countTrial) step() {
	c.t.Helper()
	c.now = c.now.Add(time.Duration(c.chance.IntN(20_000)) * time.Millisecond)
	switch n := c.chance.IntN(100); {
	case n < 30:
		c.accept()
	case n < 60:
		c.attempt()
	case n < 66:
		c.operate()
	case n < 70:
		c.must(c.store.Cancel(c.t.Context(), c.event(), "app", c.now))
	case n < 74:
		_, err := c.store.Expire(c.t.Context(), webhook.ExpireQuery{
			Destination: "app", AgeBefore: c.now.Add(-10 * time.Minute), Now: c.now, Limit: 5,
		})
		c.must(err)
	case n < 80:
		c.prune()
	case n < 84:
		c.rollBack()
	case n < 86:
		c.now = c.now.Add(-time.Duration(c.chance.IntN(3600)) * time.Second) // the clock is set back
	case n < 88:
		c.close()
		c.open()
	default:
		c.compare()
	}
}

// must allows what the state of a delivery does not.
func (c *countTrial) must(err error) {
	c.t.Helper()
	if err != nil && !errors.Is(err, webhook.ErrState) && !errors.Is(err, webhook.ErrNotFound) {
		c.t.Fatal(err)
	}
}

// event is one of the newest.
func (c *countTrial) event() webhook.ID {
	if len(c.events) == 0 {
		return webhook.ID{}
	}
	return c.events[max(0, len(c.events)-1-c.chance.IntN(30))]
}

// arrival has one of a few keys, so that duplicates make dead deliveries pending.
func (c *countTrial) arrival() webhook.Arrival {
	return webhook.Arrival{
		Event: webhook.Event{
			ID: webhook.ID(uuid.New()), Source: "github", Key: fmt.Sprint(c.chance.IntN(300)), ReceivedAt: c.now, Body: []byte("{}"),
		},
		To: []string{"app", "second"}[:1+c.chance.IntN(2)],
	}
}

func (c *countTrial) accept() {
	c.t.Helper()
	in := c.arrival()
	receipt, err := c.store.Accept(c.t.Context(), in)
	c.must(err)
	if receipt.Result == webhook.ResultAccepted {
		c.events = append(c.events, in.Event.ID)
	}
}

// attempt records one with a random outcome.
func (c *countTrial) attempt() {
	c.t.Helper()
	_, d, err := c.store.Load(c.t.Context(), c.event(), "app")
	if errors.Is(err, webhook.ErrNotFound) {
		return
	}
	c.must(err)
	if c.stale = append(c.stale, d); c.chance.IntN(4) == 0 {
		d = c.stale[max(0, len(c.stale)-1-c.chance.IntN(20))]
	}
	d.Attempts++
	now := webhook.Ceil(c.now)
	switch c.chance.IntN(4) {
	case 0:
		d.State, d.Reason, d.FinishedAt = webhook.Delivered, "", now
	case 1:
		d.State, d.Reason, d.FinishedAt = webhook.Dead, webhook.DeadRejected, now
	default:
		d.State, d.Reason, d.FinishedAt = webhook.Pending, "", time.Time{}
		d.NextAttemptAt = now.Add(time.Duration(c.chance.IntN(600_000)) * time.Millisecond)
	}
	a := webhook.Attempt{Number: d.Attempts, At: now, SentTo: "app", Outcome: webhook.OutcomeTransient, Decision: d.State}
	c.owner.Rev++
	r := webhook.Record{Attempt: &a, Delivery: d, Gates: c.owner, Epoch: c.owner.Epoch}
	if other := (webhook.Revision{EventID: c.event(), Destination: "app", NextAttemptAt: now.Add(time.Minute)}); c.chance.IntN(3) == 0 {
		r.Aside = []webhook.Revision{other}
	} else {
		r.Reopen = []webhook.Revision{other}
	}
	c.must(c.store.Record(c.t.Context(), r))
}

func (c *countTrial) operate() {
	c.t.Helper()
	c.must(c.store.Redeliver(c.t.Context(), webhook.Redelivery{
		EventID: c.event(), Destination: "app", Force: true, At: c.now.Add(time.Duration(c.chance.IntN(100)) * time.Second),
	}))
}

func (c *countTrial) prune() {
	c.t.Helper()
	finished := c.now.Add(-5 * time.Minute)
	for more := true; more; {
		result, err := c.store.Prune(c.t.Context(), store.PruneQuery{Now: c.now, DeliveredBefore: finished, DeadBefore: finished})
		c.must(err)
		more = result.More
	}
}

// rollBack changes much in a transaction that fails.
func (c *countTrial) rollBack() {
	c.t.Helper()
	broken := errors.New("broken")
	in, id := newArrival(c.arrival()), c.event()
	err := c.store.writer.do(c.t.Context(), 0, func(conn *writeConn) error {
		_, _ = conn.accept(in)
		_ = conn.cancel(id, "app", millis(c.now))
		return broken
	})
	if !errors.Is(err, broken) {
		c.t.Fatal(err)
	}
}

// compare waits until the counts are kept, and looks at moments around now.
func (c *countTrial) compare() {
	c.t.Helper()
	for {
		if _, ok := c.store.counts.queue("app", 0); ok {
			break
		}
		runtime.Gosched()
	}
	for _, destination := range []string{"app", "second", "never"} {
		for _, wait := range []time.Duration{-2 * time.Hour, -time.Minute, -time.Millisecond, 0, time.Millisecond, time.Minute, 24 * time.Hour} {
			at := c.now.Add(wait)
			want, err := c.store.countQueue(c.t.Context(), destination, at.UnixMilli())
			c.must(err)
			got, err := c.store.Queue(c.t.Context(), destination, at)
			c.must(err)
			if diff := cmp.Diff(want, got); diff != "" {
				c.t.Fatalf("%s, %s from now: %s", destination, wait, diff)
			}
		}
	}
}
