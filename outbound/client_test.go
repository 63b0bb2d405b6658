package outbound_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"weir/outbound"
	"weir/webhook"
)

// job returns a job for one event with a body.
func job(body string) webhook.Job {
	return webhook.Job{
		Event: webhook.Event{
			ID:         webhook.ID{1, 2, 3},
			Source:     "github",
			Key:        "72d3162e",
			Type:       "issues.opened",
			ReceivedAt: time.Date(2026, 11, 30, 3, 27, 11, 123e6, time.UTC),
			Header:     http.Header{"Content-Type": {"application/json"}},
			Body:       []byte(body),
		},
		Number: 3,
	}
}

// client makes a client that gives up after a short time.
func client(t *testing.T, config outbound.Config) *outbound.Client {
	t.Helper()
	if config.Timeout == 0 {
		config.Timeout = 20 * time.Second
	}
	c, err := outbound.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

func TestSendDelivers(t *testing.T) {
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	answer := client(t, outbound.Config{URL: server.URL + "/x?y=1", Version: "1.2.3"}).Send(context.Background(), job(`{"a":1}`))
	if answer.Outcome != webhook.OutcomeDelivered || answer.Status != 202 || answer.Rule != outbound.RuleSuccess {
		t.Fatalf("answer %+v", answer)
	}
	if string(body) != `{"a":1}` || got.ContentLength != 7 || got.Method != "POST" || got.URL.String() != "/x?y=1" {
		t.Errorf("request %s %s with length %d and body %q", got.Method, got.URL, got.ContentLength, body)
	}
	for name, want := range map[string]string{
		"Content-Type":     "application/json",
		"User-Agent":       "weir/1.2.3",
		"Weir-Event-Id":    "01020300-0000-0000-0000-000000000000",
		"Weir-Source":      "github",
		"Weir-Key":         "72d3162e",
		"Weir-Type":        "issues.opened",
		"Weir-Attempt":     "3",
		"Weir-Received-At": "2026-11-30T03:27:11.123Z",
		"Idempotency-Key":  "01020300-0000-0000-0000-000000000000",
		"Accept-Encoding":  "",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
}
