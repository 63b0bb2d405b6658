package e2e

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/cli"
	"weir/flaky"
	"weir/internal/memorynet"
)

const (
	scenarioToken  = "a-token-of-the-scenario"
	scenarioSecret = "a-secret-of-the-scenario"
)

// scenario is the whole house in fake time: the real service over a real
// store, a scripted downstream, and a sender.
type scenario struct {
	t      *testing.T
	net    *memorynet.Net
	sink   *flaky.Server
	client *http.Client
	file   string
	log    *bytes.Buffer
	begun  time.Time
}

// inScenario runs a scenario against a downstream with a ready-made script.
func inScenario(t *testing.T, script string, play func(s *scenario)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "weir.db")
	synctest.Test(t, func(t *testing.T) {
		s := &scenario{t: t, net: memorynet.New(), file: file, begun: time.Now()}
		s.client = &http.Client{Transport: &http.Transport{DialContext: s.net.Dial, DisableKeepAlives: true}}
		parsed, err := flaky.ReadyMade(script)
		if err != nil {
			t.Fatal(err)
		}
		if s.sink, err = flaky.New(parsed); err != nil {
			t.Fatal(err)
		}
		listener, err := s.net.Listen(t.Context(), "tcp", "app:80")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: s.sink}
		var parts sync.WaitGroup
		parts.Go(func() { _ = server.Serve(listener) })
		play(s)
		server.Close()
		parts.Wait()
	})
}

// start runs the service until the returned function stops it as SIGTERM does.
func (s *scenario) start(extra ...string) (stop func()) {
	s.t.Helper()
	s.log = &bytes.Buffer{}
	environ := append([]string{
		"WEIR_ADDR=weir:80", "WEIR_DATABASE=" + s.file, "WEIR_API_TOKEN=" + scenarioToken,
		"WEIR_SOURCES=github", "WEIR_SOURCE_GITHUB_SECRET=" + scenarioSecret, "WEIR_FORWARD_URL=http://app/",
	}, extra...)
	w := cli.Env{Environ: environ, Stdout: io.Discard, Stderr: s.log, Listen: s.net.Listen, Dial: s.net.Dial}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	done := make(chan error, 1)
	var service sync.WaitGroup
	service.Go(func() { done <- cli.Run(ctx, w, nil) })
	for status := 0; status != http.StatusOK; {
		select {
		case err := <-done:
			s.t.Fatalf("the service does not start: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
		status, _ = s.request("GET", "/readyz", nil, nil)
	}
	return func() {
		s.t.Helper()
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("the service ended with %v", err)
		}
		service.Wait()
	}
}

// request makes a request to the service and returns status and body; 0 is no
// answer.
func (s *scenario) request(method, path string, header http.Header, body []byte) (int, []byte) {
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://weir"+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = header
	answer, err := s.client.Do(r)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, text
}

// send delivers a signed webhook and fails unless it is accepted.
func (s *scenario) send(key string, size int) {
	s.t.Helper()
	body := []byte(`{"n":"` + strings.Repeat("x", max(size-8, 0)) + `"}`)
	mac := hmac.New(sha256.New, []byte(scenarioSecret))
	mac.Write(body)
	status, text := s.request("POST", "/hooks/github", http.Header{
		"Content-Type":        {"application/json"},
		"X-Github-Delivery":   {key},
		"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))},
	}, body)
	if status != http.StatusOK {
		s.t.Fatalf("event %s was answered %d: %s", key, status, text)
	}
}

// ask reads JSON from the operator API.
func (s *scenario) ask(path string, into any) {
	s.t.Helper()
	status, text := s.request("GET", path, http.Header{"Authorization": {"Bearer " + scenarioToken}}, nil)
	if status != http.StatusOK {
		s.t.Fatalf("%s was answered %d: %s", path, status, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
}

// eventJSON is what these tests look at of an event.
type eventJSON struct {
	Deliveries []struct {
		State         string     `json:"state"`
		WaitingFor    string     `json:"waiting_for"`
		Reason        string     `json:"reason"`
		Spent         int        `json:"spent"`
		NextAttemptAt *time.Time `json:"next_attempt_at"`
		Attempts      []struct {
			Outcome  string         `json:"outcome"`
			Probe    bool           `json:"probe"`
			Evidence map[string]any `json:"evidence"`
		} `json:"attempts"`
	} `json:"deliveries"`
}

// event asks for an event by the sender's own id.
func (s *scenario) event(key string) eventJSON {
	s.t.Helper()
	var e eventJSON
	s.ask("/v1/sources/github/events/"+key, &e)
	if len(e.Deliveries) != 1 {
		s.t.Fatalf("event %s has %d deliveries", key, len(e.Deliveries))
	}
	return e
}

// states counts the deliveries in a state.
func (s *scenario) states(state string) int {
	s.t.Helper()
	n, cursor := 0, ""
	for {
		var page struct {
			Items []struct{} `json:"items"`
			Next  string     `json:"next_cursor"`
		}
		s.ask("/v1/deliveries?limit=200&state="+state+"&cursor="+cursor, &page)
		n, cursor = n+len(page.Items), page.Next
		if cursor == "" {
			return n
		}
	}
}

// wait lets time pass until so many deliveries are in a state; it looks three
// hundred times.
func (s *scenario) wait(limit time.Duration, state string, want int) time.Duration {
	s.t.Helper()
	begun := time.Now()
	for s.states(state) != want {
		if time.Since(begun) > limit {
			s.t.Fatalf("%d deliveries are %s after %s, want %d\n%s", s.states(state), state, limit, want, s.log)
		}
		<-time.After(limit / 300)
	}
	return time.Since(begun)
}

// TestIncidentAShortOutageThenACap is the first incident: three seconds of
// 503, then a cap of 60 requests a minute that says Retry-After. The naive loop
// stands beside it, against a downstream of its own with the same script.
func TestIncidentAShortOutageThenACap(t *testing.T) {
	const events = 150
	inScenario(t, "outage-then-cap", func(s *scenario) {
		stop := s.start("WEIR_DESTINATION_DEFAULT_BACKOFF=2s")
		for n := range events {
			s.send(fmt.Sprint(n), 100)
			<-time.After(60 * time.Millisecond)
		}
		s.wait(30*time.Minute, "delivered", events)
		stop()
		stats := s.sink.Stats()
		if stats.WorstMinute > 80 {
			t.Errorf("%d requests in the worst minute", stats.WorstMinute)
		}
		if refused := stats.Requests - events; refused > 60 {
			t.Errorf("%d requests were refused", refused)
		}
		naive := s.naive("outage-then-cap", events)
		if naive < 10*stats.WorstMinute {
			t.Errorf("the naive loop sends %d in its worst minute, weir %d", naive, stats.WorstMinute)
		}
		t.Logf("requests in the worst minute: naive %d, weir %d", naive, stats.WorstMinute)
	})
}

// naive runs the naive loop over as many events and returns its worst minute.
func (s *scenario) naive(script string, events int) int {
	s.t.Helper()
	parsed, err := flaky.ReadyMade(script)
	if err != nil {
		s.t.Fatal(err)
	}
	sink, err := flaky.New(parsed)
	if err != nil {
		s.t.Fatal(err)
	}
	listener, _ := s.net.Listen(s.t.Context(), "tcp", "naive:80")
	server := &http.Server{Handler: sink}
	var parts sync.WaitGroup
	parts.Go(func() { _ = server.Serve(listener) })
	loop := &flaky.Naive{URL: "http://naive/", Client: &http.Client{Transport: &http.Transport{DialContext: s.net.Dial, MaxIdleConnsPerHost: 4}}}
	list := make(chan flaky.Webhook, events)
	for n := range events {
		list <- flaky.Webhook{ID: fmt.Sprint(n), Body: []byte("{}")}
	}
	close(list)
	ctx, cancel := context.WithTimeout(s.t.Context(), 15*time.Second)
	defer cancel()
	loop.Run(ctx, list)
	loop.Client.CloseIdleConnections()
	server.Close()
	parts.Wait()
	return sink.Stats().WorstMinute
}

// TestIncidentADailyQuotaIsSpent is the second incident: the quota comes back
// in nine hours, 45 deliveries wait, and a restart in between forgets nothing.
func TestIncidentADailyQuotaIsSpent(t *testing.T) {
	inScenario(t, "daily-quota", func(s *scenario) {
		stop := s.start("WEIR_DESTINATION_DEFAULT_CONCURRENCY=1")
		for n := range 45 {
			s.send(fmt.Sprint(n), 100)
		}
		<-time.After(3 * time.Hour)
		stop()
		stop = s.start("WEIR_DESTINATION_DEFAULT_CONCURRENCY=1")
		<-time.After(3 * time.Hour)
		s.quotaShows()
		s.wait(6*time.Hour, "delivered", 45)
		stop()
		requests := s.sink.Requests()
		early := slices.IndexFunc(requests, func(r flaky.Seen) bool { return r.At.Sub(s.begun) >= 9*time.Hour })
		for i := 1; i < early; i++ {
			if gap := requests[i].At.Sub(requests[i-1].At); gap < time.Minute {
				t.Errorf("probe %d came %s after the one before", i, gap)
			}
		}
		if early > 200 {
			t.Errorf("%d requests before the reset", early)
		}
	})
}

// quotaShows checks what an operator sees while the quota is spent.
func (s *scenario) quotaShows() {
	s.t.Helper()
	for n := range 45 {
		d := s.event(fmt.Sprint(n)).Deliveries[0]
		if d.State != "pending" || d.WaitingFor != "quota" || d.Spent != 0 || d.NextAttemptAt == nil {
			s.t.Fatalf("event %d: %+v", n, d)
		}
	}
	first := s.event("0").Deliveries[0]
	if len(first.Attempts) == 0 {
		s.t.Fatal("the first event was never tried")
	}
	for member, want := range map[string]any{"limit": 100000.0, "used": 99299.0, "requested": 1139.0, "window": "day"} {
		if got := first.Attempts[0].Evidence[member]; got != want {
			s.t.Errorf("evidence %s is %v, want %v", member, got, want)
		}
	}
	var destinations struct {
		Items []struct {
			Hold struct {
				Reason string
				Since  time.Time
			}
		}
	}
	s.ask("/v1/destinations", &destinations)
	if hold := destinations.Items[0].Hold; hold.Reason != "quota" || hold.Since.IsZero() {
		s.t.Errorf("hold %+v", hold)
	}
	if status, _ := s.request("GET", "/readyz", nil, nil); status != http.StatusOK {
		s.t.Errorf("a spent quota makes the service unready: %d", status)
	}
}

// TestIncidentOnePayloadIsTooLarge is the third incident: it is sent once, and
// the others are not slowed.
func TestIncidentOnePayloadIsTooLarge(t *testing.T) {
	inScenario(t, "too-large", func(s *scenario) {
		stop := s.start()
		for n := range 300 {
			if n == 50 {
				s.send("large", 20_000)
			}
			s.send(fmt.Sprint(n), 100)
		}
		if took := s.wait(time.Minute, "delivered", 300); took > 5*time.Second {
			t.Errorf("the others took %s", took)
		}
		d := s.event("large").Deliveries[0]
		if d.State != "dead" || d.Reason != "too_large" || len(d.Attempts) != 1 {
			t.Errorf("the large one: %+v", d)
		}
		stop()
		if n := s.sink.Stats().Requests; n != 301 {
			t.Errorf("%d requests", n)
		}
	})
}
