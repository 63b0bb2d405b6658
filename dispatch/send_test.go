package dispatch_test

import (
	"sync"
	"testing"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// notes are dispatch.InFlightLog in memory.
type notes struct {
	mu  sync.Mutex
	out map[string]int
}

func (n *notes) Begin(event webhook.ID, destination string, number int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.out[key(event, destination)] = number
}

func (n *notes) End(event webhook.ID, destination string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.out, key(event, destination))
}

func (n *notes) Unfinished(event webhook.ID, destination string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.out[key(event, destination)]
}

// Left tells nothing: these tests are about what is not known.
func (n *notes) Left(string) (int, bool) { return 0, false }

// knowing are notes that claim to be complete.
type knowing struct{ *notes }

func (k knowing) Left(destination string) (int, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.out), true
}

// TestNothingWaitsAfterACrashForWhatWasNotOut: the in-flight log knows that
// nothing was out, so that a backlog larger than the retry budget drains at once.
func TestNothingWaitsAfterACrashForWhatWasNotOut(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		l.inFlightLog = knowing{&notes{out: map[string]int{}}}
		p := policy("app")
		p.Concurrency = 32
		for range 200 {
			l.accept(1, "app")
		}
		begun := time.Now()
		r := start(t, l, dispatch.AfterCrash, route(p, record(steady(ok))))
		until(t, time.Minute, func() bool { return l.count(webhook.Delivered) == 200 })
		r.end(t, time.Second)
		if took := time.Since(begun); took > 15*time.Second {
			t.Errorf("200 deliveries took %s, want the ramp alone", took)
		}
	})
}

// TestB13AnAttemptThatACrashSwallowedKeepsItsNumber: also when crashes follow
// each other, and only the delivery that was out.
func TestB13AnAttemptThatACrashSwallowedKeepsItsNumber(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		kept := &notes{out: map[string]int{}}
		l.inFlightLog = kept
		id := l.accept(1, "app")
		hanging := record(func(int, webhook.Job) (webhook.Answer, time.Duration) { return ok, 10 * time.Minute })
		for range 2 {
			r := start(t, l, dispatch.AfterCrash, route(policy("app"), hanging))
			<-time.After(time.Second)
			r.kill()
		}
		other := l.accept(1, "app")
		answering := record(steady(ok))
		r := start(t, l, dispatch.AfterCrash, route(policy("app"), answering))
		until(t, time.Minute, func() bool { return l.count(webhook.Delivered) == 2 })
		r.end(t, time.Second)
		if d := l.deliveries[key(id, "app")]; d.Attempts != 3 || d.Spent != 1 {
			t.Errorf("delivered by attempt %d with %d spent, want the third, with the two lost ones unspent", d.Attempts, d.Spent)
		}
		if d := l.deliveries[key(other, "app")]; d.Attempts != 1 {
			t.Errorf("what was not out is delivered by attempt %d, want 1", d.Attempts)
		}
		if len(kept.out) != 0 {
			t.Errorf("%v is still noted as out", kept.out)
		}
	})
}
