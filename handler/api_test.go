package handler

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

// seed stores events with the keys k1 … kn and returns their ids.
func seed(t *testing.T, h *house, n int) []string {
	t.Helper()
	for i := range n {
		wants(t, h.send(fmt.Sprintf("k%d", i+1), fmt.Sprintf("body %d", i+1)), http.StatusOK)
	}
	var ids []string
	for _, detail := range h.engine.stored() {
		ids = append(ids, detail.Event.ID.String())
	}
	return ids
}

// delivery returns the first delivery of the event with an index.
func (e *engine) delivery(i int) *webhook.Delivery { return &e.events[i].Deliveries[0].Delivery }

func TestEventIsShownAsDocumented(t *testing.T) {
	at := time.Date(2026, 11, 30, 3, 27, 11, 123e6, time.UTC)
	limit, used, requested := int64(100000), int64(99299), int64(1139)
	h := newHouse(t, nil)
	id, _ := webhook.ParseID("01939999-0000-7000-8000-000000000001")
	h.engine.events = []webhook.EventDetail{{
		Event: webhook.Event{
			ID: id, Source: "github", Key: "72d3162e", KeyFrom: "header:X-GitHub-Delivery", Type: "issues.opened", ReceivedAt: at,
			Header: http.Header{"Content-Type": {"application/json"}}, Size: 1234, Duplicates: 2, LastDuplicateAt: at.Add(time.Minute),
		},
		Deliveries: []webhook.History{{
			Delivery: webhook.Delivery{EventID: id, Destination: "app", State: webhook.Pending, Attempts: 1, Spent: 1, NextAttemptAt: at.Add(30 * time.Second), AgeFrom: at},
			Attempts: []webhook.Attempt{{
				Number: 1, At: at, Duration: 132 * time.Millisecond, SentTo: "app", Outcome: webhook.OutcomeRateLimited, Status: 429,
				Hint: webhook.Hint{Wait: 30 * time.Second, From: "Retry-After"}, Rule: "status 429",
				Evidence: webhook.Evidence{Limit: &limit, Used: &used, Requested: &requested, Window: "day", Body: "<slow>"},
				Decision: webhook.Pending, NextAttemptAt: at.Add(30 * time.Second),
			}},
		}},
	}}
	status := h.gates.statuses["app"]
	status.Gate = webhook.Gate{WaitingFor: webhook.WaitRetryAfter, Until: at.Add(40 * time.Second)}
	h.gates.statuses["app"] = status
	want := `{"id":"01939999-0000-7000-8000-000000000001","source":"github","key":"72d3162e","key_from":"header:X-GitHub-Delivery","type":"issues.opened","received_at":"2026-11-30T03:27:11.123Z",` +
		`"size":1234,"sha256":"0000000000000000000000000000000000000000000000000000000000000000","content_type":"application/json","duplicates":2,"last_duplicate_at":"2026-11-30T03:28:11.123Z","conflict_of":null,"body_gone":false,` +
		`"deliveries":[{"destination":"app","state":"pending","waiting_for":"retry_after","reason":null,"detail":null,"attempt_count":1,"spent":1,"max_attempts":10,` +
		`"next_attempt_at":"2026-11-30T03:27:51.123Z","expires_at":"2026-12-03T03:27:11.123Z","delivered_at":null,"finished_at":null,` +
		`"attempts":[{"number":1,"at":"2026-11-30T03:27:11.123Z","duration_ms":132,"sent_to":"app","outcome":"rate_limited","status":429,"spent":false,"probe":false,"presumed":false,"renewed":false,"witness_for":null,` +
		`"wait_ms":30000,"wait_from":"Retry-After","rule":"status 429","evidence":{"limit":100000,"used":99299,"requested":1139,"window":"day","body":"<slow>","headers":{}},` +
		`"decision":"pending","next_attempt_at":"2026-11-30T03:27:41.123Z"}]}]}` + "\n"
	for _, path := range []string{"/v1/events/" + id.String(), "/v1/sources/github/events/72d3162e"} {
		answer := h.operator("GET "+path, "")
		wants(t, answer, http.StatusOK)
		if diff := cmp.Diff(want, answer.Body.String()); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		if answer.Header().Get("Cache-Control") != "no-store" || answer.Header().Get("Content-Type") != "application/json" {
			t.Errorf("header %v", answer.Header())
		}
	}
}

func TestKeysMayHaveAnyCharacters(t *testing.T) {
	h := newHouse(t, nil)
	for key, path := range map[string]string{
		"a/b":      "a/b",
		"a/c":      "a%2Fc",
		"a b":      "a%20b",
		"100%":     "100%25",
		"a?b#c":    "a%3Fb%23c",
		"a%2Fb":    "a%252Fb",
		"über":     "%C3%BCber",
		"x/../y":   "x%2F..%2Fy",
		"a+b=c&d;": "a+b=c&d;",
	} {
		wants(t, h.send(key, key), http.StatusOK)
		answer := h.operator("GET http://weir.test/v1/sources/github/events/"+path, "")
		wants(t, answer, http.StatusOK)
		if got := decode[map[string]any](t, answer.Body.Bytes()); got["key"] != key {
			t.Errorf("%s found %q", path, got["key"])
		}
	}
	wants(t, h.operator("GET /v1/sources/github/events/nothing", ""), http.StatusNotFound)
	wants(t, h.operator("GET /v1/sources/github/events/", ""), http.StatusNotFound)
}

func TestBodyIsAnAttachment(t *testing.T) {
	h := newHouse(t, nil)
	id := seed(t, h, 1)[0]
	answer := h.operator("GET /v1/events/"+id+"/body", "")
	wants(t, answer, http.StatusOK)
	header := answer.Header()
	if answer.Body.String() != "body 1" || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment;") ||
		header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Content-Type") != "application/octet-stream" ||
		!strings.Contains(header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%q with %v", answer.Body, header)
	}
	h.engine.events[0].Event.BodyGone = true
	wants(t, h.operator("GET /v1/events/"+id+"/body", ""), http.StatusGone)
	wants(t, h.operator("GET /v1/events/01939999-0000-7000-8000-000000000009/body", ""), http.StatusNotFound)
}

type listed struct {
	Items []struct {
		ID            string  `json:"id"`
		EventID       string  `json:"event_id"`
		State         string  `json:"state"`
		WaitingFor    string  `json:"waiting_for"`
		Destination   string  `json:"destination"`
		NextAttemptAt *string `json:"next_attempt_at"`
	} `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

// walkList reads a list to its end.
func walkList(t *testing.T, h *house, path string) []string {
	t.Helper()
	var ids []string
	cursor := ""
	for range 100 {
		answer := h.operator("GET "+path+cursor, "")
		wants(t, answer, http.StatusOK)
		page := decode[listed](t, answer.Body.Bytes())
		for _, item := range page.Items {
			ids = append(ids, item.ID+item.EventID)
		}
		if page.NextCursor == nil {
			return ids
		}
		cursor = "&cursor=" + *page.NextCursor
	}
	t.Fatal("the list has no end")
	return nil
}

func TestListsArePaged(t *testing.T) {
	h := newHouse(t, nil)
	ids := seed(t, h, 7)
	var newestFirst []string
	for i := range ids {
		newestFirst = append(newestFirst, ids[len(ids)-1-i])
	}
	for _, path := range []string{"/v1/events?limit=3", "/v1/deliveries?limit=3", "/v1/events?limit=100000", "/v1/deliveries?waiting_for=due&limit=2"} {
		if diff := cmp.Diff(newestFirst, walkList(t, h, path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if got := walkList(t, h, "/v1/events?source=events"); len(got) != 0 {
		t.Errorf("another source has %v", got)
	}
}

func TestAMistakeInAFilterIsToldOfTheFilter(t *testing.T) {
	answer := newHouse(t, nil).operator("POST /v1/redeliver", `{"filter":{"state":"deed"}}`)
	if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), "In the filter, state must be one of") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

func TestQueriesThatMakeNoSenseAreRefused(t *testing.T) {
	const numbered = "01930000-0000-7000-8000-000000000001"
	h := newHouse(t, nil)
	for _, path := range []string{
		"/v1/events?limit=0", "/v1/events?limit=-1", "/v1/events?limit=x", "/v1/events?limit=99999999999999999999",
		"/v1/events?cursor=garbage", "/v1/events?state=lost", "/v1/events?since=yesterday", "/v1/events?until=1700000000",
		"/v1/events?stat=dead", "/v1/events?source=a&source=b", "/v1/events?source=%ff", "/v1/events?key=%00",
		"/v1/events?a=%zz", "/v1/events?key=" + strings.Repeat("k", 2000),
		"/v1/deliveries?waiting_for=nothing", "/v1/deliveries?reason=x", "/v1/deliveries?state=dead&waiting_for=due",
		"/v1/deliveries?state=pending&reason=expired", "/v1/deliveries?waiting_for=due&cursor=x",
		"/v1/deliveries?waiting_for=due&cursor=d1.bm9ib2R5.", "/v1/deliveries?cursor=zz",
		"/v1/stats?minutes=0", "/v1/stats?minutes=1h", "/v1/destinations?x=1", "/v1/sources?x=1",
		"/v1/destinations/app?x=1", "/v1/events/" + numbered + "?x=1", "/v1/events/" + numbered + "/body?x=1", "/v1/sources/github/events/k?x=1",
	} {
		answer := h.operator("GET "+path, "")
		if answer.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d", path, answer.Code)
			continue
		}
		checkProblem(t, answer.Header(), answer.Body.Bytes(), problem{Status: 400, Code: CodeBadRequest})
	}
}

func TestWhatADeliveryWaitsForSelectsIt(t *testing.T) {
	h := newHouse(t, nil)
	ids := seed(t, h, 4)
	h.engine.delivery(0).NextAttemptAt = time.Now().Add(time.Hour)
	h.engine.delivery(1).State = webhook.Dead
	inFlight, _ := webhook.ParseID(ids[2])
	status := h.gates.statuses["app"]
	status.InFlight = []webhook.ID{inFlight}
	h.gates.statuses["app"] = status
	check := func(waitingFor string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, walkList(t, h, "/v1/deliveries?waiting_for="+waitingFor)); diff != "" {
			t.Errorf("%s: %s", waitingFor, diff)
		}
	}
	check("backoff", ids[0])
	check("in_flight", ids[2])
	check("due", ids[3])
	check("quota")
	status.Gate = webhook.Gate{WaitingFor: webhook.WaitQuota}
	h.gates.statuses["app"] = status
	check("quota", ids[3], ids[0])
	check("in_flight", ids[2])
	check("due")
	check("backoff")
	answer := h.operator("GET /v1/deliveries?waiting_for=quota&destination=app&source=github", "")
	for _, item := range decode[listed](t, answer.Body.Bytes()).Items {
		if item.WaitingFor != "quota" || item.NextAttemptAt != nil {
			t.Errorf("shown as %+v", item)
		}
	}
}

func TestRedeliverAndCancel(t *testing.T) {
	h := newHouse(t, nil)
	ids := seed(t, h, 1)
	path := "POST /v1/events/" + ids[0] + "/deliveries/app/"
	wants(t, h.operator(path+"cancel", ""), http.StatusAccepted)
	if got := h.engine.delivery(0); got.State != webhook.Dead || got.Reason != webhook.DeadCancelled {
		t.Fatalf("delivery %+v", got)
	}
	wants(t, h.operator(path+"cancel", "{}"), http.StatusConflict)
	h.woken = nil
	wants(t, h.operator(path+"redeliver", `{"force":false}`), http.StatusAccepted)
	if got := h.engine.delivery(0); got.State != webhook.Pending || got.NextAttemptAt.IsZero() {
		t.Fatalf("delivery %+v", got)
	}
	if diff := cmp.Diff([]string{"app"}, h.woken); diff != "" {
		t.Error(diff)
	}
	h.engine.delivery(0).State = webhook.Delivered
	answer := h.operator(path+"redeliver", "")
	wants(t, answer, http.StatusConflict)
	checkProblem(t, answer.Header(), answer.Body.Bytes(), problem{Status: 409, Code: CodeConflict})
	wants(t, h.operator(path+"redeliver", `{"force":true}`), http.StatusAccepted)
	for body, status := range map[string]int{
		`{"forc":true}`: 400, `{"force":1}`: 400, `[]`: 400, `{} {}`: 400, `{`: 400,
		`{"force":` + strings.Repeat(" ", 70000) + `true}`: 413,
	} {
		wants(t, h.operator(path+"redeliver", body), status)
	}
	wants(t, h.operator("POST /v1/events/"+ids[0]+"/deliveries/nowhere/redeliver", ""), http.StatusNotFound)
	wants(t, h.operator("POST /v1/events/not-an-id/deliveries/app/redeliver", ""), http.StatusNotFound)
}

func TestBulkRedelivery(t *testing.T) {
	h := newHouse(t, nil)
	seed(t, h, 500)
	for i := range 450 {
		h.engine.delivery(i).State = webhook.Dead
		h.engine.delivery(i).Reason = webhook.DeadExpired
	}
	h.engine.delivery(7).Reason = webhook.DeadTooLarge
	count := h.operator("POST /v1/redeliver", `{"filter":{"state":"dead"},"dry_run":true}`)
	wants(t, count, http.StatusOK)
	if got := decode[bulkResult](t, count.Body.Bytes()); got.Matched != 450 || got.Redelivered != 0 || got.Skipped != 1 || !got.DryRun {
		t.Errorf("counted %+v", got)
	}
	if h.engine.delivery(0).State != webhook.Dead {
		t.Fatal("a dry run has changed something")
	}
	some := h.operator("POST /v1/redeliver", `{"filter":{"reason":"too_large"},"force":true}`)
	wants(t, some, http.StatusAccepted)
	if got := decode[bulkResult](t, some.Body.Bytes()); got.Matched != 1 || got.Redelivered != 1 {
		t.Errorf("forced %+v", got)
	}
	for _, body := range []string{``, `{}`, `{"dry_run":true}`, `{"filter":{"stat":"dead"}}`, `{"filter":{"state":"lost"}}`, `{"filter":{"limit":"1"}}`, `{"filter":null}`} {
		wants(t, h.operator("POST /v1/redeliver", body), http.StatusBadRequest)
	}
}

// TestBulkRedeliveryIsPaced: the first attempts are spread.
func TestBulkRedeliveryIsPaced(t *testing.T) {
	h := newHouse(t, nil)
	seed(t, h, 50)
	for i := range 50 {
		h.engine.delivery(i).State = webhook.Dead
	}
	answer := h.operator("POST /v1/redeliver", `{"filter":{}}`)
	wants(t, answer, http.StatusAccepted)
	if got := decode[bulkResult](t, answer.Body.Bytes()); got.Matched != 50 || got.Redelivered != 50 {
		t.Errorf("redelivered %+v", got)
	}
	newest, oldest := h.engine.delivery(49).NextAttemptAt, h.engine.delivery(0).NextAttemptAt
	if spread := oldest.Sub(newest); spread != 49*bulkSpacing {
		t.Errorf("spread over %s", spread)
	}
}

// TestALargeBulkRedeliveryIsBoundedAndPacedOverItsPages: what is over the bound
// waits for the next request, and no page begins its first attempts anew.
func TestALargeBulkRedeliveryIsBoundedAndPacedOverItsPages(t *testing.T) {
	h := newHouse(t, nil)
	const all = bulkMost + webhook.MaxPage/2
	seed(t, h, all)
	// They stay pending, so that the fake's pages do not shift.
	answer := h.operator("POST /v1/redeliver", `{"filter":{"state":"pending"}}`)
	wants(t, answer, http.StatusAccepted)
	if got := decode[bulkResult](t, answer.Body.Bytes()); got.Matched != bulkMost || got.Redelivered != bulkMost || !got.More {
		t.Errorf("redelivered %+v", got)
	}
	first, last := h.engine.delivery(all-1).NextAttemptAt, h.engine.delivery(all-bulkMost).NextAttemptAt
	if spread := last.Sub(first); spread != (bulkMost-1)*bulkSpacing {
		t.Errorf("spread over %s, want %s", spread, (bulkMost-1)*bulkSpacing)
	}
	if got := h.engine.delivery(0).NextAttemptAt; !got.Before(first) {
		t.Errorf("what is over the bound is due at %s", got)
	}
}

func TestDestinationsAreShownAndChanged(t *testing.T) {
	h := newHouse(t, nil)
	seed(t, h, 3)
	at := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	status := h.gates.statuses["app"]
	status.Policy.Rate = []webhook.Rate{{N: 60, Per: time.Minute}, {N: 5000, Per: 24 * time.Hour}}
	status.RateLeft, status.RetriesLeft = []int{59, 4000}, 30
	status.Destination.Sizes = webhook.Sizes{LargestAccepted: 5, SmallestRefused: 9}
	status.Destination.LastSuccess = at
	status.Destination = status.Destination.WithHold(webhook.Hold{
		Reason: webhook.HoldQuota, Since: at, Until: at.Add(time.Hour), From: "own wait", Probes: 2, Status: 429, Rule: "r",
		Evidence: webhook.Evidence{Body: "used up"},
	})
	status.Gate = webhook.Gate{WaitingFor: webhook.WaitQuota, Until: at.Add(time.Hour)}
	h.gates.statuses["app"] = status
	answer := h.operator("GET /v1/destinations/app", "")
	wants(t, answer, http.StatusOK)
	got := decode[map[string]any](t, answer.Body.Bytes())
	hold := got["hold"].(map[string]any)
	if got["state"] != "held" || got["waiting_for"] != "quota" || hold["reason"] != "quota" || hold["probes"] != 2.0 ||
		hold["until"] != "2026-11-30T04:00:00.000Z" || got["last_success_at"] != "2026-11-30T03:00:00.000Z" {
		t.Errorf("shown as %s", answer.Body)
	}
	if diff := cmp.Diff(map[string]any{"pending": 3.0, "dead": 0.0, "waiting_for": map[string]any{"quota": 3.0}}, got["queue"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{
		map[string]any{"limit": 60.0, "window_ms": 60000.0, "left": 59.0},
		map[string]any{"limit": 5000.0, "window_ms": 86400000.0, "left": 4000.0},
	}, got["rate"]); diff != "" {
		t.Error(diff)
	}
	if state := stateAfter(t, h, "resume"); state != "ready" {
		t.Errorf("resumed to %s", state)
	}
	if state := stateAfter(t, h, "pause"); state != "paused" {
		t.Errorf("paused to %s", state)
	}
	for _, line := range []string{"GET /v1/destinations/nowhere", "POST /v1/destinations/nowhere/pause", "POST /v1/destinations/nowhere/resume"} {
		wants(t, h.operator(line, ""), http.StatusNotFound)
	}
	list := h.operator("GET /v1/destinations", "")
	wants(t, list, http.StatusOK)
	if got := decode[struct{ Items []json.RawMessage }](t, list.Body.Bytes()); len(got.Items) != 2 {
		t.Errorf("%d destinations", len(got.Items))
	}
}

func stateAfter(t *testing.T, h *house, change string) string {
	t.Helper()
	answer := h.operator("POST /v1/destinations/app/"+change, "")
	wants(t, answer, http.StatusOK)
	return decode[struct{ State string }](t, answer.Body.Bytes()).State
}

func TestSourcesAreShown(t *testing.T) {
	h := newHouse(t, nil)
	seed(t, h, 2)
	h.send("k1", "body 1")
	h.do("POST /hooks/github", "x")
	h.do("POST /hooks/nobody", "x")
	answer := h.operator("GET /v1/sources", "")
	wants(t, answer, http.StatusOK)
	found := decode[struct{ Items []map[string]any }](t, answer.Body.Bytes()).Items
	if len(found) != 3 || found[0]["name"] != "events" || found[1]["name"] != "github" || found[2]["name"] != "unknown" {
		t.Fatalf("sources %s", answer.Body)
	}
	results := found[1]["results"].(map[string]any)
	if results["accepted"] != 2.0 || results["duplicate"] != 1.0 || results["bad_signature"] != 1.0 || len(results) != len(webhook.Results()) {
		t.Errorf("results %v", results)
	}
	if found[1]["secret"] != "current" || found[1]["last_accepted_at"] == nil || found[0]["last_accepted_at"] != nil {
		t.Errorf("github %v, events %v", found[1], found[0])
	}
}

func TestStoreFaultsAreNotExplainedToTheClient(t *testing.T) {
	h := newHouse(t, nil)
	ids := seed(t, h, 1)
	for _, test := range []struct {
		err    error
		status int
	}{{webhook.ErrUnavailable, 503}, {errors.New("secret inside"), 500}} {
		h.engine.fail = test.err
		answer := h.operator("POST /v1/events/"+ids[0]+"/deliveries/app/cancel", "")
		wants(t, answer, test.status)
		if strings.Contains(answer.Body.String(), "secret inside") {
			t.Error("an inner text was shown")
		}
	}
	if !strings.Contains(h.logs.String(), "secret inside") {
		t.Error("the log does not tell what went wrong")
	}
}
