package e2e

import (
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/cli"
)

// TestKilledOnAFullVolumeItStartsAndDeliversWhatItHas: without a free byte new
// events are refused, what is stored is delivered, and a stop is a clean one.
func TestKilledOnAFullVolumeItStartsAndDeliversWhatItHas(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	sink := newDownstream(t, func(w http.ResponseWriter, _ *http.Request, _ arrival) {
		if !up.Load() {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	s := newService(t, sink.url, "WEIR_MAX_DATABASE=1GiB", "WEIR_DESTINATION_DEFAULT_BACKOFF=1s",
		"WEIR_DESTINATION_DEFAULT_BACKOFF_MAX=1s", "WEIR_DESTINATION_DEFAULT_RETRY_BUDGET=1000/1m", "WEIR_SHUTDOWN_GRACE=10s")
	if err := smallVolume(t, s); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no volume can be mounted here: %v", err)
		}
		t.Logf("no volume can be mounted here (%v)", err)
		return
	}
	s.start()
	var ids []string
	for i := range 30 {
		ids = append(ids, s.send(fmt.Sprint("k", i), `{"wanted":true}`))
	}
	free := fillVolume(t, s)
	s.kill()
	s.running = s.run("serve")
	await(t, 30*time.Second, "weir listens, or is over", func() bool { return s.running.over() || s.ask("/livez") == 200 })
	if s.running.over() {
		t.Fatal("weir does not start on a full volume")
	}
	freeMore := fillVolume(t, s) // what weir itself has given back
	if a, err := s.post("github", "new", `{"wanted":true}`); err != nil || a.status != 503 {
		t.Errorf("a new event on a full volume: %d, %v", a.status, err)
	}
	if status := s.ask("/readyz"); status != 503 {
		t.Errorf("/readyz answers %d on a full volume, want 503", status)
	}
	up.Store(true)
	for _, id := range ids {
		await(t, 60*time.Second, id+" is delivered", func() bool { return s.delivery(id).State == "delivered" })
	}
	begun := time.Now()
	s.signal(syscall.SIGTERM)
	if status := s.exit(40 * time.Second); status != cli.ExitStopped {
		t.Errorf("exit status %d after SIGTERM on a full volume, want %d", status, cli.ExitStopped)
	}
	t.Logf("the stop took %s", time.Since(begun))
	free()
	freeMore()
	s.start()
	s.send("new", `{"wanted":true}`)
}
