package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/webhook"
)

const testToken = "correct horse battery staple"

// tokens accepts one token.
type tokens string

func (t tokens) Valid(token string) bool { return token == string(t) }

// counter is Failures that counts, and refuses when it is told to.
type counter struct {
	refused int
	over    http.Header
}

func (c *counter) Over(context.Context) http.Header { return c.over }
func (c *counter) Refused(context.Context)          { c.refused++ }

// rooms is everything that the pages read and change, in memory.
type rooms struct {
	mu       sync.Mutex
	details  []webhook.EventDetail
	bodies   map[webhook.ID][]byte
	statuses map[string]webhook.Status
	queues   map[string]webhook.Queue
	// asked is the last query for events.
	asked webhook.EventQuery
	// redelivered, cancelled, paused, resumed and woken are what was done.
	redelivered []webhook.Redelivery
	cancelled   []string
	paused      []string
	resumed     []string
	woken       []string
	// fail is returned by everything.
	fail error
	// refuse is returned by changes of the named destinations.
	refuse map[string]error
}

func (r *rooms) Event(_ context.Context, id webhook.ID) (webhook.EventDetail, error) {
	for _, detail := range r.details {
		if detail.Event.ID == id && r.fail == nil {
			return detail, nil
		}
	}
	return webhook.EventDetail{}, cmp.Or(r.fail, webhook.ErrNotFound)
}

func (r *rooms) Events(_ context.Context, q webhook.EventQuery) (webhook.EventPage, error) {
	r.asked = q
	if q.After != "" && q.After != "second" {
		return webhook.EventPage{}, webhook.ErrCursor
	}
	var page webhook.EventPage
	for _, detail := range r.details {
		if q.Key == "" || q.Key == detail.Event.Key {
			page.Items = append(page.Items, detail)
		}
	}
	if q.After == "" && len(page.Items) > 1 {
		page.Next = "second"
	}
	return page, r.fail
}

func (r *rooms) Body(_ context.Context, id webhook.ID) ([]byte, error) {
	body, found := r.bodies[id]
	if !found {
		return nil, cmp.Or(r.fail, webhook.ErrNotFound)
	}
	return body, r.fail
}

func (r *rooms) Deliveries(_ context.Context, q webhook.DeliveryQuery) (webhook.DeliveryPage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// A cursor is the place of an event; no event has more than 16 deliveries.
	start, _ := strconv.Atoi(q.After)
	var page webhook.DeliveryPage
	for place := start; place < 16*len(r.details); place++ {
		histories := r.details[place/16].Deliveries
		if place%16 >= len(histories) {
			continue
		}
		d := &histories[place%16].Delivery
		if d.State != q.State || q.Reason != "" && q.Reason != d.Reason || q.Destination != "" && q.Destination != d.Destination {
			continue
		}
		if len(page.Items) == q.Limit {
			page.Next = strconv.Itoa(place)
			break
		}
		page.Items = append(page.Items, *d)
	}
	return page, r.fail
}

func (r *rooms) Queue(_ context.Context, name string, _ time.Time) (webhook.Queue, error) {
	return r.queues[name], r.fail
}

func (r *rooms) Status(name string, _ time.Time) (webhook.Status, error) {
	status, found := r.statuses[name]
	if !found {
		return status, webhook.ErrNotFound
	}
	return status, nil
}

func (r *rooms) Pause(_ context.Context, name string) error {
	return r.note(&r.paused, name)
}

func (r *rooms) Resume(_ context.Context, name string) error {
	return r.note(&r.resumed, name)
}

// note writes down what was done to a destination that exists.
func (r *rooms) note(list *[]string, name string) error {
	if _, found := r.statuses[name]; !found {
		return webhook.ErrNotFound
	}
	*list = append(*list, name)
	return r.fail
}

func (r *rooms) Redeliver(_ context.Context, redelivery webhook.Redelivery) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmp.Or(r.fail, r.refuse[redelivery.Destination]); err != nil {
		return err
	}
	r.redelivered = append(r.redelivered, redelivery)
	return nil
}

func (r *rooms) Cancel(_ context.Context, id webhook.ID, name string, _ time.Time) error {
	r.cancelled = append(r.cancelled, id.String()+" "+name)
	return cmp.Or(r.fail, r.refuse[name])
}

// served is a dashboard with its rooms and what it logged.
type served struct {
	*rooms
	*Dashboard
	strangers *counter
	log       *bytes.Buffer
}

// serve makes a dashboard over rooms.
func serve(t testing.TB, r *rooms) *served {
	t.Helper()
	s := &served{rooms: r, strangers: &counter{}, log: &bytes.Buffer{}}
	config := Config{
		Tokens: tokens(testToken), Failures: s.strangers,
		Events: r, Bodies: r, Deliveries: r, Queues: r, Destinations: r, Operator: r,
		Wake:    func(names ...string) { r.woken = append(r.woken, names...) },
		Sources: []string{"github"}, Version: "1.2.3", Log: slog.New(slog.NewTextHandler(s.log, nil)),
		Minutes: func(now time.Time, n int) []webhook.Minute {
			return []webhook.Minute{{At: now.Add(-time.Minute), Received: 7, Duplicates: 2, FirstSends: 4, Retries: 1, Delivered: 3}, {At: now}}[:min(n, 2)]
		},
	}
	for name := range r.statuses {
		config.Downstreams = append(config.Downstreams, Downstream{name, "https://" + name + ".example/hook"})
	}
	slices.SortFunc(config.Downstreams, func(a, b Downstream) int { return cmp.Compare(a.Name, b.Name) })
	var err error
	if s.Dashboard, err = New(config); err != nil {
		t.Fatal(err)
	}
	return s
}

// browser is a client that keeps its cookie and follows nothing.
type browser struct {
	t       testing.TB
	handler http.Handler
	cookie  *http.Cookie
	form    string
}

// login returns a browser that is logged in.
func (s *served) login(t testing.TB) *browser {
	t.Helper()
	b := &browser{t: t, handler: s.Dashboard}
	answer := b.post("/login", url.Values{"token": {testToken}})
	if answer.Code != http.StatusSeeOther {
		t.Fatalf("login: %d", answer.Code)
	}
	b.cookie = answer.Result().Cookies()[0]
	found := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(b.get("/").Body.String())
	if found == nil {
		t.Fatal("the overview has no form of this session")
	}
	b.form = found[1]
	return b
}

// do sends a request with the cookie.
func (b *browser) do(request *http.Request) *httptest.ResponseRecorder {
	if b.cookie != nil {
		request.AddCookie(b.cookie)
	}
	answer := httptest.NewRecorder()
	b.handler.ServeHTTP(answer, request)
	return answer
}

func (b *browser) get(target string) *httptest.ResponseRecorder {
	return b.do(httptest.NewRequest(http.MethodGet, target, nil))
}

// page is get of a page that must be there.
func (b *browser) page(target string) string {
	b.t.Helper()
	answer := b.get(target)
	if answer.Code != http.StatusOK {
		b.t.Fatalf("GET %s: %d\n%s", target, answer.Code, answer.Body)
	}
	return answer.Body.String()
}

func (b *browser) post(target string, values url.Values) *httptest.ResponseRecorder {
	return b.do(form(target, values))
}

// change is post of a form of this session.
func (b *browser) change(target string, pairs ...string) *httptest.ResponseRecorder {
	values := url.Values{"form": {b.form}}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return b.post(target, values)
}

// form makes the request that a browser sends for a form of the same site.
func form(target string, values url.Values) *http.Request {
	request := httptest.NewRequest(http.MethodPost, target, strings.NewReader(values.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return request
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// numbered returns a well-formed id.
func numbered(n byte) webhook.ID { return webhook.ID{1, 0x92, 6: 0x70, 8: 0x80, 15: n} }

// example is a service with three destinations and one event for all of them.
func example() *rooms {
	at := time.Now().Add(-time.Minute).UTC()
	app := webhook.Status{
		Policy: webhook.Policy{Name: "app", Concurrency: 4, MaxAttempts: 10, MaxAge: 72 * time.Hour,
			Rate: []webhook.Rate{{N: 60, Per: time.Minute}}, RetryBudget: webhook.Rate{N: 30, Per: time.Minute}},
		RetriesLeft: 29, RateLeft: []int{12},
		Destination: webhook.Destination{Name: "app", Holds: []webhook.Hold{{
			Reason: webhook.HoldRetryAfter, Since: at, Until: at.Add(2 * time.Minute), From: "Retry-After",
			Status: 429, Rule: "rate_limited", Evidence: webhook.Evidence{Body: "slow down, please"},
		}}},
		Gate: webhook.Gate{WaitingFor: webhook.WaitRetryAfter, Until: at.Add(2 * time.Minute)},
	}
	ready := webhook.Status{Policy: webhook.Policy{Concurrency: 4}, Gate: webhook.Gate{WaitingFor: webhook.WaitDue, Until: at}}
	event := webhook.Event{
		ID: numbered(1), Source: "github", Key: "delivery-1", KeyFrom: "header:X-GitHub-Delivery", ReceivedAt: at,
		Size: 13, Duplicates: 2, LastDuplicateAt: at.Add(time.Second), Header: http.Header{"Content-Type": {"application/json"}},
	}
	pending := webhook.Delivery{EventID: event.ID, Source: "github", Destination: "app", State: webhook.Pending, Attempts: 1, AgeFrom: at, NextAttemptAt: at}
	dead := webhook.Delivery{EventID: event.ID, Source: "github", Destination: "crm", State: webhook.Dead, Reason: webhook.DeadRejected, Attempts: 1, Spent: 1, FinishedAt: at}
	return &rooms{
		statuses: map[string]webhook.Status{"app": app, "crm": ready, "log": ready},
		queues:   map[string]webhook.Queue{"app": {Pending: 1, Due: 1}, "crm": {Dead: 1}},
		bodies:   map[webhook.ID][]byte{event.ID: []byte(`{"action":"x"}`)},
		details: []webhook.EventDetail{{Event: event, Deliveries: []webhook.History{
			{Delivery: pending, Attempts: []webhook.Attempt{{
				Number: 1, At: at, Duration: 20 * time.Millisecond, SentTo: "app", Outcome: webhook.OutcomeRateLimited, Status: 429,
				Hint: webhook.Hint{Wait: 2 * time.Minute, From: "Retry-After"}, Rule: "rate_limited",
				Evidence: webhook.Evidence{Body: "slow down, please"}, Decision: webhook.Pending, NextAttemptAt: at.Add(2 * time.Minute),
			}}},
			{Delivery: dead, Attempts: []webhook.Attempt{{
				Number: 1, At: at, SentTo: "crm", Outcome: webhook.OutcomeRejected, Status: 422, Spent: true,
				Rule: "status_rejected", Evidence: webhook.Evidence{Body: "name is required"}, Decision: webhook.Dead,
			}}},
			{Delivery: webhook.Delivery{EventID: event.ID, Destination: "log", State: webhook.Delivered, Attempts: 1, FinishedAt: at}},
		}}},
	}
}

// wants fails unless a text holds all of the parts.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

// read returns all of a body.
func read(t *testing.T, from io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
