package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// refuses answers events whose key has a prefix with a status and a text, and
// takes all others.
func refuses(prefix string, status int, text string) answering {
	return func(w http.ResponseWriter, _ *http.Request, a arrival) {
		if strings.HasPrefix(a.key, prefix) {
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}
	}
}

// TestTwoPoisonousPayloadsStopNoOthers: whatever a downstream says of them, what
// waits behind them is delivered at once.
func TestTwoPoisonousPayloadsStopNoOthers(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 402, 403, 404, 501} {
		for _, text := range []string{"", `{"error":"this recipient cannot be served"}`} {
			t.Run(fmt.Sprintf("%d %s", status, text), func(t *testing.T) {
				t.Parallel()
				sink := newDownstream(t, refuses("poison", status, text))
				s := started(t, sink.url)
				poison := []string{s.send("poison-1", `{"poison":1}`), s.send("poison-2", `{"poison":2}`)}
				var good []string
				for i := range 8 {
					good = append(good, s.send(fmt.Sprint("good-", i), fmt.Sprintf(`{"good":%d}`, i)))
				}
				await(t, 10*time.Second, "the eight good ones are delivered", func() bool {
					for _, id := range good {
						if s.delivery(id).State != "delivered" {
							return false
						}
					}
					return true
				})
				for _, id := range poison {
					if d := s.delivery(id); d.State == "delivered" {
						t.Errorf("%s is called delivered", id)
					}
				}
			})
		}
	}
}

// TestOneAnswerForEverybodyIsNotAboutThePayloads: a wrong setting kills a few
// deliveries at most, is seen, and what it killed is given back.
func TestOneAnswerForEverybodyIsNotAboutThePayloads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		text   string
	}{
		"plain HTTP to an HTTPS port": {400, "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>"},
		"a CSRF check":                {419, "<title>Page Expired</title>"},
		"a bare 400":                  {400, ""},
		"a gateway's 422":             {422, `{"message":"request validation failed"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mended atomic.Bool
			sink := newDownstream(t, func(w http.ResponseWriter, _ *http.Request, _ arrival) {
				if !mended.Load() {
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.text)
				}
			})
			s := started(t, sink.url)
			var ids []string
			for i := range 40 {
				ids = append(ids, s.send(fmt.Sprint("k", i), fmt.Sprintf(`{"number":%d,"text":%q}`, i, strings.Repeat("x", i))))
			}
			await(t, patience, "the destination is held", func() bool { return s.destination("default").Hold != nil })
			await(t, patience, "the monitor of deliveries is told", func() bool { return s.ask("/healthz/delivery") == 503 })
			if dead := s.destination("default").Queue.Dead; dead > 10 {
				t.Errorf("%d deliveries are dead, want at most 10", dead)
			}
			mended.Store(true)
			if status := s.operate(http.MethodPost, "/v1/destinations/default/resume", nil); status != 200 {
				t.Fatalf("resume: %d", status)
			}
			await(t, 60*time.Second, "nothing waits any more", func() bool {
				q := s.destination("default").Queue
				return q.Pending == 0
			})
			dead := 0
			for _, id := range ids {
				if s.delivery(id).State == "dead" {
					dead++
				}
			}
			if dead > 10 {
				t.Errorf("%d of 40 are dead after the repair", dead)
			}
		})
	}
}

// TestWrongCredentialsCostFewRequestsAndNoDelivery: two witnesses, then a hold;
// a changed setting ends it.
func TestWrongCredentialsCostFewRequestsAndNoDelivery(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, func(w http.ResponseWriter, r *http.Request, _ arrival) {
		if r.Header.Get("X-App-Key") != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	s := started(t, sink.url, `WEIR_DESTINATION_DEFAULT_HEADERS={"X-App-Key":"wrong"}`)
	var ids []string
	for i := range 20 {
		ids = append(ids, s.send(fmt.Sprint("k", i), fmt.Sprintf(`{"n":%d}`, i)))
	}
	begun := time.Now()
	await(t, patience, "six seconds have passed", func() bool { return time.Since(begun) > 6*time.Second })
	if got := len(sink.seen()); got > 6 {
		t.Errorf("%d requests in 6 s, want at most 6", got)
	}
	if hold := s.destination("default").Hold; hold == nil || hold.Reason != "auth" {
		t.Errorf("hold %+v, want one for auth", hold)
	}
	for _, id := range ids {
		if d := s.delivery(id); d.State != "pending" || d.Spent != 0 {
			t.Errorf("%s is %s with %d spent, want pending and unspent", id, d.State, d.Spent)
		}
	}
	s.stop()
	s.set(`WEIR_DESTINATION_DEFAULT_HEADERS={"X-App-Key":"right"}`)
	s.start()
	for _, id := range ids {
		await(t, 30*time.Second, "delivered after the repair", func() bool { return s.delivery(id).State == "delivered" })
	}
}
