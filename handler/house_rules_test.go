package handler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/webhook"
)

func TestOperatorPathsNeedAToken(t *testing.T) {
	h := newHouse(t, nil)
	for _, line := range []string{
		"GET /v1/events", "GET /v1/openapi.json", "GET /v1/nothing", "GET /v1", "GET /v1/", "PUT /v1/events",
		"GET /v1/events/not-an-id", "POST /v1/redeliver", "GET /v1/stats",
	} {
		for _, header := range []string{
			"", "Authorization: Bearer wrong", "Authorization: Bearer", "Authorization: Basic " + token,
			"Authorization: " + token, "Authorization: Bearer " + token + "x", "Authorization: Bearer " + token[:5],
		} {
			answer := h.do(line, "", header)
			wants(t, answer, http.StatusUnauthorized)
			if answer.Header().Get("WWW-Authenticate") == "" || answer.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: header %v", line, answer.Header())
			}
			checkProblem(t, answer.Header(), answer.Body.Bytes(), problem{Status: 401, Code: CodeUnauthorized})
		}
	}
	wants(t, h.do("GET /v1/events", "", "Authorization: Bearer "+token, "Authorization: Bearer "+token), http.StatusUnauthorized)
	wants(t, h.do("GET /v1/events", "", "authorization: bearer  "+token), http.StatusOK)
	wants(t, h.operator("GET /v1/nothing", ""), http.StatusNotFound)
	wants(t, h.operator("GET /v1", ""), http.StatusNotFound)
}

func TestTokens(t *testing.T) {
	both := NewTokens("current", "previous", "")
	for text, want := range map[string]bool{"current": true, "previous": true, "": false, "curren": false, "currentx": false} {
		if got := both.Valid(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
	if NewTokens("", "").Valid("") || (Tokens{}).Valid("") {
		t.Error("without a token somebody comes in")
	}
	same := NewTokens("one", "one")
	if !same.Valid("one") {
		t.Error("the same token twice is no token")
	}
}

func TestMetricsNeedAToken(t *testing.T) {
	h := newHouse(t, func(c *Config) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("weir_up 1")) })
	})
	wants(t, h.do("GET /metrics", ""), http.StatusUnauthorized)
	wants(t, h.operator("GET /metrics", ""), http.StatusOK)
}

func TestDashboardHasWhatIsNobodyElses(t *testing.T) {
	h := newHouse(t, func(c *Config) {
		c.Dashboard = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	})
	for line, status := range map[string]int{
		"GET /": 418, "POST /login": 418, "GET /events": 418, "PUT /": 418, "GET /v1x": 418,
		"POST /hooks/a/b": 404, "GET /hooks": 404, "GET /v1/x": 401, "GET /livez/x": 404, "GET /metrics": 404,
	} {
		if got := h.do(line, "").Code; got != status {
			t.Errorf("%s: status %d, want %d", line, got, status)
		}
	}
}

func TestHealth(t *testing.T) {
	var notReady error
	var reasons []string
	h := newHouse(t, func(c *Config) {
		c.Ready = func(context.Context) error { return notReady }
		c.Flow = func(context.Context) []string { return reasons }
	})
	check := func(line string, status int) {
		t.Helper()
		answer := h.do(line, "")
		wants(t, answer, status)
		if strings.Contains(answer.Body.String(), "disk") {
			t.Errorf("%s tells details: %s", line, answer.Body)
		}
	}
	for _, line := range []string{"GET /livez", "GET /readyz", "GET /healthz", "HEAD /healthz", "GET /healthz/delivery"} {
		check(line, http.StatusOK)
	}
	notReady = errors.New("disk is gone")
	check("GET /livez", http.StatusOK)
	check("GET /readyz", http.StatusServiceUnavailable)
	check("HEAD /healthz", http.StatusServiceUnavailable)
	check("GET /healthz/delivery", http.StatusOK)
	notReady, reasons = nil, []string{"app: auth"}
	check("GET /healthz", http.StatusOK)
	if answer := h.do("GET /healthz/delivery", ""); answer.Code != 503 || !strings.Contains(answer.Body.String(), "app: auth") {
		t.Errorf("status %d, %s", answer.Code, answer.Body)
	}
	wants(t, h.do("POST /healthz", ""), http.StatusMethodNotAllowed)
}

func TestRequestIDIsTakenOverWhenItIsSane(t *testing.T) {
	h := newHouse(t, nil)
	for id, kept := range map[string]bool{
		"abc-DEF_1.2": true, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false,
		"": false, "a b": false, "a\tb": false, "ä": false, "<x>": false, "a;b": false,
	} {
		got := h.do("GET /livez", "", "X-Request-Id: "+id).Header().Get("X-Request-Id")
		if (got == id) != kept || got == "" {
			t.Errorf("%q became %q", id, got)
		}
	}
}

func TestPanicIsA500(t *testing.T) {
	h := newHouse(t, nil)
	h.engine.during = func(context.Context) error { panic("secret-canary") }
	answer := h.send("k", "x")
	wants(t, answer, http.StatusInternalServerError)
	checkProblem(t, answer.Header(), answer.Body.Bytes(), problem{Status: 500, Code: CodeInternal})
	if logs := h.logs.String(); strings.Contains(logs, "secret-canary") || !strings.Contains(logs, "panicked") {
		t.Errorf("log %s", logs)
	}
}

func TestPanicAfterTheAnswerHasBegunCutsTheConnection(t *testing.T) {
	broken := recoverer(slog.New(slog.DiscardHandler))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("now")
	}))
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("recovered %v", got)
		}
	}()
	serve(broken, newRequest(t.Context(), "GET", "/", ""))
}

// TestB80NoCredentialIsLogged sends canaries in every place where credentials
// travel, at the most talkative level.
func TestB80NoCredentialIsLogged(t *testing.T) {
	const canary = "canary-7f3a"
	h := newHouse(t, nil)
	headers := []string{
		"Authorization: Bearer " + canary, "Cookie: session=" + canary, "X-Api-Key: " + canary,
		"X-Gitlab-Token: " + canary, "X-Hub-Signature-256: sha256=" + canary, "Stripe-Signature: v1=" + canary,
		"X-Delivery: " + canary, "X-Other: " + canary,
	}
	for _, signature := range []string{"valid", "wrong", "old", "challenge", "zipped", canary} {
		for _, line := range []string{
			"POST /hooks/github?token=" + canary, "POST /hooks/" + canary, "GET /hooks/github?hub.verify_token=" + canary,
			"GET /v1/events?key=" + canary, "GET /" + canary, "POST /v1/" + canary, canary + " /hooks/github",
		} {
			h.do(line, "body "+canary, append(headers, "X-Signature: "+signature)...)
		}
	}
	h.engine.fail = webhook.ErrUnavailable
	h.do("POST /hooks/github", canary, append(headers, "X-Signature: valid")...)
	h.engine.fail = nil
	logs := h.logs.String()
	if strings.Contains(logs, canary) {
		t.Errorf("logged: %s", logs)
	}
	if strings.Count(logs, "\n") < 10 {
		t.Errorf("hardly anything was logged: %s", logs)
	}
	shown := h.operator("GET /v1/sources", "").Body.String() + h.operator("GET /v1/stats?minutes=1", "").Body.String()
	if strings.Contains(shown, canary) {
		t.Error("the status view shows a credential")
	}
	for _, detail := range h.engine.stored() {
		if len(detail.Event.Header) != 1 {
			t.Errorf("stored header %v", detail.Event.Header)
		}
	}
}

// TestB81WordsAreClosed sends what scanners send; what is counted and logged by
// does not grow.
func TestB81WordsAreClosed(t *testing.T) {
	h := newHouse(t, nil)
	for i := range 5000 {
		h.do(fmt.Sprintf("POST /hooks/scan%d", i), "x")
		h.do(fmt.Sprintf("GET /path%d", i), "")
		h.do(fmt.Sprintf("X%d /hooks/github", i), "")
	}
	words := map[string]bool{}
	for _, seen := range h.seen {
		words[seen.Source+" "+string(seen.Result)+" "+seen.Reason] = true
	}
	if len(words) != 1 || !words["unknown unknown_source no such source"] {
		t.Errorf("words %v", slices.Collect(maps.Keys(words)))
	}
	if got := len(h.config.Sources); got != 2 {
		t.Errorf("%d sources", got)
	}
	if lines := strings.Count(h.logs.String(), "\n"); lines > 200 {
		t.Errorf("%d lines for a flood", lines)
	}
}

func TestFloodOfRefusalsIsSampled(t *testing.T) {
	j := newRequestLog(slog.New(slog.DiscardHandler))
	now := h0
	allowed := 0
	for range 1000 {
		if _, ok := j.refusals.allow(now); ok {
			allowed++
		}
	}
	if allowed != refusalLines {
		t.Errorf("%d lines in a second", allowed)
	}
	suppressed, ok := j.refusals.allow(now.Add(1e9))
	if !ok || suppressed != 1000-refusalLines {
		t.Errorf("the next second tells of %d", suppressed)
	}
	if _, ok := j.failures.allow(now); !ok {
		t.Error("a flood of refusals hides our own failures")
	}
}
