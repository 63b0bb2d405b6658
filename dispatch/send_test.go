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
