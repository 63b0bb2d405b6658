package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// alertReceiver is what listens at WEIR_ALERT_URL, in memory.
type alertReceiver struct {
	net *memoryNet
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
	listener, err := a.net.listen(t.Context(), "tcp", "chat:80")
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

// alertHouse is as much of a house as alerts need.
func alertHouse(t *testing.T, log io.Writer, n *memoryNet) *house {
	t.Helper()
	s, err := loadSettings(houseWith("WEIR_ALERT_URL=http://chat/T-path-secret?key=alert-key-secret", "WEIR_LOG_LEVEL=debug", "WEIR_LOG_FORMAT=json"))
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(serviceConfig{settings: s, log: log, dial: n.dial})
	return h
}

func TestAlertsAreSentAsShortJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receiver := &alertReceiver{net: newMemoryNet(), answers: []int{200}}
		defer receiver.serve(t)()
		var log bytes.Buffer
		h := alertHouse(t, &log, receiver.net)
		h.beginBeside(func(err error) { t.Error(err) })
		h.desk.died("default", "rejected", 1)
		h.desk.stand(alertHold, []condition{{matter: matter{alertHold, "app auth"}, text: "app is held, with a secret of the tests in it"}}, time.Now())
		h.endBeside(t.Context())
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
				receiver := &alertReceiver{net: newMemoryNet(), answers: test.answers}
				if test.answers != nil {
					defer receiver.serve(t)()
				}
				var log bytes.Buffer
				h := alertHouse(t, &log, receiver.net)
				begun := time.Now()
				h.beginBeside(func(err error) { t.Error(err) })
				h.desk.died("default", "rejected", 1)
				h.endBeside(t.Context())
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
		n := newMemoryNet()
		if _, err := n.listen(t.Context(), "tcp", "chat:80"); err != nil { // and never accepts
			t.Fatal(err)
		}
		h := alertHouse(t, io.Discard, n)
		h.beginBeside(func(err error) { t.Error(err) })
		begun := time.Now()
		const told = maxOutbox + 50
		for i := range told {
			h.desk.died("destination-"+string(rune('a'+i%26))+string(rune('a'+i/26)), "rejected", 1)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("telling took %s", took)
		}
		if dropped := h.meters.alerts[string(alertDropped)].Get(); dropped < 45 || dropped > 50 {
			t.Errorf("%d dropped", dropped)
		}
		grace, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		h.endBeside(grace)
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("the stop took %s", took)
		}
		sum := h.meters.alerts[string(alertDropped)].Get() + h.meters.alerts[string(alertFailed)].Get()
		if sum != told {
			t.Errorf("%d accounted for, want %d", sum, told)
		}
		h.desk.died("late", "rejected", 1) // after the end: no panic
	})
}
