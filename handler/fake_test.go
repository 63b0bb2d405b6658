package handler

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/signature"
	"weir/webhook"
)

// engine is an intake and a store in memory.
type engine struct {
	mu     sync.Mutex
	events []webhook.EventDetail
	// fail is returned by everything that writes.
	fail error
	// during runs inside Accept, before anything is stored.
	during func(context.Context) error
}

func (e *engine) Accept(ctx context.Context, arrival webhook.Arrival) (webhook.Receipt, error) {
	if e.during != nil {
		if err := e.during(ctx); err != nil {
			return webhook.Receipt{}, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fail != nil {
		return webhook.Receipt{}, e.fail
	}
	event := arrival.Event
	for i, old := range e.events {
		if event.Key == "" || old.Event.Source != event.Source || old.Event.Key != event.Key {
			continue
		}
		if !bytes.Equal(old.Event.Body, event.Body) && arrival.OnConflict == webhook.RejectConflict {
			return webhook.Receipt{ID: old.Event.ID, Result: webhook.ResultKeyConflict}, nil
		}
		e.events[i].Event.Duplicates++
		return webhook.Receipt{ID: old.Event.ID, Result: webhook.ResultDuplicate, Reopened: e.reopen(i)}, nil
	}
	detail := webhook.EventDetail{Event: event}
	for _, to := range arrival.To {
		detail.Deliveries = append(detail.Deliveries, webhook.History{Delivery: webhook.Delivery{
			EventID: event.ID, Source: event.Source, Destination: to, State: webhook.Pending,
			Size: event.Size, NextAttemptAt: event.ReceivedAt, AgeFrom: event.ReceivedAt,
		}})
	}
	e.events = append(e.events, detail)
	return webhook.Receipt{ID: event.ID, Result: webhook.ResultAccepted}, nil
}

// reopen makes the dead deliveries of an event pending again.
func (e *engine) reopen(i int) []string {
	var names []string
	for j := range e.events[i].Deliveries {
		delivery := &e.events[i].Deliveries[j].Delivery
		if delivery.State == webhook.Dead {
			delivery.State, delivery.Reason = webhook.Pending, ""
			names = append(names, delivery.Destination)
		}
	}
	return names
}

func (e *engine) Event(_ context.Context, id webhook.ID) (webhook.EventDetail, error) {
	return e.find(func(event webhook.Event) bool { return event.ID == id })
}

func (e *engine) EventByKey(_ context.Context, source, key string) (webhook.EventDetail, error) {
	return e.find(func(event webhook.Event) bool { return event.Source == source && event.Key == key })
}

func (e *engine) find(is func(webhook.Event) bool) (webhook.EventDetail, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, detail := range e.events {
		if is(detail.Event) {
			return detail, nil
		}
	}
	return webhook.EventDetail{}, webhook.ErrNotFound
}

func (e *engine) Events(_ context.Context, q webhook.EventQuery) (webhook.EventPage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var items []webhook.EventDetail
	for _, detail := range slices.Backward(e.events) {
		if q.Source == "" || q.Source == detail.Event.Source {
			items = append(items, detail)
		}
	}
	cut, next, err := pageFrom(len(items), q.After, q.Limit)
	if err != nil {
		return webhook.EventPage{}, err
	}
	return webhook.EventPage{Items: items[cut[0]:cut[1]], Next: next}, nil
}

func (e *engine) Body(_ context.Context, id webhook.ID) ([]byte, error) {
	detail, err := e.Event(context.Background(), id)
	return detail.Event.Body, err
}

func (e *engine) Deliveries(_ context.Context, q webhook.DeliveryQuery) (webhook.DeliveryPage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var items []webhook.Delivery
	for _, detail := range slices.Backward(e.events) {
		for _, history := range detail.Deliveries {
			if selects(q, history.Delivery) {
				items = append(items, history.Delivery)
			}
		}
	}
	cut, next, err := pageFrom(len(items), q.After, q.Limit)
	if err != nil {
		return webhook.DeliveryPage{}, err
	}
	return webhook.DeliveryPage{Items: items[cut[0]:cut[1]], Next: next}, nil
}

func selects(q webhook.DeliveryQuery, d webhook.Delivery) bool {
	due := !d.NextAttemptAt.After(q.DueAt)
	switch {
	case q.State != "" && q.State != d.State,
		q.Reason != "" && q.Reason != d.Reason,
		q.Source != "" && q.Source != d.Source,
		q.Destination != "" && q.Destination != d.Destination,
		q.Only != nil && !slices.Contains(q.Only, d.EventID),
		slices.Contains(q.Except, d.EventID),
		q.Due == webhook.DueNow && !due,
		q.Due == webhook.DueLater && due:
		return false
	}
	return true
}

// pageFrom cuts a page; its cursors are offsets in unary, after a dot.
func pageFrom(n int, after string, limit int) (cut [2]int, next string, err error) {
	from := 0
	if after != "" {
		from = len(after) - 1
		if after != "."+strings.Repeat("i", from) || from > n {
			return cut, "", webhook.ErrCursor
		}
	}
	to := min(from+limit, n)
	if to < n {
		next = "." + strings.Repeat("i", to)
	}
	return [2]int{from, to}, next, nil
}

func (e *engine) Redeliver(_ context.Context, r webhook.Redelivery) error {
	return e.change(r.EventID, r.Destination, func(d *webhook.Delivery) error {
		if d.State == webhook.Delivered && !r.Force || d.Reason == webhook.DeadTooLarge && !r.Force {
			return webhook.ErrState
		}
		d.State, d.Reason, d.NextAttemptAt, d.Forced = webhook.Pending, "", r.At, r.Force
		return nil
	})
}

func (e *engine) Cancel(_ context.Context, id webhook.ID, destination string, now time.Time) error {
	return e.change(id, destination, func(d *webhook.Delivery) error {
		if d.State != webhook.Pending {
			return webhook.ErrState
		}
		d.State, d.Reason, d.FinishedAt = webhook.Dead, webhook.DeadCancelled, now
		return nil
	})
}

func (e *engine) change(id webhook.ID, destination string, do func(*webhook.Delivery) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fail != nil {
		return e.fail
	}
	for i := range e.events {
		for j := range e.events[i].Deliveries {
			delivery := &e.events[i].Deliveries[j].Delivery
			if delivery.EventID == id && delivery.Destination == destination {
				return do(delivery)
			}
		}
	}
	return webhook.ErrNotFound
}

func (e *engine) Queue(_ context.Context, destination string, now time.Time) (webhook.Queue, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var queue webhook.Queue
	for _, detail := range e.events {
		for _, history := range detail.Deliveries {
			d := history.Delivery
			switch {
			case d.Destination != destination:
			case d.State == webhook.Dead:
				queue.Dead++
			case d.State == webhook.Pending:
				queue.Pending++
				if !d.NextAttemptAt.After(now) {
					queue.Due++
				}
			}
		}
	}
	return queue, nil
}

func (e *engine) LastAccepted(context.Context, []string) (map[string]time.Time, error) {
	return map[string]time.Time{"github": time.UnixMilli(1700000000123)}, nil
}

func (e *engine) stored() []webhook.EventDetail {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.events)
}

// gates are destinations in memory.
type gates struct {
	mu       sync.Mutex
	statuses map[string]webhook.Status
}

func (g *gates) Status(name string, _ time.Time) (webhook.Status, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	status, known := g.statuses[name]
	if !known {
		return status, webhook.ErrNotFound
	}
	return status, nil
}

func (g *gates) Pause(_ context.Context, name string) error {
	return g.set(name, func(s *webhook.Status) {
		s.Destination = s.Destination.WithHold(webhook.Hold{Reason: webhook.HoldPaused})
		s.Gate = webhook.Gate{WaitingFor: webhook.WaitPaused}
	})
}

func (g *gates) Resume(_ context.Context, name string) error {
	return g.set(name, func(s *webhook.Status) {
		s.Destination.Holds = nil
		s.Gate = webhook.Gate{WaitingFor: webhook.WaitDue}
	})
}

func (g *gates) set(name string, do func(*webhook.Status)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	status, known := g.statuses[name]
	if !known {
		return webhook.ErrNotFound
	}
	do(&status)
	g.statuses[name] = status
	return nil
}

// signed accepts bodies whose signature header is "valid". The key is the
// header X-Delivery.
type signed struct{}

func (signed) Verify(request signature.Request, _ time.Time) signature.Verdict {
	signatures := request.Header.Values("X-Signature")
	switch {
	case len(signatures) == 0:
		return signature.Verdict{Result: webhook.ResultBadSignature, Secret: -1, Reason: "no signature header"}
	case len(signatures) > 1:
		return signature.Verdict{Result: webhook.ResultMalformed, Reason: "doubled signature header"}
	case signatures[0] == "old":
		return signature.Verdict{Result: webhook.ResultStale, Reason: "timestamp too old"}
	case signatures[0] == "challenge":
		return signature.Verdict{Result: webhook.ResultChallenge, Challenge: &signature.Challenge{Status: http.StatusOK, Body: []byte("echo")}}
	case signatures[0] == "zipped":
		return signature.Verdict{Result: webhook.ResultUnsupported, Reason: "content encoding"}
	case signatures[0] != "valid":
		return signature.Verdict{Result: webhook.ResultBadSignature, Secret: -1, Reason: "wrong secret or altered body"}
	}
	return signature.Verdict{Result: webhook.ResultAccepted, Key: request.Header.Get("X-Delivery"), KeyFrom: "header:X-Delivery"}
}

func (signed) Handshake(request signature.Request) (signature.Verdict, bool) {
	if origin := request.Header.Get("WebHook-Request-Origin"); origin != "" {
		return signature.Verdict{Result: webhook.ResultChallenge, Challenge: &signature.Challenge{
			Status: http.StatusOK, Header: http.Header{"Webhook-Allowed-Origin": {origin}},
		}}, true
	}
	if strings.Contains(request.Target, "challenge=") {
		return signature.Verdict{Result: webhook.ResultChallenge, Challenge: &signature.Challenge{Status: http.StatusOK, Body: []byte("echo")}}, true
	}
	return signature.Verdict{}, false
}

const token = "operator-token-canary-4711"

// house is a service for tests.
type house struct {
	http.Handler
	t      testing.TB
	engine *engine
	gates  *gates
	config Config
	logs   *lockedBuffer

	mu    sync.Mutex
	woken []string
	seen  []Observation
}

// lockedBuffer is a buffer for several writers.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// newHouse builds a service with the sources github and events (OPTIONS
// handshake) and the destinations app and other; change may be nil.
func newHouse(t testing.TB, change func(*Config)) *house {
	h := &house{t: t, engine: &engine{}, logs: &lockedBuffer{}}
	ready := webhook.Status{
		Policy: webhook.Policy{MaxAttempts: 10, MaxAge: 72 * time.Hour, Concurrency: 4, RetryBudget: webhook.Rate{N: 30, Per: time.Minute}},
		Gate:   webhook.Gate{WaitingFor: webhook.WaitDue},
	}
	h.gates = &gates{statuses: map[string]webhook.Status{"app": ready, "other": ready}}
	source := Source{
		Scheme: "github", Verifier: signed{}, MaxBody: 1000, To: []string{"app"}, OnConflict: webhook.RejectConflict,
		Forward: func(header http.Header) http.Header {
			return http.Header{"Content-Type": header.Values("Content-Type")}
		},
	}
	cloud := source
	cloud.Options = OptionsHandshake
	h.config = Config{
		Sources: map[string]Source{"github": source, "events": cloud},
		Intake:  h.engine, Events: h.engine, Bodies: h.engine, Deliveries: h.engine, Queues: h.engine,
		History: h.engine, Operator: h.engine, Destinations: h.gates,
		Downstreams: []Downstream{{Name: "app", URL: "https://app.example/in"}, {Name: "other"}},
		Tokens:      NewTokens(token, ""),
		Client:      func(context.Context) netip.Addr { return netip.MustParseAddr("192.0.2.7") },
		Ready:       func(context.Context) error { return nil },
		Log:         slog.New(slog.NewJSONHandler(h.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Wake: func(names ...string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.woken = append(h.woken, names...)
		},
		Observe: func(seen Observation) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.seen = append(h.seen, seen)
		},
	}
	if change != nil {
		change(&h.config)
	}
	h.Handler = New(h.config)
	return h
}

// do sends a request; the form is "METHOD path", headers are "Name: value".
func (h *house) do(line, body string, headers ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	method, target, _ := strings.Cut(line, " ")
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Add(name, value)
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer
}

// send posts a signed event with a key.
func (h *house) send(key, body string) *httptest.ResponseRecorder {
	h.t.Helper()
	return h.do("POST /hooks/github", body, "X-Signature: valid", "X-Delivery: "+key)
}

// operator sends a request with the token.
func (h *house) operator(line, body string) *httptest.ResponseRecorder {
	h.t.Helper()
	return h.do(line, body, "Authorization: Bearer "+token)
}

// last returns the newest observation.
func (h *house) last() Observation {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) == 0 {
		return Observation{}
	}
	return h.seen[len(h.seen)-1]
}

// wants fails unless a status is as wanted.
func wants(t testing.TB, answer *httptest.ResponseRecorder, status int) {
	t.Helper()
	if answer.Code != status {
		t.Fatalf("status %d, want %d; body %s", answer.Code, status, cmp.Or(answer.Body.String(), "empty"))
	}
}
