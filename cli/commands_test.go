package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/cli/client"
	"weir/flaky"
	"weir/webhook"
)

// refusedOnce answers 422 to the first request of each event.
func refusedOnce() flaky.Script {
	return flaky.Script{Rules: []flaky.Rule{{
		Name: "refused", When: flaky.When{Tries: 1},
		Answer: flaky.Answer{Status: http.StatusUnprocessableEntity, Body: `{"error":"no such colour"}`},
	}}}
}

// firstEvent returns the newest event as "weir events --json" prints it.
func (s served) firstEvent(t *testing.T, args ...string) client.Event {
	t.Helper()
	out, err := s.call(t, append([]string{"events", "--json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(out, "\n")
	var event client.Event
	if err := json.Unmarshal([]byte(line), &event); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	return event
}

func TestADeadDeliveryIsFoundExplainedAndRepaired(t *testing.T) {
	s := serveFor(t, refusedOnce())
	if _, err := s.call(t, "send", "github", "--id", "k-1"); err == nil {
		t.Fatal("nothing is dead")
	}
	event := s.firstEvent(t, "--state", "dead")
	for _, name := range []string{event.ID.String(), "k-1"} {
		out, err := s.call(t, "status", name)
		if err != nil {
			t.Fatal(err)
		}
		says(t, out, "event "+event.ID.String(), "source    github", "key       k-1",
			"to default: dead", "rejected", "#1", "422 Unprocessable Entity", "no such colour", "rule")
	}
	out, err := s.call(t, "status")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "destinations", "default: ready", "1 dead", "sources, counted since the start at ", "github", "1 accepted", "\nsince the start at ", "received 1")

	out, err = s.call(t, "redeliver", "--filter", "state=dead,reason=rejected")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "matching deliveries: 1", "dry run; add --yes")
	if got := s.downstream.Stats().Requests; got != 1 {
		t.Errorf("the dry run sent: %d requests", got)
	}
	out, err = s.call(t, "redeliver", "--yes", "--filter", "state=dead,since=1h")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "matching deliveries: 1", "1 are pending again")
	waitFor(t, "the delivery", func() bool { return s.downstream.Stats().Accepted == 1 })
	waitFor(t, "its record", func() bool { return s.firstEvent(t).Deliveries[0].State == webhook.Delivered })
	out, err = s.call(t, "status", "k-1")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "to default: delivered", "2 attempts", "#2", "delivered in")

	out, err = s.call(t, "redeliver", "--filter", "state=dead", "--yes")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "matching deliveries: 0")
	if _, err = s.call(t, "redeliver", event.ID.String(), "default"); ExitStatus(err, io.Discard) != ExitFailure {
		t.Errorf("a delivered one was sent again: %v", err)
	}
}

func TestRedeliverOfOneDelivery(t *testing.T) {
	s := serveFor(t, refusedOnce())
	if _, err := s.call(t, "send", "github"); err == nil {
		t.Fatal("nothing is dead")
	}
	event := s.firstEvent(t)
	out, err := s.call(t, "redeliver", event.ID.String(), "default", "--force")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "is pending again")
	waitFor(t, "the delivery", func() bool { return s.downstream.Stats().Accepted == 1 })
}

func TestStatusTellsWhyADestinationIsHeld(t *testing.T) {
	s := serveFor(t, alwaysAnswers(flaky.Answer{Status: http.StatusUnauthorized, Body: "invalid_api_key"}))
	if _, err := s.call(t, "send", "github"); err != nil {
		t.Fatal(err)
	}
	out, err := s.call(t, "status")
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "default: held", "why     auth: it rejects weir's credentials; it answered 401 Unauthorized: invalid_api_key",
		"since", "next    one request", "Action needed: default rejects weir's credentials. Correct the credentials in WEIR_DESTINATION_DEFAULT_HEADERS", "queue   1 pending (1 auth)", "no success so far")
}

func TestEventsFilterPageAndJSON(t *testing.T) {
	s := serveFor(t, flaky.Script{})
	if _, err := s.call(t, "send", "github", "--id", "n", "--count", "3", "--wait", "0s"); err != nil {
		t.Fatal(err)
	}
	out, err := s.call(t, "events", "--limit", "2")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out, "\n"); lines != 3 {
		t.Errorf("%d lines, want a head and two events:\n%s", lines, out)
	}
	says(t, out, "EVENT", "n-3", "n-2")
	if got := s.firstEvent(t, "--key", "n-1", "--source", "github", "--since", "1h").Key; got != "n-1" {
		t.Errorf("--key gives %s", got)
	}
	if out, err = s.call(t, "events", "--json", "--until", "1h"); err != nil || out != "" {
		t.Errorf("%v, %q", err, out)
	}
}

// lines gives what is written line by line.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		l <- line
	}
	return len(text), nil
}

func TestEventsFollowsInTheOrderOfReceipt(t *testing.T) {
	s := serveFor(t, flaky.Script{})
	if _, err := s.call(t, "send", "github", "--id", "n", "--count", "2"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	shown, w := make(lines, 100), s.env
	w.Stdout = shown
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, w, []string{"events", "--follow", "--json"}) }()
	key := func() string {
		var event client.Event
		if err := json.Unmarshal([]byte(<-shown), &event); err != nil {
			t.Error(err)
		}
		return event.Key
	}
	got := []string{key(), key()}
	if _, err := s.call(t, "send", "github", "--id", "late"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"n-1", "n-2", "late"}, append(got, key())); diff != "" {
		t.Error(diff)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopped: %v", err)
	}
}

func TestPagesAreJoined(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("limit")+" "+r.URL.Query().Get("cursor"))
		limit := 0
		fmt.Sscan(r.URL.Query().Get("limit"), &limit)
		page := client.List[map[string]string]{}
		for i := range limit {
			page.Items = append(page.Items, map[string]string{"key": fmt.Sprint(i)})
		}
		next := fmt.Sprint("c", len(asked))
		page.NextCursor = &next
		_ = json.NewEncoder(w).Encode(page)
	}))
	defer server.Close()
	var out bytes.Buffer
	w := quietEnv(&out)
	w.Environ = []string{"WEIR_URL=" + server.URL, "WEIR_API_TOKEN=" + testToken}
	if err := Run(t.Context(), w, []string{"events", "--limit", "450", "--json"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"200 ", "200 c1", "50 c2"}, asked); diff != "" {
		t.Error(diff)
	}
	if got := strings.Count(out.String(), "\n"); got != 450 {
		t.Errorf("%d events", got)
	}
}

func TestProblemsAreOneLine(t *testing.T) {
	for _, c := range []struct {
		name, body, want string
		status           int
	}{
		{"a problem document", `{"code":"conflict","detail":"Not\nnow.","title":"Conflict"}`, "the service answers 409 conflict: Not now.", 409},
		{"another's page", "<html>\x1b[2J", "the service answers 502", 502},
		{"a wrong token", `{"code":"unauthorized","detail":"No."}`, "the service answers 401 unauthorized: No. (is WEIR_API_TOKEN the token that the service runs with?)", 401},
		{"a redirect", "", "the service answers 302", 302},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://192.0.2.1/")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			w := quietEnv(io.Discard)
			w.Environ = []string{"WEIR_URL=" + server.URL, "WEIR_API_TOKEN=" + testToken}
			err := Run(t.Context(), w, []string{"status"})
			if err == nil || err.Error() != c.want {
				t.Errorf("got %q", err)
			}
		})
	}
}

func TestClientCommandsTellWhatIsWrongWithTheCall(t *testing.T) {
	token := "WEIR_API_TOKEN=" + testToken
	for _, c := range []struct {
		args    []string
		environ string
	}{
		{[]string{"status"}, ""},
		{[]string{"status", "a", "b"}, token},
		{[]string{"events", "x"}, token},
		{[]string{"events", "--limit", "0"}, token},
		{[]string{"events", "--limit", "many"}, token},
		{[]string{"events", "--nosuch"}, token},
		{[]string{"events", "--since", "yesterday"}, token},
		{[]string{"redeliver"}, token},
		{[]string{"redeliver", "--filter", "dead"}, token},
		{[]string{"redeliver", "--filter", "state=dead,state=dead"}, token},
		{[]string{"redeliver", "--filter", "state=dead", "01a22b40-7268-7adc-8c3b-cc94a5f1ecb4"}, token},
		{[]string{"status"}, "WEIR_API_TOKEN=" + testToken + "\nWEIR_URL=nowhere"},
	} {
		var out bytes.Buffer
		w := quietEnv(&out)
		w.Environ = strings.Split(c.environ, "\n")
		if err := Run(t.Context(), w, c.args); ExitStatus(err, io.Discard) != ExitUsage {
			t.Errorf("%q: %v", c.args, err)
		}
		if out.Len() > 0 {
			t.Errorf("%q prints %q, which a program may read as the answer", c.args, &out)
		}
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, name := range []string{"demo", "send", "status", "events", "redeliver"} {
		var byHelp, byFlag bytes.Buffer
		if err := Run(t.Context(), quietEnv(&byHelp), []string{"help", name}); err != nil {
			t.Fatal(err)
		}
		if err := Run(t.Context(), quietEnv(&byFlag), []string{name, "--help"}); err != nil {
			t.Errorf("weir %s --help: %v", name, err)
		}
		if diff := cmp.Diff(byHelp.String(), byFlag.String()); diff != "" || !strings.Contains(byHelp.String(), "Usage: weir "+name) {
			t.Errorf("%s: %s\n%s", name, byHelp.String(), diff)
		}
	}
}
