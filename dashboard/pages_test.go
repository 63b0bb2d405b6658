package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/webhook"
)

func TestOverviewSaysFirstWhatIsWrong(t *testing.T) {
	html := serve(t, example()).login(t).page("/")
	wants(t, html,
		"weir waits as it was asked to, and will go on by itself: 1 delivery is waiting.",
		"app: it asked us to back off", "1 delivery to crm is dead.",
		`href="/destinations#app"`, "data-relative", "<dd>7</dd>", "<dt>received</dt>",
	)
	if strings.Index(html, "<h1>") > strings.Index(html, `id="traffic"`) {
		t.Error("the verdict does not come first")
	}
}

func TestAHoldWithNothingQueuedPromisesNoTry(t *testing.T) {
	r, past := example(), time.Now().Add(-time.Minute)
	for name, hold := range map[string]webhook.Hold{
		"asked to wait":  {Reason: webhook.HoldRetryAfter, Since: past, Until: past},
		"needs a person": {Reason: webhook.HoldAuth, Since: past, Until: past, NeedsOperator: true},
	} {
		r.statuses["app"], r.queues["app"] = held(hold), webhook.Queue{}
		b := serve(t, r).login(t)
		overview, destinations := b.page("/"), b.page("/destinations")
		wants(t, overview, "The next delivery tests it.", "with the next delivery")
		wants(t, destinations, "The next delivery tests it.", "Its time has passed: the next delivery tests it.")
		if text := overview + destinations; strings.Contains(text, "on by itself") || strings.Contains(text, "try may go") || strings.Contains(text, "Next try") {
			t.Errorf("%s: a try is promised", name)
		}
		r.queues["app"] = webhook.Queue{Pending: 1, Due: 1}
		wants(t, b.page("/"), "The next try may go")
	}
}

func TestTheOverviewNamesTheTimeThatItsFiguresAreOf(t *testing.T) {
	for want, since := range map[string]time.Time{
		"Since the start <time": time.Now().Add(-12 * time.Minute),
		"The last hour":         time.Now().Add(-2 * time.Hour),
	} {
		s := serve(t, example())
		s.config.Since = since
		wants(t, s.login(t).page("/"), want)
	}
}

// TestTheFieldsForTimesSayWhichZoneTheyAreIn: UTC, until the script has turned
// them, like every shown time, into the reader's.
func TestTheFieldsForTimesSayWhichZoneTheyAreIn(t *testing.T) {
	html := serve(t, example()).login(t).page("/events?since=2026-11-30T03:27")
	wants(t, html, `<span>From (<span data-zone>UTC</span>)</span> <input type="datetime-local" step="any" data-utc name="since" value="2026-11-30T03:27">`,
		`<span>Before (<span data-zone>UTC</span>)</span> <input type="datetime-local" step="any" data-utc name="until" value="">`, `<span id="zone">`)
}

// at returns a view of a destination as of noon.
func at(status webhook.Status, queue webhook.Queue) destinationView {
	v := newVisit(nil, session{}, noon)
	return v.destination(Downstream{Name: "app"}, status, queue)
}

// held is a status with one hold.
func held(hold webhook.Hold) webhook.Status {
	return webhook.Status{
		Destination: webhook.Destination{Holds: []webhook.Hold{hold}},
		Gate:        webhook.Gate{WaitingFor: webhook.WaitingFor(hold.Reason), Until: hold.Until},
	}
}

func TestVerdictNamesTheWorstFirst(t *testing.T) {
	open := webhook.Status{Gate: webhook.Gate{WaitingFor: webhook.WaitDue, Until: noon}}
	auth := held(webhook.Hold{Reason: webhook.HoldAuth, Until: noon.Add(15 * time.Minute), NeedsOperator: true})
	paused := held(webhook.Hold{Reason: webhook.HoldPaused, NeedsOperator: true})
	asked := held(webhook.Hold{Reason: webhook.HoldRetryAfter, Until: noon.Add(time.Minute)})
	breaker := webhook.Status{
		Destination: webhook.Destination{Breaker: webhook.Breaker{OpenSince: noon, Until: noon.Add(time.Minute)}},
		Gate:        webhook.Gate{WaitingFor: webhook.WaitBreaker, Until: noon.Add(time.Minute)},
	}
	for _, c := range []struct {
		name  string
		views []destinationView
		stuck []string
		tone  tone
		short string
		first string
	}{
		{"nothing at all", nil, nil, toneGood, "All is well", ""},
		{"open and empty", []destinationView{at(open, webhook.Queue{})}, nil, toneGood, "All is well", ""},
		{"on the way", []destinationView{at(open, webhook.Queue{Pending: 3, Due: 3, OldestDue: noon.Add(-time.Second)})}, nil, toneGood, "All is well", ""},
		{"dead only", []destinationView{at(open, webhook.Queue{Dead: 2})}, nil, toneCalm, "Flowing, with dead letters", "2 deliveries to app are dead."},
		{"asked to wait", []destinationView{at(asked, webhook.Queue{Pending: 2, Dead: 1})}, nil, toneWait, "Waiting", "app: it asked us to back off; 2 deliveries are waiting."},
		{"breaker", []destinationView{at(breaker, webhook.Queue{Pending: 1})}, nil, toneWait, "Waiting", "app: too many requests to it failed; 1 delivery is waiting."},
		{"paused", []destinationView{at(paused, webhook.Queue{})}, nil, toneWait, "Paused", "app is paused by an operator; 0 deliveries are waiting."},
		{"needs a person", []destinationView{at(asked, webhook.Queue{}), at(auth, webhook.Queue{})}, nil, toneBad, "Something needs you", "app: it rejects weir's credentials, and waiting alone will not help."},
		{"late", []destinationView{at(open, webhook.Queue{Pending: 1, Due: 1, OldestDue: noon.Add(-11 * time.Minute)})}, nil, toneBad, "Something needs you", "app is not held, but its oldest delivery has been due for 11 min."},
		{"stuck", []destinationView{at(asked, webhook.Queue{})}, []string{"crm"}, toneBad, "Something needs you", "crm: its delivery loop is stuck."},
	} {
		got := judge(c.views, c.stuck, 10*time.Minute)
		if got.Tone != c.tone || got.Short != c.short || got.Sentence == "" {
			t.Errorf("%s: %s, %q, %q", c.name, got.Tone, got.Short, got.Sentence)
		}
		if c.first == "" && len(got.Points) > 0 || c.first != "" && (len(got.Points) == 0 || !strings.HasPrefix(got.Points[0].Text, c.first)) {
			t.Errorf("%s: %+v, want %q first", c.name, got.Points, c.first)
		}
	}
}

func TestEventTellsItsStory(t *testing.T) {
	html := serve(t, example()).login(t).page("/events/" + numbered(1).String())
	wants(t, html,
		"delivery-1", "header:X-GitHub-Delivery", "2 recognised", "none was sent on again",
		"Attempt 1: Rate limited (429)", "slow down, please", "took 20 ms",
		"Nothing was spent. The answer asked for a wait of 2 min (Retry-After)", "Waits for <code>",
		"Attempt 1: Payload rejected (422)", "name is required", "That ended the delivery: it is dead.",
		"the destination rejected this payload", "<b>Delivered</b>",
		"deliveries/crm/redeliver", "deliveries/app/cancel", "&#34;action&#34;: &#34;x&#34;",
	)
	for _, wrong := range []string{"deliveries/app/redeliver", "deliveries/log/redeliver", "deliveries/crm/cancel", "deliveries/log/cancel"} {
		if strings.Contains(html, wrong) {
			t.Errorf("there is a button for %s", wrong)
		}
	}
}

func TestWhatFollowedAnAttemptIsExplained(t *testing.T) {
	for _, c := range []struct {
		attempt webhook.Attempt
		want    string
	}{
		{webhook.Attempt{Decision: webhook.Delivered}, "That ended the delivery: it is delivered."},
		{webhook.Attempt{Decision: webhook.Dead, Spent: true}, "That ended the delivery: it is dead."},
		{webhook.Attempt{Decision: webhook.Pending, Spent: true, NextAttemptAt: noon}, "One attempt was spent. The answer named no time, so weir chose its own wait."},
		{webhook.Attempt{Decision: webhook.Pending}, "Nothing was spent. No time was set for the next attempt: a person or a changed configuration must release it."},
		{
			webhook.Attempt{Decision: webhook.Pending, At: noon, NextAttemptAt: noon.Add(31 * time.Second), Hint: webhook.Hint{Wait: 30 * time.Second, From: "Retry-After"}},
			"Nothing was spent. The answer asked for a wait of 30 s (Retry-After), and it is obeyed.",
		},
		{
			webhook.Attempt{Decision: webhook.Pending, At: noon, NextAttemptAt: noon, Hint: webhook.Hint{Wait: 30 * time.Second, From: "Retry-After"}},
			"Nothing was spent. The answer asked for a wait of 30 s (Retry-After): the destination is held for it.",
		},
		{
			webhook.Attempt{Decision: webhook.Pending, At: noon, NextAttemptAt: noon.Add(time.Second), Hint: webhook.Hint{From: "Retry-After"}},
			"Nothing was spent. The answer asked for a wait of no time at all (Retry-After), and it is obeyed.",
		},
	} {
		if got := then(c.attempt); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestDeliveryIsRedeliveredAndCancelled(t *testing.T) {
	s := serve(t, example())
	b := s.login(t)
	id := numbered(1).String()
	answer := b.change("/events/" + id + "/deliveries/crm/redeliver")
	if to := answer.Header().Get("Location"); answer.Code != http.StatusSeeOther || to != "/events/"+id+"?done=redelivered" {
		t.Errorf("%d to %q", answer.Code, to)
	}
	if len(s.redelivered) != 1 || s.redelivered[0].EventID != numbered(1) || s.redelivered[0].Destination != "crm" || s.redelivered[0].Force || s.redelivered[0].At.IsZero() {
		t.Errorf("%+v", s.redelivered)
	}
	if len(s.woken) != 1 || s.woken[0] != "crm" {
		t.Errorf("woken: %v", s.woken)
	}
	b.change("/events/"+id+"/deliveries/crm/redeliver", "force", "yes")
	if len(s.redelivered) != 2 || !s.redelivered[1].Force {
		t.Errorf("%+v", s.redelivered)
	}
	b.change("/events/" + id + "/deliveries/app/cancel")
	if len(s.cancelled) != 1 || s.cancelled[0] != id+" app" {
		t.Errorf("%v", s.cancelled)
	}
	wants(t, b.page("/events/"+id+"?done=redelivered"), `role="status"`, "Redelivery is on its way")
	for target, want := range map[string]int{
		"/events/nonsense/deliveries/crm/redeliver":    http.StatusNotFound,
		"/events/" + id + "/deliveries/crm/delete":     http.StatusNotFound,
		"/events/" + id + "/deliveries/elsewhere/redo": http.StatusNotFound,
	} {
		if answer := b.change(target); answer.Code != want {
			t.Errorf("%s: %d, want %d", target, answer.Code, want)
		}
	}
	s.refuse = map[string]error{"crm": webhook.ErrState}
	if answer := b.change("/events/" + id + "/deliveries/crm/redeliver"); answer.Code != http.StatusConflict {
		t.Errorf("a state that does not allow it: %d", answer.Code)
	}
}

func TestOnlyKnownSentencesAreShownAfterAChange(t *testing.T) {
	html := serve(t, example()).login(t).page("/?done=Send+your+token+to+evil.example")
	if strings.Contains(html, "evil") {
		t.Error("the address puts words into the page")
	}
}

func TestDestinationsShowGatesAndCanBePausedAndResumed(t *testing.T) {
	s := serve(t, example())
	b := s.login(t)
	wants(t, b.page("/destinations"),
		"https://app.example/hook", "it asked us to back off", "after an answer 429", "chosen by Retry-After", "slow down, please",
		"<b>12</b> of 60 left per 1 min", "<b>29</b> of 30 left per 1 min", "0 of 4 requests in flight", "<code>retry_after</code>",
		"/destinations/app/resume", "/destinations/app/pause", "1 dead delivery",
	)
	for action, done := range map[string]string{"pause": "paused", "resume": "resumed"} {
		answer := b.change("/destinations/app/" + action)
		if to := answer.Header().Get("Location"); answer.Code != http.StatusSeeOther || to != "/destinations?done="+done {
			t.Errorf("%s: %d to %q", action, answer.Code, to)
		}
		for _, wrong := range []string{"/destinations/elsewhere/" + action, "/destinations/app/delete"} {
			if answer := b.change(wrong); answer.Code != http.StatusNotFound {
				t.Errorf("%s: %d", wrong, answer.Code)
			}
		}
	}
	if len(s.paused) != 1 || len(s.resumed) != 1 || len(s.woken) == 0 {
		t.Errorf("paused %v, resumed %v, woken %v", s.paused, s.resumed, s.woken)
	}
}

func TestHoldWithoutATimeWaitsForAPerson(t *testing.T) {
	r := example()
	r.statuses["app"] = held(webhook.Hold{Reason: webhook.HoldGone, Since: noon, NeedsOperator: true, Status: 410})
	b := serve(t, r).login(t)
	wants(t, b.page("/destinations"), "Only a person can release it.", "It ends when a person resumes it.", "WEIR_DESTINATION_APP_URL")
	wants(t, b.page("/"), "Something needs you", "when resumed")
}

func TestWhatIsWaitedForIsListedMostImportantFirst(t *testing.T) {
	got := waitingCounts(map[webhook.WaitingFor]int{webhook.WaitDue: 3, webhook.WaitInFlight: 1, webhook.WaitPace: 0})
	want := []waitingCount{
		{webhook.WaitInFlight, waitingWords(webhook.WaitInFlight), 1}, {webhook.WaitDue, waitingWords(webhook.WaitDue), 3},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestEveryWordHasASentence(t *testing.T) {
	for _, word := range webhook.WaitingFors() {
		if got := waitingWords(word); got == string(word) || got == "" {
			t.Errorf("%s has no sentence", word)
		}
	}
	for _, reason := range webhook.HoldReasons() {
		if got := webhook.HoldRemedy(webhook.Hold{Reason: reason}, "my-app"); got == "" && reason != webhook.HoldRetryAfter {
			t.Errorf("%s has no advice", reason)
		}
	}
	for _, reason := range webhook.DeadReasons() {
		if got := deadWords(reason); got == string(reason) || got == "" {
			t.Errorf("%s has no sentence", reason)
		}
	}
	for _, outcome := range webhook.Outcomes() {
		if got := outcomeWords(outcome); got == string(outcome) || got == "" {
			t.Errorf("%s has no words", outcome)
		}
		if good := outcomeTone(outcome) == toneGood; good != (outcome == webhook.OutcomeDelivered) {
			t.Errorf("%s has the tone %s", outcome, outcomeTone(outcome))
		}
	}
	wants(t, webhook.HoldRemedy(webhook.Hold{Reason: webhook.HoldAuth}, "my-app"), "WEIR_DESTINATION_MY_APP_HEADERS")
}

func TestFaultsAreAnsweredAndLoggedOnce(t *testing.T) {
	s := serve(t, example())
	b := s.login(t)
	s.rooms.fail = webhook.ErrUnavailable
	for _, target := range []string{"/", "/events", "/events/" + numbered(1).String(), "/destinations", "/dead"} {
		s.log.Reset()
		answer := b.get(target)
		if answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), "Nothing was lost") {
			t.Errorf("%s: %d", target, answer.Code)
		}
		if lines := strings.Count(s.log.String(), "\n"); lines != 1 {
			t.Errorf("%s: %d lines in the log\n%s", target, lines, s.log)
		}
	}
	s.log.Reset()
	s.rooms.fail = nil
	if answer := b.get("/events/" + numbered(9).String()); answer.Code != http.StatusNotFound || s.log.Len() > 0 {
		t.Errorf("an event that is not there: %d, %s", answer.Code, s.log)
	}
}

func TestPagesOfARoomlessHouse(t *testing.T) {
	pages, err := New(Config{Tokens: tokens(testToken)})
	if err != nil {
		t.Fatal(err)
	}
	s := &served{rooms: &rooms{}, Dashboard: pages}
	b := s.login(t)
	for _, target := range []string{"/", "/events", "/destinations", "/dead"} {
		noInline(t, target, b.page(target))
	}
	for _, c := range everyChange[1:] {
		c.values.Set("form", b.form)
		if answer := b.post(c.target, c.values); answer.Code != http.StatusNotFound {
			t.Errorf("%s: %d", c.target, answer.Code)
		}
	}
}

func TestPagesOfZeroAndOddValues(t *testing.T) {
	limit := int64(-1 << 63)
	odd := webhook.Evidence{Limit: &limit, Window: "\x00", Body: "\xff\xfe", Headers: map[string]string{"": ""}, Note: "\u202e"}
	far := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	r := &rooms{
		details: []webhook.EventDetail{
			{},
			{Event: webhook.Event{ID: numbered(2), Size: -1, BodyGone: true, ConflictOf: numbered(3)}, Deliveries: []webhook.History{
				{},
				{Delivery: webhook.Delivery{State: "strange", Reason: "odd", Destination: "gone"}, Attempts: []webhook.Attempt{{}, {Duration: -1, Outcome: "odd", Status: -5, Evidence: odd, NextAttemptAt: far}}},
				{Delivery: webhook.Delivery{State: webhook.Dead, Destination: "gone"}, Attempts: make([]webhook.Attempt, 3*maxHistory)},
			}},
		},
		statuses: map[string]webhook.Status{
			"zero": {},
			"odd": {
				Destination: webhook.Destination{
					Holds:   []webhook.Hold{{}, {Reason: "odd", Until: far, Evidence: odd}},
					Breaker: webhook.Breaker{OpenSince: noon, Evidence: odd},
				},
				Policy: webhook.Policy{Rate: []webhook.Rate{{}, {}}, Fallback: "zero"},
				Gate:   webhook.Gate{WaitingFor: "odd"},
			},
		},
		queues: map[string]webhook.Queue{"odd": {Pending: -1, Due: 5, Dead: -3, OldestDue: far}},
	}
	b := serve(t, r).login(t)
	for _, target := range []string{"/", "/events", "/events/" + (webhook.ID{}).String(), "/events/" + numbered(2).String(), "/destinations", "/dead"} {
		noInline(t, target, b.page(target))
	}
	wants(t, b.page("/events/"+numbered(2).String()), "Retention has removed it.", "400 earlier attempts not shown", `\u202e`, `\x00`, numbered(3).String(), "no longer configured")
}

// TestTheTimelineTellsWhatAnAttemptRestsOn: the weight of its reading, a signature
// that was made anew, and whose refusal it was to judge.
func TestTheTimelineTellsWhatAnAttemptRestsOn(t *testing.T) {
	r := example()
	attempt := &r.details[0].Deliveries[0].Attempts[0]
	page := "/events/" + r.details[0].Event.ID.String()
	if html := serve(t, r).login(t).page(page); strings.Contains(html, "presumed") || strings.Contains(html, "signed anew") || strings.Contains(html, "witness for") {
		t.Error("said of an attempt that is none of it")
	}
	attempt.Presumed, attempt.Renewed, attempt.WitnessFor = true, true, webhook.ID{15: 7}
	wants(t, serve(t, r).login(t).page(page), "presumed from the status alone", "signed anew",
		`witness for <a href="/events/00000000-0000-0000-0000-000000000007">`)
}
