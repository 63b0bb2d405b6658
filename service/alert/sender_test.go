package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/memorynet"
	"weir/outbound"
)

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

// counts counts the results of messages.
type counts struct {
	mu sync.Mutex
	by map[Result]int
}

func (c *counts) add(r Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[r]++
}

func (c *counts) of(r Result) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[r]
}

// testAlerter is an alerter whose messages go to "chat" of a network in memory.
func testAlerter(log io.Writer, n *memorynet.Net) (*Alerter, *counts) {
	c := &counts{by: map[Result]int{}}
	return New(Config{
		URL:     "http://chat/T-path-secret?key=alert-key-secret",
		Secrets: outbound.NewSecrets("alert-key-secret", "http://chat/T-path-secret?key=alert-key-secret", "a secret of the tests"),
		Version: "devel", Dial: n.Dial, Started: time.Now(), Count: c.add,
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}), c
}

// run sends the messages of an alerter until the returned function is called,
// which waits for what is left until grace ends.
func run(d *Alerter) (stop func(grace context.Context)) {
	ctx, cut := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	return func(grace context.Context) {
		d.Close()
		defer context.AfterFunc(grace, cut)()
		running.Wait()
		cut()
	}
}

func TestAlertsAreSentAsShortJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receiver := &alertReceiver{net: memorynet.New(), answers: []int{200}}
		defer receiver.serve(t)()
		var log bytes.Buffer
		d, _ := testAlerter(&log, receiver.net)
		stop := run(d)
		d.Died("default", "rejected", 1)
		d.SetActive(Hold, []Active{{Condition: Condition{Hold, "app auth"}, Text: "app is held, with a secret of the tests in it"}}, time.Now())
		stop(t.Context())
		want := []string{
			"weir: deliveries to default died: 1 rejected",
			"weir: app is held, with [redacted] in it",
		}
		if diff := cmp.Diff(want, receiver.got()); diff != "" {
			t.Error(diff)
		}
		if got := receiver.faces[0].Get("Content-Type"); got != "application/json" {
			t.Errorf("Content-Type %q", got)
		}
		if strings.Contains(log.String(), "a secret of the tests") {
			t.Errorf("the log has a secret: %s", log.String())
		}
	})
}

func TestAlertsAreTriedAFewTimesAndTheirFailureIsLoggedWithoutTheAddress(t *testing.T) {
	tests := []struct {
		name    string
		answers []int // none: nobody listens
		tries   int
		took    time.Duration
		says    string
	}{
		{"an error that passes", []int{500, 502, 200}, 3, 6 * time.Second, ""},
		{"an error that stays", []int{500}, 4, 26 * time.Second, "answered 500"},
		{"a limit is obeyed", []int{429, 200}, 2, 40 * time.Second, ""},
		{"a refusal is final", []int{404}, 1, 0, "answered 404"},
		{"redirects are not followed", []int{302}, 1, 0, "answered 302"},
		{"nobody listens", nil, 0, 26 * time.Second, "the connection failed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				receiver := &alertReceiver{net: memorynet.New(), answers: test.answers}
				if test.answers != nil {
					defer receiver.serve(t)()
				}
				var log bytes.Buffer
				d, _ := testAlerter(&log, receiver.net)
				begun := time.Now()
				stop := run(d)
				d.Died("default", "rejected", 1)
				stop(t.Context())
				if got := len(receiver.got()); got != test.tries {
					t.Errorf("%d requests, want %d", got, test.tries)
				}
				if got := time.Since(begun).Round(time.Second); got != test.took {
					t.Errorf("took %s, want %s", got, test.took)
				}
				if failed := strings.Contains(log.String(), "could not be sent"); failed != (test.says != "") || !strings.Contains(log.String(), test.says) {
					t.Errorf("want %q in %s", test.says, log.String())
				}
				for _, secret := range []string{"chat", "T-path-secret", "alert-key-secret"} {
					if strings.Contains(log.String(), secret) {
						t.Errorf("the log tells %q: %s", secret, log.String())
					}
				}
			})
		})
	}
}

// TestAlertsThatHangHoldNothingUp: whoever tells of something goes on at once,
// what does not fit is dropped and counted, and a stop ends within its grace.
func TestAlertsThatHangHoldNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memorynet.New()
		if _, err := n.Listen(t.Context(), "tcp", "chat:80"); err != nil { // and never accepts
			t.Fatal(err)
		}
		d, results := testAlerter(io.Discard, n)
		stop := run(d)
		begun := time.Now()
		const told = maxQueued + 50
		for i := range told {
			d.Died("destination-"+string(rune('a'+i%26))+string(rune('a'+i/26)), "rejected", 1)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("telling took %s", took)
		}
		if dropped := results.of(Dropped); dropped < 45 || dropped > 50 {
			t.Errorf("%d dropped", dropped)
		}
		grace, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		stop(grace)
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("the stop took %s", took)
		}
		sum := results.of(Dropped) + results.of(Failed)
		if sum != told {
			t.Errorf("%d accounted for, want %d", sum, told)
		}
		d.Died("late", "rejected", 1) // after the end: no panic
	})
}
