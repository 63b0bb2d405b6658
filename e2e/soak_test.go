package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The bounds that the soak is run under.
const (
	soakRate    = 4000 // in ten seconds
	soakRetries = 600  // in a minute
	soakSenders = 8
	soakPace    = 300 // events a second
)

// soakTime is how long the soak sends: a minute in CI, SOAK by hand.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	if text := os.Getenv("SOAK"); text != "" {
		wanted, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return wanted
	}
	if os.Getenv("CI") != "" {
		return time.Minute
	}
	return 15 * time.Second
}

// soakSink is a downstream that fails in many ways, one after the other, and takes
// what it is sent in between.
type soakSink struct {
	mu      sync.Mutex
	well    bool // for good
	since   time.Time
	taken   map[string]int // by event
	wrong   int            // bodies that are not what was sent
	all     []time.Time
	retries []time.Time
}

// note counts a request and reports how it is to be answered.
func (s *soakSink) note(r *http.Request, body string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.all = append(s.all, now)
	if n, _ := strconv.Atoi(r.Header.Get("Weir-Attempt")); n > 1 {
		s.retries = append(s.retries, now)
	}
	if body != soakBody(r.Header.Get("Weir-Key")) {
		s.wrong++
	}
	faults := []int{500, 0, 429, 0, 430, 0, 1, 0, 403, 0, 2, 0, 404, 0, 3, 0}
	if fault := faults[int(now.Sub(s.since)/(2*time.Second))%len(faults)]; fault != 0 && !s.well {
		return fault
	}
	s.taken[r.Header.Get("Weir-Event-Id")]++
	return 0
}

// ServeHTTP answers as the moment demands.
func (s *soakSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch fault := s.note(r, string(body)); fault {
	case 0:
	case 1: // the connection is closed
		panic(http.ErrAbortHandler)
	case 2: // an answer without end
		w.WriteHeader(http.StatusBadGateway)
		for range 1000 {
			if _, err := io.WriteString(w, strings.Repeat("x", 10_000)); err != nil {
				return
			}
		}
	case 3: // slow
		<-time.After(300 * time.Millisecond)
		w.WriteHeader(http.StatusServiceUnavailable)
	case 430: // a limit without a time
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(fault)
	}
}

// soakBody is the body of an event.
func soakBody(key string) string {
	return `{"key":"` + key + `","pad":"` + strings.Repeat("p", 900) + `"}`
}

// mostIn returns the largest number of times within a window.
func mostIn(times []time.Time, window time.Duration) int {
	slices.SortFunc(times, time.Time.Compare)
	most, first := 0, 0
	for i, at := range times {
		for at.Sub(times[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// soakSend sends events at a steady pace, each as often as it takes, until ctx
// ends, and returns their ids.
func soakSend(ctx context.Context, t *testing.T, s *service, sender int) []string {
	tick := time.NewTicker(time.Second * soakSenders / soakPace)
	defer tick.Stop()
	var ids []string
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return ids
		case <-tick.C:
		}
		key := fmt.Sprint("soak-", sender, "-", n)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience)
		id, err := s.sendUntil(last, key, soakBody(key))
		cancel()
		if err != nil {
			t.Error(err)
			return ids
		}
		ids = append(ids, id)
	}
}

// soakStranger sends junk with false signatures from an address of its own.
func soakStranger(ctx context.Context, s *service) {
	client := clientFrom("127.0.0.9")
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/hooks/github", strings.NewReader(strings.Repeat("j", 5000)))
		if err != nil {
			return
		}
		request.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
		if answer, err := client.Do(request); err == nil {
			answer.Body.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// descriptors counts the open files of the service.
func (s *service) descriptors() int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.running.command.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(list)
}

// TestSoak: signed events at a steady pace, a stranger's junk, a downstream that
// fails in all ways, and kill -9 every few seconds. Nothing is lost, no bound is
// passed, and memory and files stay bounded.
func TestSoak(t *testing.T) {
	wanted := soakTime(t)
	sink := &soakSink{since: time.Now(), taken: map[string]int{}}
	server := httptest.NewServer(sink)
	defer server.Close()
	s := started(t, server.URL, "WEIR_SOURCE_GITHUB_RATE=100000/1m", "WEIR_LOG_LEVEL=warn",
		"WEIR_DESTINATION_DEFAULT_RATE=4000/10s", "WEIR_DESTINATION_DEFAULT_RETRY_BUDGET=600/1m",
		"WEIR_DESTINATION_DEFAULT_CONCURRENCY=16", "WEIR_DESTINATION_DEFAULT_MAX_ATTEMPTS=100",
		"WEIR_DESTINATION_DEFAULT_BACKOFF_MAX=5s", "WEIR_DESTINATION_DEFAULT_TIMEOUT=2s")
	ctx, cancel := context.WithTimeout(t.Context(), wanted)
	defer cancel()
	var group sync.WaitGroup
	sent := make([][]string, soakSenders)
	for sender := range soakSenders {
		group.Go(func() { sent[sender] = soakSend(ctx, t, s, sender) })
	}
	group.Go(func() { soakStranger(ctx, s) })
	kills, memory, files := killUntil(ctx, s, wanted)
	group.Wait()
	ids := slices.Concat(sent...)
	drained := soakDrain(t, s, sink, len(ids))
	memory, files = max(memory, s.memory()), max(files, s.descriptors())

	sink.mu.Lock()
	defer sink.mu.Unlock()
	lost, twice := 0, 0
	for _, id := range ids {
		switch n := sink.taken[id]; {
		case n == 0:
			lost++
		case n > 1:
			twice++
		}
	}
	t.Logf("%d events in %s, %d kills, drained in %s: lost %d, taken twice %d, requests %d; at most %d in 10 s, %d retries in 1 min, %d MB, %d files",
		len(ids), wanted, kills, drained, lost, twice, len(sink.all), mostIn(sink.all, 10*time.Second), mostIn(sink.retries, time.Minute), memory, files)
	if lost > 0 || sink.wrong > 0 {
		t.Errorf("%d lost, %d bodies changed", lost, sink.wrong)
	}
	// A second of the windows is left to the way from the program to this clock.
	if n := mostIn(sink.all, 9*time.Second); n > soakRate {
		t.Errorf("%d requests in ten seconds", n)
	}
	if n := mostIn(sink.retries, 59*time.Second); n > soakRetries {
		t.Errorf("%d retries in a minute", n)
	}
	if !raced() && memory > 160 {
		t.Errorf("%d MB", memory)
	}
	if files > 400 {
		t.Errorf("%d open files", files)
	}
}

// killUntil kills and starts the service until ctx ends, and returns how often,
// and the most memory and files that were seen.
func killUntil(ctx context.Context, s *service, wanted time.Duration) (kills int, memory int64, files int) {
	s.t.Helper()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	span := min(20*time.Second, wanted/3)
	next := time.Now().Add(span)
	for {
		select {
		case <-ctx.Done():
			return kills, memory, files
		case <-look.C:
		}
		memory, files = max(memory, s.memory()), max(files, s.descriptors())
		if time.Now().After(next) {
			s.kill()
			s.start()
			kills++
			next = time.Now().Add(span/4 + rand.N(span*3/4))
		}
	}
}

// soakDrain makes the downstream well and waits until nothing is pending.
func soakDrain(t *testing.T, s *service, sink *soakSink, events int) time.Duration {
	t.Helper()
	begun := time.Now()
	sink.mu.Lock()
	sink.well = true
	sink.mu.Unlock()
	await(t, 20*time.Minute, "nothing is pending", func() bool {
		d := s.destination("default")
		if d.Hold != nil {
			s.operate("POST", "/v1/destinations/default/resume", nil)
		}
		return d.Queue.Pending == 0
	})
	if dead := s.destination("default").Queue.Dead; dead > 0 {
		t.Errorf("%d of %d are dead", dead, events)
	}
	return time.Since(begun).Truncate(time.Second)
}
