package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/config"
	"weir/webhook"
)

// line reads the only line of a JSON log.
func line(t *testing.T, log *bytes.Buffer) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(log.Bytes(), &fields); err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	log.Reset()
	return fields
}

func TestDurationsAndTimesHaveOneForm(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		s, err := config.Load(environ("WEIR_LOG_FORMAT="+format, "WEIR_LOG_LEVEL=debug"))
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		at := time.Date(2026, 3, 1, 9, 0, 0, 123456789, time.FixedZone("", 7200))
		newLogger(&log, s).Debug("x", webhook.LogDuration, 1234567*time.Nanosecond, webhook.LogWait, 72*time.Hour,
			"other", time.Second, webhook.LogUntil, at, "never", time.Time{},
			webhook.LogError, errors.New("in a secret of the tests it fails"))
		if format == "text" {
			for _, want := range []string{"duration_ms=1.234 ", "wait_ms=2.592e+08 ", "other_ms=1000 ", "until=2026-03-01T07:00:00.123Z ", `error="in [redacted] it fails"`} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %s in %s", want, &log)
				}
			}
			if strings.Contains(log.String(), "never") {
				t.Errorf("a time that is not set: %s", &log)
			}
			continue
		}
		got := line(t, &log)
		for name, want := range map[string]any{
			webhook.LogDuration: 1.234, webhook.LogWait: 259200000.0, "other_ms": 1000.0,
			webhook.LogUntil: "2026-03-01T07:00:00.123Z", webhook.LogError: "in [redacted] it fails",
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		if _, there := got["never"]; there {
			t.Error("a time that is not set is logged")
		}
		if at, err := time.Parse(logTime, fmt.Sprint(got["time"])); err != nil || at.Location() != time.UTC {
			t.Errorf("time %v", got["time"])
		}
	}
}

// TestTheListOfFieldsInTheDocsIsThatOfTheCode.
func TestTheListOfFieldsInTheDocsIsThatOfTheCode(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../webhook/logfields.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || fields[name] {
			t.Errorf("the field %s has two meanings, or no name: %v", name, err)
		}
		fields[name] = true
		if row := fmt.Sprintf("| `%s` | %s |\n", name, strings.TrimSpace(spec.Comment.Text())); !strings.Contains(string(page), row) {
			t.Errorf("../docs/logs.md lacks the line %s", row)
		}
		return true
	})
	if rows := strings.Count(string(page), "\n| `") - strings.Count(string(page), "` | INFO") - strings.Count(string(page), "` | WARN") - strings.Count(string(page), "` | ERROR"); rows != len(fields) {
		t.Errorf("../docs/logs.md has %d fields, want %d", rows, len(fields))
	}
}

// TestB80NothingOfARequestIsLogged: refused and accepted ones, at the level
// debug, with canaries wherever a sender or an operator can put them.
func TestB80NothingOfARequestIsLogged(t *testing.T) { synctest.Test(t, nothingIsLogged) }

func nothingIsLogged(t *testing.T) {
	const canary = "c4n4ry0f80"
	var log bytes.Buffer
	svc := openService(t, &log, "WEIR_REFUSED_RATE=100000/1m", "WEIR_SOURCES=github,raw,tok,meta,twitch",
		"WEIR_SOURCE_RAW_SCHEME=none", "WEIR_SOURCE_TOK_SCHEME=token", "WEIR_SOURCE_TOK_TOKEN_IN=query:key", "WEIR_SOURCE_TOK_SECRET="+canary+"-token",
		"WEIR_SOURCE_META_SCHEME=meta", "WEIR_SOURCE_META_SECRET="+canary+"-meta", "WEIR_SOURCE_META_VERIFY_TOKEN="+canary+"-verify",
		"WEIR_SOURCE_TWITCH_SECRET="+canary+"-twitch")
	secrets := func() http.Header {
		return http.Header{
			"Authorization": {"Bearer " + canary}, "Cookie": {"session=" + canary}, "X-Api-Key": {canary},
			"X-Gitlab-Token": {canary}, "X-Hub-Signature-256": {"sha256=" + canary}, "X-Github-Delivery": {canary},
			"User-Agent": {canary}, "X-Github-Event": {canary}, "Content-Type": {canary + "/json"},
			"Idempotency-Key": {canary}, "X-Request-Id": {"sane-id"},
		}
	}
	body := `{"secret":"` + canary + `"}`
	signed := githubHeader(canary, []byte(body))
	signed.Set("Cookie", canary)
	paths := []string{
		"/hooks/github", "/hooks/raw", "/hooks/tok?key=" + canary, "/hooks/tok?key=" + canary + "-token", "/hooks/" + canary,
		"/hooks/meta?hub.mode=subscribe&hub.challenge=" + canary + "&hub.verify_token=" + canary + "-verify",
		"/hooks/meta?hub.mode=subscribe&hub.challenge=1&hub.verify_token=" + canary,
		"/v1/events?key=" + canary, "/v1/events/" + canary, "/v1/sources/github/events/" + canary, "/v1/stats?minutes=" + canary,
		"/metrics?" + canary, "/" + canary, "/login?token=" + canary, "/v1/deliveries?cursor=" + canary,
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "POST", "PUT", "OPTIONS"} {
			for _, header := range []http.Header{secrets(), signed, {"Authorization": {"Bearer " + testToken}, "Cookie": {canary}}} {
				svc.ask(method, path, header.Clone(), body)
				<-time.After(time.Second) // no line is left out
			}
		}
	}
	if strings.Contains(log.String(), webhook.LogSuppressed) {
		t.Error("lines were left out")
	}
	svc.store.Close(t.Context())
	svc.ask("POST", "/hooks/raw", secrets(), body)
	svc.ask("GET", "/v1/events", http.Header{"Authorization": {"Bearer " + testToken}}, "")
	for _, want := range []string{"event received", "request not stored", "event could not be stored", "operator request went wrong"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("this test does not make weir log %q", want)
		}
	}
	for i, text := range []string{log.String(), svc.metricsText()} {
		for row := range strings.Lines(text) {
			if strings.Contains(row, canary) || strings.Contains(row, testToken) || strings.Contains(row, testSecret) {
				t.Errorf("output %d tells what it must not: %s", i, row)
			}
		}
	}
}
