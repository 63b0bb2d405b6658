package e2e

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// answered is what a request to weir came to.
type answered struct {
	status  int
	header  http.Header
	text    string
	receipt struct {
		ID        string
		Duplicate bool
		Reopened  bool
	}
}

// request sends one request and reads the answer; the error is that of a
// connection.
func (s *service) request(method, path string, header http.Header, body []byte) (answered, error) {
	var a answered
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+path, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Header = header
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return a, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	a.status, a.header, a.text = answer.StatusCode, answer.Header, string(text)
	_ = json.Unmarshal(text, &a.receipt)
	return a, err
}

// ask returns the status of a GET without credentials, 0 when nobody answers.
func (s *service) ask(path string) int {
	a, err := s.request(http.MethodGet, path, http.Header{}, nil)
	if err != nil {
		return 0
	}
	return a.status
}

// githubHeader signs a body as GitHub does.
func githubHeader(key string, body []byte) http.Header {
	mac := hmac.New(sha256.New, []byte(blackboxSecret))
	mac.Write(body)
	return http.Header{
		"Content-Type":        {"application/json"},
		"X-Github-Event":      {"push"},
		"X-Github-Delivery":   {key},
		"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))},
	}
}

// post sends a signed webhook once, for a source of the scheme github.
func (s *service) post(source, key, body string) (answered, error) {
	return s.request(http.MethodPost, "/hooks/"+source, githubHeader(key, []byte(body)), []byte(body))
}

// send sends a signed webhook that must be answered 200, and returns the id of
// its event.
func (s *service) send(key, body string) string {
	s.t.Helper()
	return s.sendTo("github", key, body)
}

// sendTo is send for another source than github.
func (s *service) sendTo(source, key, body string) string {
	s.t.Helper()
	a, err := s.post(source, key, body)
	if err != nil || a.status != http.StatusOK {
		s.t.Fatalf("webhook %s: %d %s, %v", key, a.status, a.text, err)
	}
	return a.receipt.ID
}

// sendUntil sends a signed webhook again and again, as a patient sender does,
// until it is answered 2xx, and returns the id of its event.
func (s *service) sendUntil(ctx context.Context, key, body string) (string, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		a, err := s.post("github", key, body)
		if err == nil && a.status/100 == 2 {
			return a.receipt.ID, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("webhook %s: %d %s, %w", key, a.status, a.text, err)
		case <-tick.C:
		}
	}
}

// The parts of the operator API that tests look at.
type (
	shownEvent struct {
		ID         string
		Key        string
		ReceivedAt string `json:"received_at"`
		Duplicates int
		BodyGone   bool `json:"body_gone"`
		ConflictOf *string
		Deliveries []shownDelivery
	}
	shownDelivery struct {
		EventID       string `json:"event_id"`
		Destination   string
		State         string
		WaitingFor    string `json:"waiting_for"`
		Reason        string
		AttemptCount  int `json:"attempt_count"`
		Spent         int
		NextAttemptAt *time.Time `json:"next_attempt_at"`
		Attempts      []shownAttempt
	}
	shownAttempt struct {
		Number        int
		At            time.Time
		Outcome       string
		Status        int
		Spent         bool
		Probe         bool
		Rule          string
		NextAttemptAt *time.Time `json:"next_attempt_at"`
	}
	shownDestination struct {
		Name    string
		State   string
		Hold    *shownHold
		Holds   []shownHold
		Breaker struct {
			State  string
			Until  *time.Time
			Trials int
		}
		RetryBudget struct{ Left int } `json:"retry_budget"`
		Concurrency struct {
			InFlight int `json:"in_flight"`
		}
		Queue struct {
			Pending    int
			Dead       int
			WaitingFor map[string]int `json:"waiting_for"`
		}
	}
	shownHold struct {
		Reason        string
		Since         string
		Until         *time.Time
		From          string
		Probes        int
		NeedsOperator bool `json:"needs_operator"`
	}
)

// operate asks the operator API, and reads its JSON where into is not nil.
func (s *service) operate(method, path string, into any) int {
	s.t.Helper()
	a, err := s.request(method, path, http.Header{"Authorization": {"Bearer " + blackboxToken}}, nil)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	if into != nil && a.status/100 == 2 {
		if err := json.Unmarshal([]byte(a.text), into); err != nil {
			s.t.Fatalf("%s %s: %v\n%s", method, path, err, a.text)
		}
	}
	return a.status
}

// show is operate for what must be there.
func (s *service) show(path string, into any) {
	s.t.Helper()
	if status := s.operate(http.MethodGet, path, into); status != http.StatusOK {
		s.t.Fatalf("GET %s: %d", path, status)
	}
}

// event returns an event with its deliveries and attempts.
func (s *service) event(id string) shownEvent {
	s.t.Helper()
	var event shownEvent
	s.show("/v1/events/"+id, &event)
	return event
}

// delivery returns the only delivery of an event.
func (s *service) delivery(id string) shownDelivery {
	s.t.Helper()
	event := s.event(id)
	if len(event.Deliveries) != 1 {
		s.t.Fatalf("event %s has %d deliveries", id, len(event.Deliveries))
	}
	return event.Deliveries[0]
}

// destination returns the state of a destination.
func (s *service) destination(name string) shownDestination {
	s.t.Helper()
	var destination shownDestination
	s.show("/v1/destinations/"+name, &destination)
	return destination
}

// awaitState waits until the only delivery of an event has a state, and
// returns it.
func (s *service) awaitState(id, state string) shownDelivery {
	s.t.Helper()
	var d shownDelivery
	await(s.t, patience, "delivery of "+id+" is "+state, func() bool {
		d = s.delivery(id)
		return d.State == state
	})
	return d
}

// listAll returns all items of a list, page by page.
func listAll[T any](s *service, path string) []T {
	s.t.Helper()
	var all []T
	for cursor := ""; ; {
		var page struct {
			Items      []T
			NextCursor string `json:"next_cursor"`
		}
		s.show(path+"?limit=200"+cursor, &page)
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all
		}
		cursor = "&cursor=" + page.NextCursor
	}
}

// settingsOf joins settings of one source or destination with its prefix.
func settingsOf(prefix string, settings ...string) []string {
	var all []string
	for _, setting := range settings {
		all = append(all, prefix+strings.TrimSpace(setting))
	}
	return all
}
