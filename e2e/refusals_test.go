package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestWhyAWebhookWasRefusedIsFound: each way in which a sender goes wrong is shown
// with its reason and what to do, by the API and by the command, and nothing secret
// is in it.
func TestWhyAWebhookWasRefusedIsFound(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, append(onlySources("github", "slack"), append(append(inboundSource("github", "github"), inboundSource("slack", "slack")...), "WEIR_SOURCE_GITHUB_MAX_BODY=1KiB")...)...)
	s.settings["WEIR_URL"] = "http://" + s.address
	body := []byte(`{"secret":"in the body"}`)
	try := func(path string, header http.Header, body []byte, want int) {
		t.Helper()
		a, err := s.request(http.MethodPost, path, header, body)
		if err != nil || a.status != want {
			t.Errorf("%s: %d, %v; want %d", path, a.status, err, want)
		}
		if strings.Contains(a.text, "SCHEME") || strings.Contains(a.text, "secret here") {
			t.Errorf("the sender is told %s", a.text)
		}
	}
	slack := s.providers()["slack"]
	long := time.Now().Add(-time.Hour)
	old, err := slack.Sign(slack.Sample("old", long), "old", long)
	if err != nil {
		t.Fatal(err)
	}
	wrong := http.Header{"X-Hub-Signature-256": {"sha256=" + strings.Repeat("ab", 32)}, "X-Github-Delivery": {"k"}}
	for _, c := range []struct {
		path   string
		header http.Header
		body   []byte
		status int
	}{
		{"/hooks/github", wrong, body, 401},
		{"/hooks/github", http.Header{"X-Github-Delivery": {"k"}}, body, 401},
		{"/hooks/slack", old.Header, old.Body, 401},
		{"/hooks/github", wrong, []byte(strings.Repeat("b", 2048)), 413},
		{"/hooks/no-such-source", wrong, body, 404},
	} {
		try(c.path, c.header, c.body, c.status)
	}
	var found struct {
		Items []struct{ Source, Result, Reason, Remedy string }
	}
	s.show("/v1/refusals", &found)
	wanted := [][3]string{ // newest first
		{"unknown", "unknown_source", "WEIR_SOURCES"},
		{"github", "too_large", "MAX_BODY"},
		{"slack", "stale", "clock"},
		{"github", "bad_signature", "is not signed"},
		{"github", "bad_signature", "not the one on the sender's page"},
	}
	if len(found.Items) != len(wanted) {
		t.Fatalf("%+v", found.Items)
	}
	for i, want := range wanted {
		got := found.Items[i]
		if got.Source != want[0] || got.Result != want[1] || !strings.Contains(got.Remedy, want[2]) || got.Reason == "" {
			t.Errorf("refusal %d: %+v, want %v", i, got, want)
		}
	}
	status, out := s.call("refusals", "--source", "github")
	if status != 0 || strings.Count(out, ", request ") != 3 || strings.Contains(out, "in the body") || strings.Contains(out, "abab") {
		t.Errorf("weir refusals: %d\n%s", status, out)
	}
	if status, out := s.call("refusals", "--json", "--result", "too_large"); status != 0 || !json.Valid([]byte(out)) {
		t.Errorf("weir refusals --json: %d\n%s", status, out)
	}
	if status, _ := s.call("refusals", "--source", "nope"); status == 0 {
		t.Error("a source that is not there has refusals")
	}
}
