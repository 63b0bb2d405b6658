package handler

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/signature"
	"weir/webhook"
)

// closed refuses at every limit.
type closed struct{ unlimited }

func (closed) Over(context.Context) http.Header { return http.Header{"Retry-After": {"7"}} }
func (closed) Acquire(int64) bool               { return false }

func (closed) Take(context.Context, string) (settle func(webhook.Result), fresh, repeat http.Header) {
	refusal := http.Header{"Retry-After": {"7"}}
	return func(webhook.Result) {}, refusal, refusal
}

func TestObservationsNameTheLimitThatWasMet(t *testing.T) {
	tests := []struct {
		limit  Limit
		change func(*Config)
		body   string
	}{
		{LimitClient, func(c *Config) { c.Failures = closed{} }, "{}"},
		{LimitSource, func(c *Config) { c.Allowance = closed{} }, "{}"},
		{LimitInflight, func(c *Config) { c.Room = func(context.Context) Room { return closed{} } }, "{}"},
		{LimitBody, nil, strings.Repeat("x", 1001)},
		{LimitDatabase, func(c *Config) { c.Intake = &engine{fail: webhook.ErrFull} }, "{}"},
		{"", func(c *Config) { c.Intake = &engine{fail: webhook.ErrUnavailable} }, "{}"},
		{"", nil, "{}"},
	}
	for _, test := range tests {
		h := newHouse(t, test.change)
		h.send("k", test.body)
		if got := h.last().Limit(); got != test.limit {
			t.Errorf("limit %q, want %q; %+v", got, test.limit, h.last())
		}
		if test.limit != "" && !slices.Contains(Limits(), test.limit) {
			t.Errorf("%q is not listed", test.limit)
		}
	}
}

// revoking accepts everything and has something to tell.
type revoking struct{ signed }

func (revoking) Verify(request signature.Request, now time.Time) signature.Verdict {
	verdict := signed{}.Verify(request, now)
	verdict.Alert = "a subscription was revoked"
	return verdict
}

func TestAlertsOfAVerdictAreObserved(t *testing.T) {
	h := newHouse(t, func(c *Config) {
		source := c.Sources["github"]
		source.Verifier = revoking{}
		c.Sources["github"] = source
	})
	h.send("k", "{}")
	if got := h.last().Alert; got != "a subscription was revoked" {
		t.Errorf("alert %q", got)
	}
}
