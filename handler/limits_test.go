package handler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

// failures is a Failures that writes down what it is asked.
type failures struct {
	over  http.Header
	may   bool
	known bool
	calls []string
}

func (s *failures) Over(context.Context) http.Header {
	s.calls = append(s.calls, "over")
	return s.over
}
func (s *failures) Known(context.Context) bool     { return s.known }
func (s *failures) MayVerify(context.Context) bool { return s.may }
func (s *failures) Refused(context.Context)        { s.calls = append(s.calls, "refused") }
func (s *failures) Verified(context.Context)       { s.calls = append(s.calls, "verified") }

// allowance is an Allowance with a number of places for each kind.
type allowance struct {
	fresh, repeats int
	settled        []webhook.Result
}

func (a *allowance) Take(context.Context, string) (settle func(webhook.Result), fresh, repeat http.Header) {
	settle = func(result webhook.Result) {
		a.settled = append(a.settled, result)
		switch result {
		case webhook.ResultAccepted:
			a.fresh--
		case webhook.ResultDuplicate:
			a.repeats--
		}
	}
	if a.fresh <= 0 {
		fresh = http.Header{"Retry-After": {"7"}, "Ratelimit": {`"events";r=0;t=7`}}
	}
	if a.repeats <= 0 {
		repeat = http.Header{"Retry-After": {"3"}}
	}
	return settle, fresh, repeat
}

// unreadable is a body that must not be touched.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("unreadable")
}

func TestB55AnAddressOverItsLimitIsRefusedUnread(t *testing.T) {
	limit := &failures{over: http.Header{"Retry-After": {"42"}}}
	h := newHouse(t, func(c *Config) { c.Failures = limit })
	for _, path := range []string{"/hooks/github", "/hooks/nobody"} {
		request := newRequest(t.Context(), "POST", path, "")
		request.ContentLength = 10
		request.Body = struct {
			unreadable
			closer
		}{unreadable{t}, closer{}}
		request.Header.Set("X-Signature", "valid")
		answer := serve(h, request)
		wants(t, answer, http.StatusTooManyRequests)
		if answer.Header().Get("Retry-After") != "42" {
			t.Errorf("header %v", answer.Header())
		}
		checkProblem(t, answer.Header(), answer.Body.Bytes(), problem{Status: 429, Code: "throttled"})
	}
	if diff := cmp.Diff([]string{"over", "over"}, limit.calls); diff != "" {
		t.Errorf("a refusal for refusals counts as another: %s", diff)
	}
	wants(t, h.do("GET /v1/events", "", "Authorization: Bearer wrong"), http.StatusTooManyRequests)
	wants(t, h.operator("GET /v1/events", ""), http.StatusOK)
	wants(t, h.do("GET /livez", ""), http.StatusOK)
}

type closer struct{}

func (closer) Close() error { return nil }

func TestOnlyAnswers400And401And404CountAgainstTheAddress(t *testing.T) {
	tests := []struct {
		line, signature, body string
		status                int
		calls                 string
	}{
		{"POST /hooks/github", "valid", "x", 200, "over verified"},
		{"POST /hooks/open", "valid", "x", 200, "over"},
		{"POST /hooks/github", "challenge", "x", 200, "over"},
		{"GET /hooks/github", "", "", 200, "over"},
		{"POST /hooks/github", "wrong", "x", 401, "over refused"},
		{"POST /hooks/github", "old", "x", 401, "over refused"},
		{"POST /hooks/nobody", "valid", "x", 404, "over refused"},
		{"POST /hooks/github", "zipped", "x", 415, "over"},
		{"POST /hooks/github", "valid", strings.Repeat("x", 2000), 413, "over"},
		{"GET /nothing", "", "", 404, "refused"},
		{"GET /v1/events", "", "", 401, "over refused"},
		{"PUT /hooks/github", "", "", 405, ""},
		{"GET /livez", "", "", 200, ""},
	}
	for _, test := range tests {
		t.Run(test.line+" "+test.signature, func(t *testing.T) {
			limit := &failures{}
			h := newHouse(t, func(c *Config) {
				c.Failures = limit
				open := c.Sources["github"]
				open.Trust = Unsigned
				c.Sources["open"] = open
			})
			wants(t, h.do(test.line, test.body, "X-Signature: "+test.signature), test.status)
			if got := strings.Join(limit.calls, " "); got != test.calls {
				t.Errorf("calls %q, want %q", got, test.calls)
			}
		})
	}
	limit := &failures{}
	h := newHouse(t, func(c *Config) { c.Failures = limit })
	wants(t, h.operator("GET /v1/events", ""), http.StatusOK)
	if got := strings.Join(limit.calls, " "); got != "" {
		t.Errorf("an operator's calls %q", got)
	}
}

// TestJunkFromASharedAddressSilencesNoSender: where a real sender may be behind
// an address that is over its limit, only what does not verify is refused.
func TestJunkFromASharedAddressSilencesNoSender(t *testing.T) {
	limit := &failures{over: http.Header{"Retry-After": {"42"}}, may: true}
	h := newHouse(t, func(c *Config) { c.Failures = limit })
	wants(t, h.do("POST /hooks/github", "x", "X-Signature: valid"), http.StatusOK)
	h2 := newHouse(t, func(c *Config) { c.Failures = &failures{over: limit.over, known: true} })
	wants(t, h2.do("POST /hooks/github", "x", "X-Signature: wrong"), http.StatusUnauthorized)
	for _, line := range []string{"POST /hooks/github", "POST /hooks/nobody"} {
		answer := h.do(line, "x", "X-Signature: wrong")
		wants(t, answer, http.StatusTooManyRequests)
		if answer.Header().Get("Retry-After") != "42" {
			t.Errorf("%s: header %v", line, answer.Header())
		}
	}
}

func TestB54NewEventsAndRepeatsHaveTheirOwnAllowance(t *testing.T) {
	places := &allowance{fresh: 2, repeats: 3}
	h := newHouse(t, func(c *Config) { c.Allowance = places })
	for _, step := range []struct {
		key    string
		status int
		wait   string
	}{
		{"a", 200, ""}, {"b", 200, ""}, {"c", 429, "7"}, {"a", 200, ""}, {"b", 200, ""}, {"c", 429, "7"}, {"a", 200, ""}, {"a", 429, "3"}, {"c", 429, "7"},
	} {
		answer := h.send(step.key, step.key)
		wants(t, answer, step.status)
		if got := answer.Header().Get("Retry-After"); got != step.wait {
			t.Errorf("%s: Retry-After %q, want %q", step.key, got, step.wait)
		}
	}
	if places.fresh != 0 || places.repeats != 0 || len(places.settled) != 9 {
		t.Errorf("left %+v", places)
	}
	if len(h.engine.stored()) != 2 {
		t.Errorf("%d stored", len(h.engine.stored()))
	}
}

func TestRepeatsDoNotKeepNewEventsOut(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.Allowance = &allowance{fresh: 5} })
	wants(t, h.send("a", "a"), http.StatusOK)
	wants(t, h.send("a", "a"), http.StatusTooManyRequests)
	wants(t, h.send("b", "b"), http.StatusOK)
	wants(t, h.send("", "no key"), http.StatusOK)
}

func TestWhatIsNotStoredUsesNothingUp(t *testing.T) {
	places := &allowance{fresh: 1, repeats: 1}
	h := newHouse(t, func(c *Config) { c.Allowance = places })
	h.engine.fail = webhook.ErrUnavailable
	wants(t, h.send("a", "a"), http.StatusServiceUnavailable)
	h.engine.fail = nil
	h.engine.during = func(context.Context) error { panic("now") }
	wants(t, h.send("a", "a"), http.StatusInternalServerError)
	h.engine.during = nil
	wants(t, h.do("POST /hooks/github", "x", "X-Signature: wrong"), http.StatusUnauthorized)
	if got := fmt.Sprint(places.settled); got != "[unavailable unavailable]" || places.fresh != 1 {
		t.Errorf("settled %s, left %d", got, places.fresh)
	}
	wants(t, h.send("a", "a"), http.StatusOK)
}
