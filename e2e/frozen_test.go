package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAFreezeInABurstBreaksNoRate: the process is stopped as a burst begins, and
// goes on when the window of what it had counted is over.
func TestAFreezeInABurstBreaksNoRate(t *testing.T) {
	t.Parallel()
	const most, per = 40, 2 * time.Second
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_DESTINATION_DEFAULT_RATE=40/2s", "WEIR_DESTINATION_DEFAULT_CONCURRENCY=32")
	if status := s.operate("POST", "/v1/destinations/default/pause", nil); status != 200 {
		t.Fatalf("pause: %d", status)
	}
	var ids []string
	for i := range 4 * most {
		ids = append(ids, s.send(fmt.Sprint("k", i), strings.Repeat("b", 1000)))
	}
	if status := s.operate("POST", "/v1/destinations/default/resume", nil); status != 200 {
		t.Fatalf("resume: %d", status)
	}
	for range 3 {
		seen := len(sink.seen())
		await(t, patience, "a burst has begun", func() bool { return len(sink.seen()) > seen })
		s.signal(syscall.SIGSTOP)
		<-time.After(2200 * time.Millisecond)
		s.signal(syscall.SIGCONT)
	}
	for _, id := range ids {
		s.awaitState(id, "delivered")
	}
	var times []time.Time
	for _, a := range sink.seen() {
		times = append(times, a.at)
	}
	slices.SortFunc(times, time.Time.Compare)
	first := 0
	for i, at := range times {
		for at.Sub(times[first]) >= per-slack {
			first++
		}
		if i-first+1 > most+stopped {
			t.Fatalf("%d requests within %s, at %s", i-first+1, per, at)
		}
	}
	if len(times) != len(ids) {
		t.Errorf("%d requests for %d events", len(times), len(ids))
	}
}

const (
	// slack is what a request may take from the program to the downstream's clock
	// on a busy machine.
	slack = 250 * time.Millisecond
	// stopped requests had passed the last question and were not written yet as the
	// process was stopped: one for each thread that ran.
	stopped = 4
)
