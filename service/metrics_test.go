package service

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/config"
	"weir/dispatch"
	"weir/handler"
	"weir/service/metrics"
	"weir/store"
	"weir/webhook"
)

const (
	testToken  = "a token of the tests"
	testSecret = "a secret of the tests"
)

// environ is an environment that works; each test changes what it is about.
func environ(changes ...string) []string {
	return append([]string{
		"WEIR_SOURCES=github", "WEIR_SOURCE_GITHUB_SECRET=" + testSecret, "WEIR_FORWARD_URL=http://127.0.0.1:3000/in",
	}, changes...)
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

// githubHeader is what GitHub sends with a body.
func githubHeader(key string, body []byte) http.Header {
	mac := hmac.New(sha256.New, []byte(testSecret))
	mac.Write(body)
	return http.Header{
		"Content-Type":        {"application/json"},
		"X-Github-Event":      {"push"},
		"X-Github-Delivery":   {key},
		"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))},
	}
}

// openService opens a house over a new store. Nothing listens and nothing is
// sent.
func openService(t *testing.T, log io.Writer, settings ...string) *Service {
	t.Helper()
	s, err := config.Load(environ(append([]string{
		"WEIR_DATABASE=" + filepath.Join(t.TempDir(), "weir.db"), "WEIR_API_TOKEN=" + testToken,
		"WEIR_SOURCE_GITHUB_SECRET=" + testSecret, "WEIR_LOG_LEVEL=debug", "WEIR_LOG_FORMAT=json",
	}, settings...)...))
	if err != nil {
		t.Fatal(err)
	}
	svc, err := open(t.Context(), Config{Settings: s, Log: log, Version: "devel", Dial: (&net.Dialer{}).DialContext})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return svc
}

// ask makes a request to a house in memory.
func (svc *Service) ask(method, path string, header http.Header, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if header != nil {
		r.Header = header
	}
	w := httptest.NewRecorder()
	svc.server.Handler.ServeHTTP(w, r)
	return w
}

// metricsText returns the page of a house.
func (svc *Service) metricsText() string {
	w := httptest.NewRecorder()
	svc.page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// samples reads a page into values by series.
func samples(t *testing.T, page string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		end := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[end+1:]), 64)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if _, twice := values[line[:end]]; twice {
			t.Errorf("%s is there twice", line[:end])
		}
		values[line[:end]] = value
	}
	return values
}

// busyService is one that has seen something of everything.
func busyService(t *testing.T) *Service {
	t.Helper()
	svc := openService(t, io.Discard, "WEIR_SOURCES=github,raw", "WEIR_SOURCE_RAW_SCHEME=none", "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS=another secret")
	svc.ask("POST", "/hooks/github", githubHeader("k", []byte("{}")), "{}")
	svc.ask("POST", "/hooks/raw", nil, "{}")
	svc.ask("POST", "/hooks/github", nil, "{}")
	svc.sent(observed(webhook.OutcomeDelivered))
	return svc
}

// observed is a recorded attempt that ended its delivery.
func observed(outcome webhook.Outcome) dispatch.Observation {
	now := webhook.Ceil(time.Now())
	delivery := webhook.Delivery{Destination: "default", Source: "github", State: webhook.Delivered, FinishedAt: now}
	if outcome == webhook.OutcomeRejected {
		delivery.State, delivery.Reason = webhook.Dead, webhook.DeadRejected
	}
	gates := webhook.Destination{Name: "default"}
	return dispatch.Observation{
		Before: gates, ReceivedAt: now.Add(-3 * time.Second),
		Record: webhook.Record{Delivery: delivery, Gates: gates, Attempt: &webhook.Attempt{
			Number: 1, SentTo: "default", Outcome: outcome, Duration: 20 * time.Millisecond,
		}},
	}
}

func TestPromtoolFindsNothingWrongWithTheMetrics(t *testing.T) {
	promtool(t, strings.NewReader(busyService(t).metricsText()), "metrics")
}

// promtool runs a check of promtool (Debian's package prometheus), which must
// have nothing to say against it. CI has it; elsewhere its absence is told.
func promtool(t *testing.T, in io.Reader, check ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil && os.Getenv("CI") == "" {
		t.Logf("promtool is not here: not checked by it")
		return
	}
	command := exec.Command("promtool", append([]string{"check"}, check...)...)
	command.Stdin = in
	said, err := command.CombinedOutput()
	if err != nil || check[0] == "metrics" && len(said) > 0 {
		t.Errorf("promtool check %s: %v\n%s", check[0], err, said)
	}
}

func TestEveryMetricIsOnThePageFromTheStart(t *testing.T) {
	fresh := openService(t, io.Discard, "WEIR_SOURCES=github,raw", "WEIR_SOURCE_RAW_SCHEME=none", "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS=another secret")
	first, busy := samples(t, fresh.metricsText()), samples(t, busyService(t).metricsText())
	for name := range busy {
		if _, there := first[name]; !there {
			t.Errorf("%s is made by its first event", name)
		}
	}
	page := fresh.metricsText()
	for _, f := range metrics.Families() {
		if !strings.Contains(page, "\n# HELP "+f.Name+" "+f.Help+"\n# TYPE "+f.Name+" "+f.Kind+"\n"+f.Name) && !strings.HasPrefix(page, "# HELP "+f.Name+" ") {
			t.Errorf("%s is not on the page", f.Name)
		}
	}
	if got := strings.Count(page, "# TYPE "); got != len(metrics.Families()) {
		t.Errorf("%d metrics are described, want %d", got, len(metrics.Families()))
	}
}

// TestLabelsAreThoseOfTheContract: no id, no address, no text from outside.
func TestLabelsAreThoseOfTheContract(t *testing.T) {
	allowed := strings.Fields("source destination outcome result reason route secret version commit goversion le")
	byName := map[string]metrics.Family{}
	for _, f := range metrics.Families() {
		byName[f.Name] = f
	}
	label := regexp.MustCompile(`([a-z]+)="([^"]*)"`)
	for name := range samples(t, busyService(t).metricsText()) {
		f := metrics.FamilyOf(name+" 0", byName)
		if f.Name == "" {
			t.Errorf("%s is in no family", name)
		}
		var labels []string
		for _, found := range label.FindAllStringSubmatch(name, -1) {
			if !slices.Contains(allowed, found[1]) {
				t.Errorf("%s has the label %s", name, found[1])
			}
			if found[1] != "le" {
				labels = append(labels, found[1])
			}
		}
		if got := strings.Join(labels, " "); got != f.Labels {
			t.Errorf("%s has the labels %q, want %q", name, got, f.Labels)
		}
	}
}

// TestB22TheSecretThatMatchedIsCountedByItsPosition.
func TestB22TheSecretThatMatchedIsCountedByItsPosition(t *testing.T) {
	svc := openService(t, io.Discard, "WEIR_SOURCE_GITHUB_SECRET=the new secret of the tests", "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS="+testSecret)
	for i := range 3 {
		key := fmt.Sprint("k", i)
		if w := svc.ask("POST", "/hooks/github", githubHeader(key, []byte(key)), key); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	got := samples(t, svc.metricsText())
	if current, previous := got[`weir_secret_matched_total{source="github",secret="0"}`], got[`weir_secret_matched_total{source="github",secret="1"}`]; current != 0 || previous != 3 {
		t.Errorf("current %g, previous %g", current, previous)
	}
}

// TestB81StrangersMakeNoSeries: random paths, methods, sources and kinds of
// events from many addresses.
func TestB81StrangersMakeNoSeries(t *testing.T) {
	svc := openService(t, io.Discard)
	before := strings.Count(svc.metricsText(), "\n")
	random := rand.New(rand.NewPCG(8, 1))
	word := func() string { return strconv.FormatUint(random.Uint64(), 36) }
	paths := []func() string{
		func() string { return "/hooks/" + word() },
		func() string { return "/hooks/github?" + word() + "=" + word() },
		func() string { return "/hooks/" + word() + "/" + word() },
		func() string { return "/v1/" + word() },
		func() string { return "/" + word() + ".php" },
		func() string { return "/metrics/" + word() },
		func() string { return "/healthz/" + word() },
	}
	methods := []string{"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PROPFIND"}
	const requests = 5000
	for range requests {
		method := methods[random.IntN(len(methods))]
		if random.IntN(4) == 0 {
			method = "X" + strings.ToUpper(strings.Map(func(r rune) rune { return 'a' + r%26 }, word()))
		}
		r := httptest.NewRequest(method, paths[random.IntN(len(paths))](), strings.NewReader(word()))
		r.RemoteAddr = fmt.Sprintf("198.51.%d.%d:1", random.IntN(100), random.IntN(256))
		r.Header.Set("X-GitHub-Event", word())
		r.Header.Set("X-GitHub-Delivery", word())
		r.Header.Set("User-Agent", word())
		svc.server.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	page := svc.metricsText()
	if grown := strings.Count(page, "\n") - before; grown > 0 {
		t.Errorf("the page has grown by %d lines", grown)
	}
	total := 0.0
	for _, class := range metrics.RouteClasses() {
		total += samples(t, page)[metrics.Series(metrics.MetricRequests, "route", class)]
	}
	if total != requests {
		t.Errorf("%g requests are counted, want %d", total, requests)
	}
}

func TestWhatHappensIsCounted(t *testing.T) {
	svc := busyService(t)
	svc.sent(observed(webhook.OutcomeRejected))
	probe := observed(webhook.OutcomeDelivered)
	probe.Record.Attempt.Number, probe.Record.Attempt.Probe = 2, true
	svc.sent(probe)
	svc.meters.Died("default", webhook.DeadExpired, 7)
	svc.received(handler.Observation{Source: "github", Result: webhook.ResultTooLarge, Secret: -1, Bytes: 5})
	svc.committed(store.Commit{Err: webhook.ErrUnavailable})
	got := samples(t, svc.metricsText())
	for name, want := range map[string]float64{
		`weir_intake_requests_total{source="github",result="accepted"}`:          1,
		`weir_intake_requests_total{source="github",result="bad_signature"}`:     1,
		`weir_intake_requests_total{source="raw",result="accepted"}`:             1,
		`weir_intake_requests_total{source="github",result="too_large"}`:         1,
		`weir_limits_hit_total{source="github",reason="max_body"}`:               1,
		`weir_intake_bytes_total{source="raw"}`:                                  2,
		`weir_intake_duration_seconds_count`:                                     2,
		`weir_attempts_total{destination="default",outcome="delivered"}`:         2,
		`weir_attempts_total{destination="default",outcome="rejected"}`:          1,
		`weir_first_attempts_total{destination="default"}`:                       2,
		`weir_probes_total{destination="default"}`:                               1,
		`weir_deliveries_delivered_total{destination="default"}`:                 2,
		`weir_deliveries_died_total{destination="default",reason="rejected"}`:    1,
		`weir_deliveries_died_total{destination="default",reason="expired"}`:     7,
		`weir_delivery_latency_seconds_sum{destination="default"}`:               6,
		`weir_delivery_latency_seconds_bucket{destination="default",le="1"}`:     0,
		`weir_delivery_latency_seconds_bucket{destination="default",le="5"}`:     2,
		`weir_attempt_duration_seconds_bucket{destination="default",le="0.025"}`: 3,
		`weir_deliveries_pending{destination="default",reason="due"}`:            2,
		`weir_deliveries_due{destination="default"}`:                             2,
		`weir_store_commit_failures_total`:                                       1,
		`weir_ready`:                                                             1,
		`weir_http_requests_total{route="/hooks"}`:                               3,
	} {
		if got[name] != want {
			t.Errorf("%s is %g, want %g", name, got[name], want)
		}
	}
	for _, positive := range []string{
		metrics.MetricDatabaseBytes, metrics.MetricMaxBytes, metrics.MetricVolumeFree, metrics.MetricGoroutines, metrics.MetricHeap, metrics.MetricProcessCPU,
		metrics.MetricProcessRSS, metrics.MetricProcessFiles, metrics.MetricProcessStart, metrics.MetricCommitDuration + "_sum", metrics.MetricCommitOperations + "_count",
	} {
		if got[positive] <= 0 {
			t.Errorf("%s is %g", positive, got[positive])
		}
	}
}

func TestGatesAndQueuesAreShown(t *testing.T) {
	svc := openService(t, io.Discard)
	now := webhook.Ceil(time.Now())
	d := webhook.Destination{Name: "default", LastSuccess: now, Breaker: webhook.Breaker{OpenSince: now}}.
		WithHold(webhook.Hold{Reason: webhook.HoldAuth, NeedsOperator: true})
	svc.meters.SetGates(webhook.Status{Destination: d, RetriesLeft: 17})
	svc.meters.SetQueue(webhook.Queue{Pending: 5, Due: 3, Dead: 2, OldestDue: now.Add(-time.Minute), Oldest: now.Add(-time.Hour)},
		webhook.Status{Destination: d, Gate: webhook.Gate{WaitingFor: webhook.WaitAuth}}, now)
	var page bytes.Buffer
	svc.meters.Set.WritePrometheus(&page)
	got := samples(t, page.String())
	for name, want := range map[string]float64{
		`weir_destination_held{destination="default",reason="auth"}`:             1,
		`weir_destination_held{destination="default",reason="breaker"}`:          1,
		`weir_destination_held{destination="default",reason="gone"}`:             0,
		`weir_destination_needs_operator{destination="default"}`:                 1,
		`weir_destination_retries_left{destination="default"}`:                   17,
		`weir_destination_last_success_timestamp_seconds{destination="default"}`: float64(now.UnixMilli()) / 1000,
		`weir_deliveries_pending{destination="default",reason="auth"}`:           5,
		`weir_deliveries_dead{destination="default"}`:                            2,
		`weir_deliveries_due{destination="default"}`:                             3,
		`weir_oldest_due_age_seconds{destination="default"}`:                     60,
		`weir_oldest_pending_age_seconds{destination="default"}`:                 3600,
	} {
		if got[name] != want {
			t.Errorf("%s is %g, want %g", name, got[name], want)
		}
	}
}

// TestB83SilenceIsShown: the time since the last accepted event, also over a
// restart.
func TestB83SilenceIsShown(t *testing.T) {
	svc := openService(t, io.Discard)
	silence := metrics.Series(metrics.MetricSilence, "source", "github")
	svc.meters.Config.Started = time.Now().Add(-time.Hour)
	if got := samples(t, svc.metricsText())[silence]; got < 3600 || got > 3700 {
		t.Errorf("never heard since a start an hour ago: %g s", got)
	}
	svc.received(handler.Observation{Source: "github", Result: webhook.ResultAccepted, At: time.Now().Add(-time.Minute)})
	svc.received(handler.Observation{Source: "github", Result: webhook.ResultBadSignature, At: time.Now()})
	if got := samples(t, svc.metricsText())[silence]; got < 60 || got > 160 {
		t.Errorf("heard a minute ago: %g s", got)
	}
	svc.meters.Sources["github"].Accepted.Store(0)
	if w := svc.ask("POST", "/hooks/github", githubHeader("k", []byte("{}")), "{}"); w.Code != http.StatusOK {
		t.Fatal(w.Code)
	}
	svc.meters.Sources["github"].Accepted.Store(0)
	if err := svc.rememberAccepted(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := samples(t, svc.metricsText())[silence]; got > 100 {
		t.Errorf("what is stored is forgotten: %g s", got)
	}
}

func TestMetricsNeedTheTokenButForTheirOwnListener(t *testing.T) {
	svc := openService(t, io.Discard)
	if w := svc.ask("GET", "/metrics", nil, ""); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "weir_") {
		t.Errorf("without a token: %d", w.Code)
	}
	w := svc.ask("GET", "/metrics", http.Header{"Authorization": {"Bearer " + testToken}}, "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" || !strings.Contains(w.Body.String(), "weir_build_info{") {
		t.Errorf("with it: %d %v", w.Code, w.Header())
	}
	server := metrics.NewServer(svc.page, slog.New(slog.DiscardHandler))
	for path, want := range map[string]int{"/metrics": 200, "/": 404, "/v1/events": 404, "/hooks/github": 404} {
		w := httptest.NewRecorder()
		server.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s on the second listener: %d, want %d", path, w.Code, want)
		}
	}
}

func TestTheListOfMetricsInTheDocsIsThatOfTheCode(t *testing.T) {
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, f := range metrics.Families() {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", f.Name, f.Kind, strings.ReplaceAll(f.Labels, " ", ", "), f.Help)
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("../docs/metrics.md must have these lines:\n%s", want.String())
	}
}
