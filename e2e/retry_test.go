package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/config"
)

func TestB29RetriesEndAfterTheirAllowanceAcrossARestart(t *testing.T) {
	t.Parallel()
	const base = 100 * time.Millisecond
	sink := newDownstream(t, answers(500))
	s := started(t, sink.url, settingsOf("WEIR_DESTINATION_DEFAULT_", "MAX_ATTEMPTS=5", "BACKOFF=100ms")...)
	id := s.send("k", "{}")
	await(t, patience, "two attempts are recorded", func() bool { return s.delivery(id).AttemptCount >= 2 })
	s.stop()
	s.start()
	d := s.awaitState(id, "dead")
	if d.Reason != "exhausted" || d.Spent != 5 || len(d.Attempts) != 5 {
		t.Errorf("dead for %s with %d spent and %d attempts, want exhausted and 5", d.Reason, d.Spent, len(d.Attempts))
	}
	for i, a := range d.Attempts {
		if a.Number != i+1 || a.Outcome != "transient" || a.Status != 500 || !a.Spent || a.At.IsZero() || a.Rule == "" {
			t.Errorf("attempt %d: %+v", i+1, a)
		}
	}
	arrivals := sink.of(id)
	if len(arrivals) != 5 {
		t.Errorf("%d requests, want 5", len(arrivals))
	}
	for i := 1; i < len(arrivals); i++ {
		if gap := arrivals[i].at.Sub(arrivals[i-1].at); gap < base {
			t.Errorf("request %d came %s after the one before, want at least %s", i+1, gap, base)
		}
	}
	if dead := listAll[shownDelivery](s, "/v1/deliveries"); len(dead) != 1 || dead[0].State != "dead" || s.destination("default").Queue.Dead != 1 {
		t.Errorf("the lists show %+v, want one that is dead", dead)
	}
}

// hints are the answers of B30, each at a destination of its own. Ahead is
// what the first answer asks for.
var hints = map[string]struct {
	status int
	ahead  time.Duration
	form   string // of a date; empty for seconds
}{
	"seconds":  {429, 4 * time.Second, ""},
	"outage":   {503, 4 * time.Second, ""},
	"imf":      {503, 4 * time.Second, http.TimeFormat},
	"rfc850":   {429, 4 * time.Second, "Monday, 02-Jan-06 15:04:05 GMT"},
	"asctime":  {503, 4 * time.Second, time.ANSIC},
	"past":     {503, -time.Hour, http.TimeFormat},
	"zero":     {503, 0, ""},
	"half-min": {503, 30 * time.Second, ""},
	"day":      {503, 24 * time.Hour, ""},
	"day-429":  {429, 24 * time.Hour, ""},
}

// hinting asks each destination's first request to come back later.
func hinting(w http.ResponseWriter, _ *http.Request, a arrival) {
	hint := hints[strings.TrimPrefix(a.path, "/")]
	if a.attempt > 1 || a.key != "first" {
		return
	}
	value := strconv.Itoa(int(hint.ahead.Seconds()))
	if hint.form != "" {
		at := a.at.Add(hint.ahead)
		if hint.ahead > 0 {
			at = at.Add(time.Second) // dates are cut to whole seconds
		}
		value = at.UTC().Format(hint.form)
	}
	w.Header().Set("Retry-After", value)
	w.WriteHeader(hint.status)
}

func TestB30AHintHoldsItsDestinationAcrossAKill(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, hinting)
	var names []string
	for name := range hints {
		names = append(names, name)
	}
	s := started(t, "", fanOut(sink.url, names, "CONCURRENCY=1", "BACKOFF=100ms")...)
	s.send("first", "{}")
	await(t, patience, "every destination is held", func() bool {
		return !slices.ContainsFunc(names, func(name string) bool { return s.destination(name).Hold == nil })
	})
	s.send("second", "{}")
	before := map[string]shownHold{}
	for _, name := range names {
		before[name] = *s.destination(name).Hold
	}
	s.kill()
	s.start()
	for _, name := range names {
		if hint := hints[name]; hint.ahead >= 4*time.Second {
			wantHeld(t, s, sink, name, before[name])
		}
	}
	for _, name := range names {
		hint := hints[name]
		if hint.ahead > 10*time.Second {
			continue
		}
		await(t, max(hint.ahead, 0)+20*time.Second, name+" is asked again", func() bool { return len(sink.at("/"+name)) == 3 })
		arrivals := sink.at("/" + name)
		if gap := arrivals[1].at.Sub(arrivals[0].at); gap < max(hint.ahead, 500*time.Millisecond) {
			t.Errorf("%s: asked again after %s, want %s at least", name, gap, hint.ahead)
		}
		if held := before[name]; hint.ahead > 0 && arrivals[1].at.Before(*held.Until) {
			t.Errorf("%s: asked again at %s, held until %s", name, arrivals[1].at, held.Until)
		}
	}
}

// wantHeld checks that a hold is what it was before the restart, and that
// nothing is tried meanwhile.
func wantHeld(t *testing.T, s *service, sink *downstream, name string, before shownHold) {
	t.Helper()
	d := s.destination(name)
	arrivals := sink.at("/" + name)
	if len(arrivals) > 1 && time.Now().After(*before.Until) {
		return // a slow machine: the time is over
	}
	if d.Hold == nil || d.Hold.Reason != before.Reason || !d.Hold.Until.Equal(*before.Until) || d.Hold.Since != before.Since {
		t.Errorf("%s: held %+v, before the kill %+v", name, d.Hold, before)
	}
	if before.Until.Sub(arrivals[0].at) < hints[name].ahead {
		t.Errorf("%s: held until %s, want %s after %s at least", name, before.Until, hints[name].ahead, arrivals[0].at)
	}
	reason := "retry_after"
	if name == "day-429" {
		reason = "quota"
	}
	if before.Reason != reason || d.Queue.Pending != 2 || d.Concurrency.InFlight != 0 || len(arrivals) != 1 {
		t.Errorf("%s: %s with %d pending, %d in flight, %d requests; want %s, 2, 0 and 1",
			name, before.Reason, d.Queue.Pending, d.Concurrency.InFlight, len(arrivals), reason)
	}
}

// fanOut returns the settings for a destination of each name, at a path of its
// own, all of which get every event.
func fanOut(url string, names []string, settings ...string) []string {
	list := strings.Join(names, ",")
	all := []string{"WEIR_DESTINATIONS=" + list, "WEIR_SOURCE_GITHUB_TO=" + list}
	for _, name := range names {
		prefix := config.PrefixOf(config.DestinationPrefix, name)
		all = append(all, prefix+"URL="+url+"/"+name)
		all = append(all, settingsOf(prefix, settings...)...)
	}
	return all
}

func TestB33EachStatusIsWhatItsOutcomeSays(t *testing.T) {
	t.Parallel()
	type row struct {
		outcome, state, waiting string
		spent                   int
		statuses                []int
	}
	table := []row{
		{"delivered", "delivered", "", 1, []int{202, 204}},
		{"transient", "pending", "backoff", 1, []int{408, 409, 425, 500, 502, 503, 504}},
		{"rate_limited", "pending", "retry_after", 0, []int{429}},
		{"rejected", "dead", "", 1, []int{400, 415, 422, 451}},
		{"auth", "pending", "auth", 0, []int{401, 403}},
		{"misdirected", "pending", "misdirected", 0, []int{404, 405, 421, 501}}, // presumed: they wait for a witness
		{"misdirected", "pending", "backoff", 1, []int{301, 304}},
		{"gone", "pending", "gone", 0, []int{410}},
		{"quota_exhausted", "pending", "quota", 0, []int{507}},
	}
	sink := newDownstream(t, func(w http.ResponseWriter, r *http.Request, a arrival) {
		status, _ := strconv.Atoi(strings.TrimPrefix(a.path, "/s"))
		w.Header().Set("Location", "/followed")
		w.WriteHeader(status)
	})
	var names []string
	rows := map[string]row{}
	for _, r := range table {
		for _, status := range r.statuses {
			name := fmt.Sprint("s", status)
			names, rows[name] = append(names, name), r
		}
	}
	s := started(t, "", fanOut(sink.url, names, "BACKOFF=24h", "BACKOFF_MAX=168h")...)
	id := s.send("k", "{}")
	await(t, 2*patience, "every destination has answered", func() bool {
		return !slices.ContainsFunc(s.event(id).Deliveries, func(d shownDelivery) bool { return d.AttemptCount == 0 })
	})
	for _, d := range s.event(id).Deliveries {
		want, first := rows[d.Destination], d.Attempts[0]
		if first.Outcome != want.outcome || d.State != want.state || d.WaitingFor != want.waiting || d.Spent != want.spent ||
			first.Spent != (want.spent == 1) {
			t.Errorf("%s: %s, %s, waiting for %q, %d spent; want %+v", d.Destination, first.Outcome, d.State, d.WaitingFor, d.Spent, want)
		}
		if want.state == "dead" && (d.Reason != "rejected" || len(d.Attempts) != 1) {
			t.Errorf("%s: dead for %s after %d attempts, want rejected after 1", d.Destination, d.Reason, len(d.Attempts))
		}
		if (d.NextAttemptAt == nil) != (want.state != "pending") {
			t.Errorf("%s: next attempt at %v", d.Destination, d.NextAttemptAt)
		}
	}
	if got := len(sink.at("/followed")); got != 0 {
		t.Errorf("%d redirects were followed", got)
	}
	misdirectedByTwo(t, s, sink)
}

// misdirectedByTwo sends more events and checks that the second wrong answer
// holds the destination, and nothing else.
func misdirectedByTwo(t *testing.T, s *service, sink *downstream) {
	t.Helper()
	s.send("k2", `{"n":2}`)
	await(t, patience, "s404 is held by two", func() bool { return s.destination("s404").Hold.NeedsOperator })
	s.send("k3", `{"n":3}`)
	s.send("k4", `{"n":4}`)
	if hold := s.destination("s404").Hold; hold.Reason != "misdirected" || hold.Until == nil {
		t.Errorf("held %+v, want misdirected, and a time for a probe", hold)
	}
	await(t, patience, "202 got all four", func() bool { return len(sink.at("/s202")) == 4 })
	for _, path := range []string{"/s404", "/s410"} {
		if got := len(sink.at(path)); got != 2 {
			t.Errorf("%d requests to %s, want 2", got, path)
		}
	}
}

func TestB36RetriesOfAllEventsTogetherAreBounded(t *testing.T) {
	t.Parallel()
	const budget, bad = 3, 6
	sink := newDownstream(t, func(w http.ResponseWriter, _ *http.Request, a arrival) {
		if strings.HasPrefix(a.key, "bad") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s := started(t, sink.url, settingsOf("WEIR_DESTINATION_DEFAULT_",
		"BACKOFF=50ms", "BACKOFF_MAX=50ms", "RETRY_BUDGET=3/1h", "MAX_ATTEMPTS=5")...)
	// Most requests succeed, so that the breaker stays closed.
	good := func(name string) { s.awaitState(s.send(name, "{}"), "delivered") }
	for i := range 6 {
		good(fmt.Sprint("good-", i))
	}
	for i := range bad {
		id := s.send(fmt.Sprint("bad-", i), "{}")
		await(t, patience, "it was tried", func() bool { return s.delivery(id).AttemptCount > 0 })
		for j := range 3 {
			good(fmt.Sprint("good-", i, "-", j))
		}
	}
	await(t, patience, "the budget is used up", func() bool {
		d := s.destination("default")
		return d.RetryBudget.Left == 0 && d.Queue.WaitingFor["budget"] == bad
	})
	good("after")
	retries := sink.where(func(a arrival) bool { return a.attempt > 1 })
	if len(retries) != budget {
		t.Errorf("%d retries, want %d", len(retries), budget)
	}
	for _, d := range listAll[shownDelivery](s, "/v1/deliveries") {
		if d.State == "dead" || d.State == "pending" && d.WaitingFor != "budget" {
			t.Errorf("%s is %s and waits for %q; want the budget to postpone and not to fail", d.EventID, d.State, d.WaitingFor)
		}
	}
	if d := s.destination("default"); d.Breaker.State != "closed" {
		t.Errorf("the breaker is %s: it hides the budget", d.Breaker.State)
	}
	s.kill()
	s.start()
	good("after a restart")
	if got := len(sink.where(func(a arrival) bool { return strings.HasPrefix(a.key, "bad") })); got != bad+budget {
		t.Errorf("%d requests for what fails, want %d: a restart does not refill the budget", got, bad+budget)
	}
}

func TestAnOutageMeetsFirstSendsBudgetAndProbesAndKillsNothing(t *testing.T) {
	t.Parallel()
	const events, budget = 40, 10
	sink := newDownstream(t, answers(503))
	s := started(t, sink.url, settingsOf("WEIR_DESTINATION_DEFAULT_", "BACKOFF=50ms", "RETRY_BUDGET=10/1m")...)
	for i := range events {
		s.send(fmt.Sprint("k", i), "{}")
	}
	await(t, patience, "the breaker is open", func() bool { return s.destination("default").Breaker.State == "open" })
	await(t, patience, "nothing is in flight", func() bool { return s.destination("default").Concurrency.InFlight == 0 })
	before := len(sink.seen())
	opened := time.Now()
	s.kill()
	s.start()
	if d := s.destination("default"); d.Breaker.State != "open" || d.Queue.WaitingFor["breaker"] != events {
		t.Errorf("after a restart the breaker is %s and %v wait", d.Breaker.State, d.Queue.WaitingFor)
	}
	await(t, time.Minute, "a probe leaves", func() bool { return len(sink.seen()) > before })
	probe := sink.seen()[before]
	if wait := probe.at.Sub(opened); wait < 20*time.Second {
		t.Errorf("the first request after the breaker opened came after %s, want half a minute", wait)
	}
	await(t, patience, "the probe is recorded", func() bool {
		d := s.destination("default")
		return d.Breaker.Trials > 0 && d.Concurrency.InFlight == 0
	})
	if got := len(sink.seen()) - before; got != 1 {
		t.Errorf("%d requests with the breaker open, want one probe", got)
	}
	last := s.delivery(probe.event)
	if a := last.Attempts[len(last.Attempts)-1]; !a.Probe || a.Spent {
		t.Errorf("the attempt is %+v, want a probe that spends nothing", a)
	}
	retries := sink.where(func(a arrival) bool { return a.attempt > 1 })
	if len(retries) > budget || len(sink.seen()) > events+budget {
		t.Errorf("%d requests, %d of them retries; want at most %d more than first sends", len(sink.seen()), len(retries), budget)
	}
	for _, d := range listAll[shownDelivery](s, "/v1/deliveries") {
		if d.State != "pending" {
			t.Errorf("%s is %s of an outage", d.EventID, d.State)
		}
	}
}
