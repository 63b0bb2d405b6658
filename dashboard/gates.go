package dashboard

import (
	"fmt"
	"time"

	"weir/webhook"
)

// destinationView is a destination as the pages show it.
type destinationView struct {
	Name string
	URL  string
	Tone tone
	// State is Ready, Held or Paused; Why is the most important reason.
	State string
	Why   string
	// Next is when a request may go again; Probe says that it is only one,
	// and Idle that its time has come and nothing is there to be sent.
	Next  moment
	Probe bool
	Idle  bool
	Holds []holdView
	Queue webhook.Queue
	// OldestDue is the earliest next time of what is due.
	OldestDue moment
	Waiting   []waitingCount
	Windows   []windowView
	Slots     int
	InFlight  int
	Policy    webhook.Policy
	Sizes     webhook.Sizes

	Spacing      time.Duration
	NotBefore    moment
	LastSent     moment
	LastSuccess  moment
	NeedsPerson  bool
	PausedByHand bool
}

// holdView is a hold, or the breaker, as the pages show it.
type holdView struct {
	Reason string
	Words  string
	Advice string
	Since  moment
	Until  moment
	From   string
	Probes int
	Status int
	Rule   string
	Said   saidView
	Person bool
	// Idle says that the time of its next try has come, and nothing is there
	// to be sent.
	Idle bool
}

// waitingCount is how many deliveries wait for one thing.
type waitingCount struct {
	For   webhook.WaitingFor
	Words string
	N     int
}

// windowView is a cap of requests with what is left of it.
type windowView struct {
	Name  string
	Left  int
	Limit int
	Per   time.Duration
}

// views returns every destination, in the order of the configuration.
func (d *Dashboard) views(v visit) ([]destinationView, error) {
	if d.config.Destinations == nil || d.config.Queues == nil {
		return nil, nil
	}
	list := make([]destinationView, 0, len(d.config.Downstreams))
	for _, downstream := range d.config.Downstreams {
		status, err := d.config.Destinations.Status(downstream.Name, v.now)
		if err != nil {
			return nil, fmt.Errorf("state of destination %s: %w", downstream.Name, err)
		}
		queue, err := d.config.Queues.Queue(v.Context(), downstream.Name, v.now)
		if err != nil {
			return nil, fmt.Errorf("queue of destination %s: %w", downstream.Name, err)
		}
		list = append(list, v.destination(downstream, status, queue))
	}
	return list, nil
}

// destination makes the view of one destination.
func (v visit) destination(of Downstream, status webhook.Status, queue webhook.Queue) destinationView {
	gates, policy := status.Destination, status.Policy
	view := destinationView{
		Name: of.Name, URL: of.URL, Queue: queue, OldestDue: v.at(queue.OldestDue),
		Waiting: waitingCounts(queue.ByWait(status)), Windows: windows(status),
		Slots: policy.Slots(gates), InFlight: len(status.InFlight), Policy: policy, Sizes: gates.Sizes,
		NotBefore: v.at(future(gates.Pace.NotBefore, v.now)),
		LastSent:  v.at(gates.LastSentAt), LastSuccess: v.at(gates.LastSuccess),
	}
	if v.now.Before(gates.Pace.SpacingUntil) {
		view.Spacing = gates.Pace.Spacing
	}
	for _, hold := range gates.Holds {
		view.Holds = append(view.Holds, v.hold(hold, of.Name))
		view.NeedsPerson = view.NeedsPerson || hold.NeedsOperator
	}
	if gates.Breaker.Open() {
		view.Holds = append(view.Holds, v.breaker(gates.Breaker))
	}
	view.describe(v, status)
	return view
}

// describe puts the state into words.
func (d *destinationView) describe(v visit, status webhook.Status) {
	_, d.PausedByHand = status.Destination.Hold(webhook.HoldPaused)
	gate := status.Gate
	switch {
	case d.PausedByHand:
		d.State, d.Tone = "Paused", toneWait
	case d.NeedsPerson:
		d.State, d.Tone = "Held", toneBad
	case len(d.Holds) > 0:
		d.State, d.Tone = "Held", toneWait
	default:
		d.State, d.Tone = "Ready", toneGood
	}
	if len(d.Holds) > 0 {
		d.Why = d.Holds[0].Words
	}
	if gate.WaitingFor != webhook.WaitDue && gate.WaitingFor != "" {
		d.Why, d.Next = waitingWords(gate.WaitingFor), v.at(gate.Until)
	}
	d.Probe = len(d.Holds) > 0
	d.Idle = d.idle(d.Next)
	for i := range d.Holds {
		d.Holds[i].Idle = d.idle(d.Holds[i].Until)
	}
}

// idle reports that the destination may be tried by now, and that nothing
// waits: the try goes with the next delivery.
func (d *destinationView) idle(next moment) bool {
	return len(d.Holds) > 0 && d.Queue.Pending == 0 && !next.None() && !next.At.After(next.Now)
}

func (v visit) hold(hold webhook.Hold, name string) holdView {
	return holdView{
		Reason: string(hold.Reason), Words: waitingWords(webhook.WaitingFor(hold.Reason)),
		Advice: webhook.HoldRemedy(hold, name), Since: v.at(hold.Since), Until: v.at(hold.Until),
		From: hold.From, Probes: hold.Probes, Status: hold.Status, Rule: hold.Rule,
		Said: said(hold.Evidence), Person: hold.NeedsOperator,
	}
}

// breaker shows an open breaker like a hold.
func (v visit) breaker(b webhook.Breaker) holdView {
	return holdView{
		Reason: string(webhook.WaitBreaker), Words: waitingWords(webhook.WaitBreaker),
		Since: v.at(b.OpenSince), Until: v.at(b.Until), From: "own wait", Probes: b.Trials,
		Rule: b.Rule, Said: said(b.Evidence),
	}
}

// future returns a time that is still to come, else none.
func future(t, now time.Time) time.Time {
	if t.After(now) {
		return t
	}
	return time.Time{}
}

// windows lists the budgets with what is left of each.
func windows(status webhook.Status) []windowView {
	var list []windowView
	for i, rate := range status.Policy.Rate {
		left := rate.N
		if i < len(status.RateLeft) {
			left = status.RateLeft[i]
		}
		list = append(list, windowView{"All requests", left, rate.N, rate.Per})
	}
	if budget := status.Policy.RetryBudget; budget.N > 0 {
		list = append(list, windowView{"Retries", status.RetriesLeft, budget.N, budget.Per})
	}
	return list
}

// waitingCounts lists what is pending by what it waits for, most important
// first.
func waitingCounts(counts map[webhook.WaitingFor]int) []waitingCount {
	var list []waitingCount
	for _, word := range webhook.WaitingFors() {
		if n := counts[word]; n > 0 {
			list = append(list, waitingCount{word, waitingWords(word), n})
		}
	}
	return list
}
