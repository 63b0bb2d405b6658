package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/cli/client"
	"weir/webhook"
)

// eventsService is a service that lists events: those that tests have added, newest
// first, or nothing but a status.
type eventsService struct {
	mu     sync.Mutex
	status int
	keys   []string
	asked  atomic.Int64
}

// add adds events as the newest.
func (l *eventsService) add(keys ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys = append(l.keys, keys...)
}

// answer changes the status of what is asked from now on.
func (l *eventsService) answer(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = status
}

func (l *eventsService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.asked.Add(1)
	if l.status != 0 {
		w.WriteHeader(l.status)
		return
	}
	limit := 0
	fmt.Sscan(r.URL.Query().Get("limit"), &limit)
	page := client.List[map[string]any]{Items: []map[string]any{}}
	for i := len(l.keys) - 1; i >= 0 && len(page.Items) < limit; i-- {
		page.Items = append(page.Items, map[string]any{
			"id": webhook.ID{15: byte(i)}, "key": l.keys[i], "received_at": time.Unix(1_800_000_000, int64(i)),
		})
	}
	_ = json.NewEncoder(w).Encode(page)
}

// following is a call of "weir events --follow" that runs.
type following struct {
	*eventsService
	shown lines
	notes bytes.Buffer // to be read after ended
	stop  context.CancelFunc
	ended chan error
}

// follow begins such a call against a service that has some events.
func follow(t *testing.T, limit int, keys ...string) *following {
	t.Helper()
	f := &following{eventsService: &eventsService{keys: keys}, shown: make(lines, 100), ended: make(chan error, 1)}
	server := httptest.NewServer(f.eventsService)
	t.Cleanup(server.Close)
	w := quietEnv(&f.notes)
	w.Stdout, w.Stderr = f.shown, &f.notes
	w.Environ = []string{"WEIR_URL=" + server.URL, "WEIR_API_TOKEN=" + testToken}
	ctx, stop := context.WithCancel(t.Context())
	f.stop = stop
	var calling sync.WaitGroup
	calling.Go(func() {
		f.ended <- Run(ctx, w, []string{"events", "--follow", "--json", "--limit", fmt.Sprint(limit)})
	})
	t.Cleanup(func() { stop(); calling.Wait() })
	return f
}

// next returns the key of the next event that is shown.
func (f *following) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-f.shown:
		var event client.Event
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Error(err)
		}
		return event.Key
	case err := <-f.ended:
		t.Fatalf("ended: %v", err)
	case <-time.After(30 * time.Second):
		t.Fatal("no further event is shown")
	}
	return ""
}

// TestFollowBeginsWithTheLimit: what is older is not shown later either, though
// each look goes back a little.
func TestFollowBeginsWithTheLimit(t *testing.T) {
	t.Parallel()
	f := follow(t, 2, "a", "b", "c", "d")
	if first, second := f.next(t), f.next(t); first != "c" || second != "d" {
		t.Errorf("%s and %s are shown first", first, second)
	}
	f.add("e")
	if got := f.next(t); got != "e" {
		t.Errorf("%s is shown next", got)
	}
}

// TestFollowGoesOnAfterARestart: a service that is away for a while is asked
// again, and that is said once.
func TestFollowGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	f := follow(t, 5, "a")
	f.next(t)
	f.answer(http.StatusServiceUnavailable)
	before := f.asked.Load()
	waitFor(t, "it asks again", func() bool { return f.asked.Load() >= before+2 })
	f.add("b")
	f.answer(0)
	if got := f.next(t); got != "b" {
		t.Errorf("%s is shown next", got)
	}
	f.stop()
	if err := <-f.ended; err != nil {
		t.Errorf("stopped: %v", err)
	}
	if notes := f.notes.String(); strings.Count(notes, "\n") != 1 || !strings.Contains(notes, "503") {
		t.Errorf("it says %q", notes)
	}
}

// TestFollowEndsAtARefusal: a wrong token will not become right.
func TestFollowEndsAtARefusal(t *testing.T) {
	t.Parallel()
	f := follow(t, 5, "a")
	f.next(t)
	f.answer(http.StatusUnauthorized)
	select {
	case err := <-f.ended:
		if err == nil || !strings.Contains(err.Error(), "401") {
			t.Errorf("%v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it goes on")
	}
}
