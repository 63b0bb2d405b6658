package handler

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

type receipt struct {
	ID        string `json:"id"`
	Duplicate *bool  `json:"duplicate"`
	Reopened  *bool  `json:"reopened"`
}

func decode[T any](t testing.TB, body []byte) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("answer %q: %v", body, err)
	}
	return value
}

func TestReceiveStoresBeforeItAnswers(t *testing.T) {
	h := newHouse(t, nil)
	answer := h.do("POST /hooks/github", `{"a":1}`, "X-Signature: valid", "X-Delivery: k1", "Content-Type: application/json", "Authorization: Bearer x")
	wants(t, answer, http.StatusOK)
	got := decode[receipt](t, answer.Body.Bytes())
	stored := h.engine.stored()
	if len(stored) != 1 || got.ID != stored[0].Event.ID.String() || *got.Duplicate || got.Reopened != nil {
		t.Fatalf("answer %s, stored %d events", answer.Body, len(stored))
	}
	event := stored[0].Event
	if string(event.Body) != `{"a":1}` || event.Key != "k1" || event.Size != 7 || event.ReceivedAt.Nanosecond()%1e6 != 0 {
		t.Errorf("stored %+v", event)
	}
	if diff := cmp.Diff(http.Header{"Content-Type": {"application/json"}}, event.Header); diff != "" {
		t.Errorf("stored more than is forwarded: %s", diff)
	}
	if diff := cmp.Diff([]string{"app"}, h.woken); diff != "" {
		t.Errorf("woken: %s", diff)
	}
	if answer.Header().Get("Retry-After") != "" {
		t.Error("an accepted event is told to come back")
	}
}

func TestReceiveAnswersEachResultWithItsStatus(t *testing.T) {
	tests := []struct {
		name    string
		line    string
		headers []string
		body    string
		status  int
		result  webhook.Result
		code    string
	}{
		{"unknown source", "POST /hooks/nobody", nil, "x", 404, webhook.ResultUnknownSource, "unknown_source"},
		{"missing signature", "POST /hooks/github", nil, "x", 401, webhook.ResultBadSignature, "bad_signature"},
		{"wrong signature", "POST /hooks/github", []string{"X-Signature: no"}, "x", 401, webhook.ResultBadSignature, "bad_signature"},
		{"stale", "POST /hooks/github", []string{"X-Signature: old"}, "x", 401, webhook.ResultStale, "bad_signature"},
		{"doubled signature", "POST /hooks/github", []string{"X-Signature: valid", "X-Signature: valid"}, "x", 400, webhook.ResultMalformed, "malformed"},
		{"encoding", "POST /hooks/github", []string{"X-Signature: zipped"}, "x", 415, webhook.ResultUnsupported, "unsupported"},
		{"too large", "POST /hooks/github", []string{"X-Signature: valid"}, strings.Repeat("x", 1001), 413, webhook.ResultTooLarge, "too_large"},
		{"challenge", "POST /hooks/github", []string{"X-Signature: challenge"}, "x", 200, webhook.ResultChallenge, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHouse(t, nil)
			answer := h.do(test.line, test.body, test.headers...)
			wants(t, answer, test.status)
			if got := h.last().Result; got != test.result {
				t.Errorf("result %s, want %s", got, test.result)
			}
			if len(h.engine.stored()) != 0 {
				t.Error("something was stored")
			}
			if test.code != "" {
				checkProblem(t, answer.Header(), answer.Body.Bytes(), problem{Status: test.status, Code: Code(test.code)})
			}
		})
	}
}

// checkProblem holds an answer against RFC 9457 and the contract.
func checkProblem(t testing.TB, header http.Header, body []byte, want problem) {
	t.Helper()
	got := decode[problem](t, body)
	if header.Get("Content-Type") != "application/problem+json" || got.Type == "" || got.Title == "" ||
		got.Status != want.Status || got.Code != want.Code || got.Instance != header.Get("X-Request-Id") || got.Instance == "" {
		t.Errorf("problem %s with %v, want status %d and code %s", body, header, want.Status, want.Code)
	}
}

func TestAllAnswers401AreAlike(t *testing.T) {
	h := newHouse(t, func(c *Config) {
		source := c.Sources["github"]
		source.AllowFrom = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		c.Sources["far"] = source
	})
	id := "X-Request-Id: same"
	first := h.do("POST /hooks/github", "x", id)
	for _, answer := range []struct{ line, signature string }{
		{"POST /hooks/github", "wrong"}, {"POST /hooks/github", "old"}, {"POST /hooks/far", "valid"},
	} {
		other := h.do(answer.line, "x", id, "X-Signature: "+answer.signature)
		wants(t, other, http.StatusUnauthorized)
		if diff := cmp.Diff(first.Body.String(), other.Body.String()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(first.Header(), other.Header()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestB1NoSuccessWithoutACommit(t *testing.T) {
	for _, failure := range []error{webhook.ErrUnavailable, webhook.ErrFull, errors.New("disk on fire")} {
		t.Run(failure.Error(), func(t *testing.T) {
			h := newHouse(t, nil)
			h.engine.fail = failure
			answer := h.send("k", "x")
			wants(t, answer, http.StatusServiceUnavailable)
			if seconds, err := strconv.Atoi(answer.Header().Get("Retry-After")); err != nil || seconds < 1 {
				t.Errorf("Retry-After %q", answer.Header().Get("Retry-After"))
			}
			if strings.Contains(answer.Body.String(), "fire") || len(h.woken) > 0 {
				t.Errorf("answer %s, woken %v", answer.Body, h.woken)
			}
			h.engine.fail = nil
			wants(t, h.send("k", "x"), http.StatusOK)
		})
	}
}

func TestB3StoringOutlivesTheSender(t *testing.T) {
	h := newHouse(t, nil)
	ctx, hangUp := context.WithCancel(context.Background())
	h.engine.during = func(inside context.Context) error {
		hangUp()
		if _, bounded := inside.Deadline(); !bounded {
			t.Error("storing has no bound")
		}
		return inside.Err()
	}
	request := newRequest(ctx, "POST", "/hooks/github", "x")
	request.Header.Set("X-Signature", "valid")
	request.Header.Set("X-Delivery", "k")
	serve(h, request)
	if got := len(h.engine.stored()); got != 1 {
		t.Fatalf("%d stored, want 1", got)
	}
	h.engine.during = nil
	if got := decode[receipt](t, h.send("k", "x").Body.Bytes()); !*got.Duplicate {
		t.Error("the repeat is not a duplicate")
	}
}

func TestB9OneOfManyCopiesIsNew(t *testing.T) {
	h := newHouse(t, nil)
	var mu sync.Mutex
	fresh := 0
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			answer := h.send("same", "x")
			mu.Lock()
			defer mu.Unlock()
			if answer.Code != http.StatusOK {
				t.Errorf("status %d", answer.Code)
			} else if !*decode[receipt](t, answer.Body.Bytes()).Duplicate {
				fresh++
			}
		})
	}
	group.Wait()
	if fresh != 1 {
		t.Errorf("%d copies were new", fresh)
	}
}

func TestB10RepeatRevivesADeadDelivery(t *testing.T) {
	h := newHouse(t, nil)
	h.send("k", "x")
	h.engine.events[0].Deliveries[0].Delivery.State = webhook.Dead
	h.woken = nil
	answer := h.send("k", "x")
	wants(t, answer, http.StatusOK)
	if got := decode[receipt](t, answer.Body.Bytes()); !*got.Duplicate || got.Reopened == nil || !*got.Reopened {
		t.Errorf("answer %s", answer.Body)
	}
	if diff := cmp.Diff([]string{"app"}, h.woken); diff != "" {
		t.Error(diff)
	}
	if answer := h.send("k", "x"); strings.Contains(answer.Body.String(), "reopened") {
		t.Errorf("answer %s", answer.Body)
	}
}

func TestKeyConflictIs422(t *testing.T) {
	h := newHouse(t, nil)
	h.send("k", "x")
	answer := h.send("k", "other")
	wants(t, answer, http.StatusUnprocessableEntity)
	checkProblem(t, answer.Header(), answer.Body.Bytes(), problem{Status: 422, Code: "key_conflict"})
}

func TestStatusOfTheSource(t *testing.T) {
	for _, status := range []int{202, 204} {
		h := newHouse(t, func(c *Config) {
			source := c.Sources["github"]
			source.Status = status
			c.Sources["github"] = source
		})
		wants(t, h.send("k", "x"), status)
		wants(t, h.send("k", "x"), status)
	}
}

func TestB72SlashesAndQueries(t *testing.T) {
	tests := []struct {
		path   string
		status int
	}{
		{"/hooks/github", 200},
		{"/hooks/github/", 200},
		{"/hooks/github?a=b&c=%2F", 200},
		{"/hooks/github/?a=b", 200},
		{"/hooks//github", 404},
		{"//hooks/github", 404},
		{"/hooks/github//", 404},
		{"/hooks/GitHub", 404},
		{"/Hooks/github", 404},
		{"/hooks/github/more", 404},
		{"/hooks/", 404},
		{"/hooks", 404},
		{"/hooks//", 404},
		{"/hooks/../hooks/github", 404},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			h := newHouse(t, nil)
			answer := h.do("POST http://weir.test"+test.path, "x", "X-Signature: valid")
			wants(t, answer, test.status)
			if got, want := len(h.engine.stored()), map[int]int{200: 1}[test.status]; got != want {
				t.Errorf("%d stored, want %d", got, want)
			}
		})
	}
}

func TestOtherMethodsOfAReceivePath(t *testing.T) {
	tests := []struct {
		line, header string
		status       int
		allow, body  string
	}{
		{"GET /hooks/github", "", 200, "", ""},
		{"HEAD /hooks/github/", "", 200, "", ""},
		{"GET /hooks/github?challenge=1", "", 200, "", "echo"},
		{"GET /hooks/nobody", "", 404, "", ""},
		{"OPTIONS /hooks/github", "", 405, "GET, HEAD, POST", ""},
		{"OPTIONS /hooks/github", "WebHook-Request-Origin: a", 405, "GET, HEAD, POST", ""},
		{"OPTIONS /hooks/events", "WebHook-Request-Origin: a", 200, "", ""},
		{"PUT /hooks/github", "", 405, "GET, HEAD, POST", ""},
		{"DELETE /hooks/events/", "", 405, "GET, HEAD, POST, OPTIONS", ""},
		{"BREW /hooks/github", "", 405, "GET, HEAD, POST", ""},
		{"PUT /nowhere", "", 404, "", ""},
		{"BREW /nowhere", "", 404, "", ""},
	}
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			h := newHouse(t, nil)
			answer := h.do(test.line, "", test.header)
			wants(t, answer, test.status)
			if got := answer.Header().Get("Allow"); got != test.allow {
				t.Errorf("Allow %q, want %q", got, test.allow)
			}
			if test.status == 200 && test.body != answer.Body.String() {
				t.Errorf("body %q, want %q", answer.Body, test.body)
			}
			if len(h.engine.stored()) != 0 {
				t.Error("something was stored")
			}
			if answer.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Error("a browser of another site is let in")
			}
		})
	}
}

func TestB11TransportHeadersAreNoIdentity(t *testing.T) {
	h := newHouse(t, nil)
	for i := range 3 {
		n := strconv.Itoa(i)
		answer := h.do("POST /hooks/github?try="+n, "x", "X-Signature: valid", "X-Delivery: k",
			"X-Request-Id: r"+n, "Traceparent: t"+n, "Date: d"+n, "X-Forwarded-For: 192.0.2."+n)
		wants(t, answer, http.StatusOK)
		if got := decode[receipt](t, answer.Body.Bytes()); *got.Duplicate != (i > 0) {
			t.Errorf("copy %d: %s", i, answer.Body)
		}
	}
	if got := h.engine.stored(); len(got) != 1 || got[0].Event.Key != "k" {
		t.Errorf("%d stored", len(got))
	}
}

// TestAnAnswerWithoutABodyHasNoType: 204 has no content, so none that is JSON.
func TestAnAnswerWithoutABodyHasNoType(t *testing.T) {
	for status, want := range map[int]string{http.StatusNoContent: "", http.StatusAccepted: "application/json"} {
		h := newHouse(t, func(c *Config) {
			source := c.Sources["github"]
			source.Status = status
			c.Sources["github"] = source
		})
		answer := h.send("k-1", "{}")
		if got := answer.Header().Get("Content-Type"); answer.Code != status || got != want {
			t.Errorf("%d with type %q, want %d with %q", answer.Code, got, status, want)
		}
	}
}
