package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/memorynet"
)

// moody is a downstream that answers with the status it is told.
type moody struct {
	status atomic.Int64
	body   string
	// hang is closed when requests may be answered; nil is at once.
	hang chan struct{}
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if m.hang != nil {
		select {
		case <-m.hang:
		case <-r.Context().Done():
		}
	}
	w.WriteHeader(int(m.status.Load()))
	_, _ = io.WriteString(w, m.body)
}

// watched is the whole house in fake time, with somebody who is told.
type watched struct {
	*scenario
	sink *moody
	chat *alertReceiver
}

// inWatched plays with a service that sends to a moody downstream and tells a
// chat.
func inWatched(t *testing.T, status int, play func(w *watched)) {
	t.Helper()
	inScenario(t, "too-large", func(s *scenario) {
		w := &watched{scenario: s, sink: &moody{}, chat: &alertReceiver{net: s.net, answers: []int{200}}}
		w.sink.status.Store(int64(status))
		listener, err := s.net.Listen(s.t.Context(), "tcp", "moody:80")
		if err != nil {
			s.t.Fatal(err)
		}
		server := &http.Server{Handler: w.sink}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(listener) })
		stop := w.chat.serve(s.t)
		play(w)
		stop()
		server.Close()
		serving.Wait()
	})
}

// begin starts the service of a watched scenario.
func (w *watched) begin(extra ...string) (stop func()) {
	w.t.Helper()
	return w.start(append([]string{
		"WEIR_FORWARD_URL=http://moody/", "WEIR_ALERT_URL=http://chat/T-path-secret", "WEIR_METRICS_ADDR=side:80",
		"WEIR_LOG_FORMAT=json", "WEIR_LOG_LEVEL=debug", "WEIR_REFUSED_RATE=10000/1m",
	}, extra...)...)
}

// told waits until so many messages have come, and returns the last.
func (w *watched) told(within time.Duration, count int) string {
	w.t.Helper()
	for begun := time.Now(); ; <-time.After(time.Second) {
		if got := w.chat.got(); len(got) >= count {
			if len(got) > count {
				w.t.Errorf("%d messages, want %d: %q", len(got), count, got)
			}
			if count == 0 {
				return ""
			}
			return got[len(got)-1]
		}
		if time.Since(begun) > within {
			w.t.Fatalf("messages %q after %s, want %d\n%s", w.chat.got(), within, count, w.log)
		}
	}
}

// status returns that of a path.
func (w *watched) status(path string) int {
	w.t.Helper()
	status, _ := w.request("GET", path, nil, nil)
	return status
}

// wants fails unless a text holds all of the parts.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %q", part, text)
		}
	}
}

func TestAPersonIsToldOfAHoldAndOfItsEnd(t *testing.T) {
	inWatched(t, 401, func(w *watched) {
		stop := w.begin()
		w.send("a", 100)
		w.send("b", 101) // another payload is the second witness
		wants(w.t, w.told(time.Minute, 1), "weir: destination default is held: auth, it answered 401", "one delivery tests it, from 20")
		<-time.After(10 * time.Minute)
		w.told(0, 1) // what stands is told once
		w.sink.status.Store(200)
		wants(w.t, w.told(2*time.Hour, 2), "weir: over after ", ": destination default was held: auth")
		w.wait(time.Minute, "delivered", 2)
		w.sink.status.Store(422)
		w.send("c", 100)
		wants(w.t, w.told(time.Minute, 3), "weir: deliveries to default died: 1 rejected")
		operator := http.Header{"Authorization": {"Bearer " + scenarioToken}}
		if status, text := w.request("POST", "/v1/destinations/default/pause", operator, nil); status != http.StatusOK {
			w.t.Fatalf("%d %s", status, text)
		}
		<-time.After(time.Minute)
		w.told(0, 3) // whoever pauses knows
		if status, text := w.request("POST", "/v1/destinations/default/resume", operator, nil); status != http.StatusOK {
			w.t.Fatalf("%d %s", status, text)
		}
		stop()
		w.told(0, 3)
		wants(w.t, w.log.String(), `"msg":"hold begins","destination":"default","reason":"auth"`, `"msg":"hold ends","destination":"default","reason":"auth"`,
			`"msg":"hold begins","destination":"default","reason":"paused"`, `"msg":"hold ends","destination":"default","reason":"paused"`)
	})
}

// TestAPersonIsToldOfAHoldThatFindsNoWitness: with a single delivery nobody knows
// whether it or the destination is at fault, and nothing goes on.
func TestAPersonIsToldOfAHoldThatFindsNoWitness(t *testing.T) {
	inWatched(t, 401, func(w *watched) {
		stop := w.begin("WEIR_STALL_AFTER=10m")
		w.send("a", 100)
		<-time.After(9 * time.Minute)
		w.told(0, 0)
		wants(w.t, w.told(2*time.Minute, 1), "weir: destination default is held: auth, it answered 401")
		if status := w.status("/healthz/delivery"); status != http.StatusServiceUnavailable {
			w.t.Errorf("the monitor of deliveries says %d", status)
		}
		w.sink.status.Store(200)
		w.send("b", 101) // an arriving event is its witness at once
		wants(w.t, w.told(time.Minute, 2), "weir: over after ", ": destination default was held: auth")
		stop()
	})
}

// TestARestartTellsNothingTwice: the hold is in the store; its end is news.
func TestARestartTellsNothingTwice(t *testing.T) {
	inWatched(t, 410, func(w *watched) {
		stop := w.begin()
		w.send("a", 100)
		w.send("b", 101)
		wants(w.t, w.told(time.Minute, 1), "gone", "until an operator resumes it")
		stop()
		stop = w.begin()
		<-time.After(10 * time.Minute)
		w.told(0, 1)
		wants(w.t, w.log.String(), `"level":"WARN","msg":"hold is active","destination":"default","reason":"gone"`,
			`"dedupe_window":"336h"`, `"refused_rate":"10000/1m"`, `"retry_budget":"30/1m"`, `"shutdown_delay":"0s"`)
		if begun := strings.Count(w.log.String(), `"msg":"hold begins"`); begun != 0 {
			w.t.Errorf("a stored hold has begun anew: %d", begun)
		}
		w.sink.status.Store(200)
		w.request("POST", "/v1/destinations/default/resume", http.Header{"Authorization": {"Bearer " + scenarioToken}}, nil)
		wants(w.t, w.told(time.Minute, 2), "over after 1")
		stop()
	})
}

func TestAStopSendsWhatAlertsWait(t *testing.T) {
	inWatched(t, 422, func(w *watched) {
		stop := w.begin()
		w.send("a", 100)
		w.wait(time.Minute, "dead", 1)
		stop()
		if diff := cmp.Diff([]string{"weir: deliveries to default died: 1 rejected"}, w.chat.got()); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestB83ASourceThatFallsSilentIsMissed(t *testing.T) {
	inWatched(t, 200, func(w *watched) {
		stop := w.begin()
		for i := range 12 {
			w.send(fmt.Sprint("k", i), 100)
			<-time.After(10 * time.Minute)
		}
		begun := time.Now()
		wants(w.t, w.told(30*time.Hour, 1), "weir: source github is silent: nothing since 20", "24h0m0s")
		if silent := time.Since(begun); silent < 23*time.Hour || silent > 25*time.Hour {
			w.t.Errorf("missed after %s", silent)
		}
		w.send("again", 100)
		wants(w.t, w.told(time.Minute, 2), "weir: over after ", ": source github was silent")
		stop()
	})
}

// TestB79AnOutageDownstreamIsNoReasonToEndTheProcess: what hosts look at stays
// good, senders are answered, and only the monitor of deliveries complains.
func TestB79AnOutageDownstreamIsNoReasonToEndTheProcess(t *testing.T) {
	inWatched(t, 503, func(w *watched) {
		stop := w.begin("WEIR_STALL_AFTER=10m")
		for i := range 10 {
			w.send(fmt.Sprint("k", i), 100)
		}
		if status := w.status("/healthz/delivery"); status != http.StatusOK {
			w.t.Errorf("at the beginning of an outage: %d", status)
		}
		stalled := false
		for minute := range 60 {
			w.send(fmt.Sprint("later", minute), 100) // also B83
			for _, path := range []string{"/livez", "/readyz", "/healthz"} {
				if status := w.status(path); status != http.StatusOK {
					w.t.Fatalf("%s is %d after %d minutes of an outage", path, status, minute)
				}
			}
			stalled = stalled || w.status("/healthz/delivery") == http.StatusServiceUnavailable
			<-time.After(time.Minute)
		}
		if !stalled {
			w.t.Error("the monitor of deliveries has seen nothing in an hour")
		}
		w.sink.status.Store(200)
		w.wait(2*time.Hour, "delivered", 70)
		if status := w.status("/healthz/delivery"); status != http.StatusOK {
			w.t.Errorf("after the outage: %d", status)
		}
		stop()
	})
}

// TestTheLastMetricsCanBeReadWhileStopping: the second listener closes after
// everything else, and tells that the service is not ready.
func TestTheLastMetricsCanBeReadWhileStopping(t *testing.T) {
	inWatched(t, 200, func(w *watched) {
		w.sink.hang = make(chan struct{})
		stop := w.begin("WEIR_SHUTDOWN_GRACE=10s")
		w.send("a", 100)
		<-time.After(time.Second)
		if got := w.side(); !strings.Contains(got, "\nweir_ready 1\n") {
			w.t.Errorf("%s", got)
		}
		var stopping sync.WaitGroup
		stopping.Go(stop)
		<-time.After(5 * time.Second)
		if live, ready := w.status("/livez"), w.status("/readyz"); live != http.StatusOK || ready != http.StatusServiceUnavailable {
			w.t.Errorf("while an attempt is out /livez answers %d and /readyz %d", live, ready)
		}
		wants(w.t, w.side(), "\nweir_ready 0\n", `weir_deliveries_pending{destination="default",reason="in_flight"} 1`)
		stopping.Wait()
		if got := w.side(); got != "" {
			w.t.Errorf("after the stop: %s", got)
		}
		wants(w.t, w.log.String(), `"msg":"left for the next start","destination":"default","pending":1,"dead":0`, `"msg":"weir has stopped","cut":1`)
	})
}

// side reads the second listener; "" is no answer.
func (w *watched) side() string {
	answer, err := w.client.Get("http://side/metrics")
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

// TestB80NothingOfADownstreamIsLogged: what it says, what it is told, and what
// the settings hold, over faults of every kind.
func TestB80NothingOfADownstreamIsLogged(t *testing.T) {
	const canary = "c4n4ry0fdownstream"
	inWatched(t, 200, func(w *watched) {
		w.sink.body = `{"error":"` + canary + `","authorization":"Bearer ` + canary + `"}`
		stop := w.begin("WEIR_FORWARD_URL=http://user:"+canary+"@moody/in?key="+canary,
			`WEIR_DESTINATION_DEFAULT_HEADERS={"X-Api-Key":"`+canary+`"}`,
			"WEIR_DESTINATIONS=default,other", "WEIR_DESTINATION_OTHER_URL=http://nobody/"+canary,
			`WEIR_DESTINATION_OTHER_HEADERS={"Authorization":"Bearer `+canary+`"}`, "WEIR_SOURCE_GITHUB_TO=default,other")
		operator := http.Header{"Authorization": {"Bearer " + scenarioToken}}
		for i, status := range []int{200, 302, 400, 401, 404, 410, 413, 418, 429, 500, 503} {
			w.sink.status.Store(int64(status))
			w.send(fmt.Sprint(canary, i), 100)
			<-time.After(10 * time.Second)
			w.request("POST", "/v1/destinations/default/resume", operator, nil)
		}
		page := w.side()
		stop()
		if n := strings.Count(w.log.String(), `"msg":"attempt"`); n < 15 {
			w.t.Errorf("only %d attempts", n)
		}
		for _, text := range append(w.chat.got(), page, w.log.String()) {
			for row := range strings.Lines(text) {
				if strings.Contains(row, canary) || strings.Contains(row, scenarioToken) || strings.Contains(row, scenarioSecret) || strings.Contains(row, "T-path-secret") {
					w.t.Errorf("tells what it must not: %s", row)
				}
			}
		}
	})
}

// alertReceiver is what listens at WEIR_ALERT_URL, in memory.
type alertReceiver struct {
	net *memorynet.Net
	// answers are the statuses in their order; the last one stays.
	answers []int

	mu    sync.Mutex
	texts []string
	at    []time.Time
	faces []http.Header
}

func (a *alertReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var got struct {
		Text string `json:"text"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &got) != nil {
		got.Text = "unreadable: " + string(body)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	status := a.answers[min(len(a.texts), len(a.answers)-1)]
	a.texts, a.at, a.faces = append(a.texts, got.Text), append(a.at, time.Now()), append(a.faces, r.Header)
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "40")
	}
	if status/100 == 3 {
		w.Header().Set("Location", "http://elsewhere/")
	}
	w.WriteHeader(status)
}

// got returns the texts so far.
func (a *alertReceiver) got() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.texts...)
}

// serve listens until the returned function is called.
func (a *alertReceiver) serve(t *testing.T) (stop func()) {
	t.Helper()
	listener, err := a.net.Listen(t.Context(), "tcp", "chat:80")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: a}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	return func() {
		server.Close()
		serving.Wait()
	}
}

// TestB79OneDeliveryThatNeverGetsThroughShows: where little is sent, the next
// try of the only delivery always lies ahead.
func TestB79OneDeliveryThatNeverGetsThroughShows(t *testing.T) {
	inWatched(t, 503, func(w *watched) {
		stop := w.begin("WEIR_STALL_AFTER=10m")
		w.send("a", 100)
		for minute := range 40 {
			want := http.StatusOK
			if minute > 10 {
				want = http.StatusServiceUnavailable
			}
			if got := w.status("/healthz/delivery"); got != want && minute != 10 {
				w.t.Errorf("%d after %d minutes, want %d", got, minute, want)
			}
			<-time.After(time.Minute)
		}
		w.sink.status.Store(200)
		w.wait(2*time.Hour, "delivered", 1)
		if got := w.status("/healthz/delivery"); got != http.StatusOK {
			w.t.Errorf("after the outage: %d", got)
		}
		stop()
	})
}
