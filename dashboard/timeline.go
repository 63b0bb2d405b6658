package dashboard

import (
	"time"

	"weir/webhook"
)

// deliveryView is a delivery with its story.
type deliveryView struct {
	EventID     webhook.ID
	Source      string
	Destination string
	State       webhook.State
	Tone        tone
	// Words says why it is in this state.
	Words       string
	WaitingFor  webhook.WaitingFor
	Detail      string
	Next        moment
	Finished    moment
	Expires     moment
	Spent       int
	MaxAttempts int
	Attempts    []attemptView
	// Earlier counts the attempts that are left out.
	Earlier int
	// MayRedeliver and MayCancel say which buttons there are; Force that a
	// redelivery must be forced.
	MayRedeliver bool
	MayCancel    bool
	Force        bool
}

// attemptView is an attempt as the timeline shows it.
type attemptView struct {
	Number    int
	At        moment
	Duration  time.Duration
	SentTo    string
	Elsewhere bool
	Outcome   string
	Tone      tone
	Status    int
	Spent     bool
	Probe     bool
	// Presumed says that only the status suggested the outcome, Renewed that the
	// signature was made anew; WitnessFor names the event that it was to judge.
	Presumed   bool
	Renewed    bool
	WitnessFor string
	Rule       string
	Said       saidView
	// Then says what was decided and why.
	Then string
	Next moment
}

// delivery makes the view of a delivery without its attempts.
func (d *Dashboard) delivery(v visit, of webhook.Delivery) deliveryView {
	view := deliveryView{
		EventID: of.EventID, Source: of.Source, Destination: of.Destination, State: of.State,
		Tone: stateTone(of.State), Detail: clip(of.Detail, maxField), Spent: of.Spent,
		Finished: v.at(of.FinishedAt),
	}
	status, known := d.status(v, of.Destination)
	view.MaxAttempts = status.Policy.MaxAttempts
	switch of.State {
	case webhook.Delivered:
		view.Words = "the destination took it"
	case webhook.Dead:
		view.Words, view.MayRedeliver, view.Force = deadWords(of.Reason), known, of.Reason == webhook.DeadTooLarge
	default:
		view.MayCancel = true
		if known {
			view.wait(v, d.config, status, of)
		} else {
			view.WaitingFor, view.Words = webhook.WaitGone, "its destination is no longer configured"
		}
	}
	return view
}

// status returns a destination's state, which a visit asks for once. False: it
// is not configured any more.
func (d *Dashboard) status(v visit, name string) (webhook.Status, bool) {
	if found, asked := v.seen[name]; asked {
		return found.Status, found.known
	}
	var found seenStatus
	if d.config.Destinations != nil {
		status, err := d.config.Destinations.Status(name, v.now)
		found = seenStatus{status, err == nil}
	}
	v.seen[name] = found
	return found.Status, found.known
}

// wait says what a pending delivery waits for, and until when.
func (view *deliveryView) wait(v visit, c Config, status webhook.Status, of webhook.Delivery) {
	waitingFor, next := c.Waiting(status, of, v.now)
	view.WaitingFor, view.Words, view.Next = waitingFor, waitingWords(waitingFor), v.at(next)
	if status.Policy.MaxAge > 0 && !of.AgeFrom.IsZero() {
		view.Expires = v.at(of.AgeFrom.Add(status.Policy.MaxAge))
	}
}

// story adds the attempts, the last of them where there are very many.
func (d *Dashboard) story(v visit, of webhook.History) deliveryView {
	view := d.delivery(v, of.Delivery)
	attempts := of.Attempts
	if over := len(attempts) - maxHistory; over > 0 {
		view.Earlier, attempts = over, attempts[over:]
	}
	for _, a := range attempts {
		shown := attemptView{
			Number: a.Number, At: v.at(a.At), Duration: a.Duration, SentTo: a.SentTo,
			Elsewhere: a.SentTo != "" && a.SentTo != of.Delivery.Destination,
			Outcome:   outcomeWords(a.Outcome), Tone: outcomeTone(a.Outcome), Status: a.Status,
			Spent: a.Spent, Probe: a.Probe, Rule: a.Rule, Said: said(a.Evidence),
			Presumed: a.Presumed, Renewed: a.Renewed,
			Then: then(a), Next: v.at(a.NextAttemptAt),
		}
		if !a.WitnessFor.IsZero() {
			shown.WitnessFor = a.WitnessFor.String()
		}
		view.Attempts = append(view.Attempts, shown)
	}
	return view
}

// then says what was decided after an attempt, and why the next time was
// chosen.
func then(a webhook.Attempt) string {
	switch a.Decision {
	case webhook.Delivered:
		return "That ended the delivery: it is delivered."
	case webhook.Dead:
		return "That ended the delivery: it is dead."
	}
	cost := "Nothing was spent."
	if a.Spent {
		cost = "One attempt was spent."
	}
	switch {
	case a.NextAttemptAt.IsZero():
		return cost + " No time was set for the next attempt: a person or a changed configuration must release it."
	case a.Hint.Given() && a.At.Add(a.Duration+a.Hint.Wait).After(a.NextAttemptAt):
		return cost + " The answer asked for a wait of " + spanOf(a.Hint.Wait) + " (" + clip(a.Hint.From, maxField) + "): the destination is held for it."
	case a.Hint.Given():
		return cost + " The answer asked for a wait of " + spanOf(a.Hint.Wait) + " (" + clip(a.Hint.From, maxField) + "), and it is obeyed."
	default:
		return cost + " The answer named no time, so weir chose its own wait."
	}
}

// spanOf is span with words for zero.
func spanOf(d time.Duration) string {
	if d <= 0 {
		return "no time at all"
	}
	return span(d)
}
