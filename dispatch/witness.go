package dispatch

import (
	"slices"
	"time"

	"weir/webhook"
)

const (
	// witnessEvery is the least time between two witnesses of one suspicion.
	witnessEvery = 30 * time.Second
	// sameRefusals unlike payloads in a row that are rejected in the same words
	// hold the destination; where the words name a field or a value of the
	// payload, or are sure to be about it, it takes namedRefusals.
	sameRefusals  = 5
	namedRefusals = webhook.MaxRefusals
	// noteRefused and noteAged say why a delivery is set aside alone.
	noteRefused = "set aside: the destination refused this delivery and took others"
	noteAged    = "the signature was refused for its age: let weir renew it (RENEW=auto), " +
		"or verify weir's own signature (SIGNING_SECRET), which is fresh on each attempt"
	noteReopened = "was rejected in the same words as everything else"
	noteSame     = "it refuses everything with the same words"
)

// refusedWaits are the waits of a delivery that is set aside alone: before its
// first try, its second, and so on; the last for all further ones.
var refusedWaits = [...]time.Duration{5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}

// weight is what an answer is worth beside what other payloads got. It decides
// whether the row of the outcome applies.
type weight int

const (
	// sure: the row applies.
	sure weight = iota
	// presumed: only the status suggests a fault of the destination. The
	// delivery waits until another payload has been asked.
	presumed
	// confirming: a second, unlike payload is refused as well. The destination
	// is held.
	confirming
	// known: the fault for which the destination is held already.
	known
	// alone: it is about this delivery only, and others are taken, or may be.
	alone
)

// weigh compares an answer with what is known from the answers to others.
func weigh(in Sent) weight {
	switch {
	case in.Answer.Internal || in.Answer.Cut:
		return sure
	case in.Answer.Aged:
		return alone
	case in.Answer.Outcome == webhook.OutcomeRejected:
		return weighRejection(in)
	case !presumesFault(in):
		return sure
	}
	s := in.To.Suspicion
	switch {
	case heldFor(in.To, in.Answer.Outcome):
		return known
	case refusedBefore(in):
		return alone
	case suspects(in.To) && s.Event != in.Delivery.EventID && s.Body != in.Body:
		return confirming
	}
	return presumed
}

// weighRejection compares a rejection with the hold for the same refusal of
// everything: under it, what is refused likewise waits.
func weighRejection(in Sent) weight {
	h, held := in.To.Hold(webhook.HoldMisdirected)
	same := in.Answer.Presumed || in.Answer.Fingerprint != "" && in.Answer.Fingerprint == in.To.Refusals.Fingerprint
	if held && h.Basis == webhook.BasisSameRefusal && same {
		return known
	}
	return sure
}

// presumesFault reports whether an answer says that the destination is at fault
// without being sure. What is said of an event that was refused before others
// were taken is never sure; a time to come back at always is.
func presumesFault(in Sent) bool {
	if in.Answer.Hint.Given() {
		return false
	}
	doubted := refusedBefore(in) && !heldFor(in.To, in.Answer.Outcome)
	return rowOf(in.Answer.Outcome).Witnessed && (in.Answer.Presumed || doubted)
}

// refusedBefore reports whether a delivery was refused already, before others
// were taken.
func refusedBefore(in Sent) bool {
	return in.Delivery.Refusals > 0 || slices.Contains(in.To.Doubted, in.Delivery.EventID)
}

// heldFor reports whether a destination is held for an outcome, and not only by
// presumption.
func heldFor(d webhook.Destination, outcome webhook.Outcome) bool {
	h, held := d.Hold(rowOf(outcome).Hold)
	return held && h.Basis != webhook.BasisPresumed
}

// suspects reports whether a presumed hold waits for its witness.
func suspects(d webhook.Destination) bool {
	h, held := d.Hold(d.Suspicion.Reason)
	return held && h.Basis == webhook.BasisPresumed
}

// refutes reports whether an answer shows that the destination is well, though
// another payload was refused: this one was taken, or refused for a reason that
// is sure to be its own.
func refutes(in Sent) bool {
	if !suspects(in.To) || in.To.Suspicion.Event == in.Delivery.EventID || in.Answer.Cut || in.Answer.Internal {
		return false
	}
	switch in.Answer.Outcome {
	case webhook.OutcomeDelivered:
		return true
	case webhook.OutcomeRejected, webhook.OutcomeTooLarge:
		return !in.Answer.Presumed && !in.Answer.Aged
	}
	return false
}

// verdict is what the answer says about the refusal of another payload.
func verdict(in Sent) webhook.Verdict {
	switch {
	case refutes(in):
		return webhook.Refuted
	case weigh(in) == confirming:
		return webhook.Confirmed
	}
	return ""
}

// isWitness reports whether a delivery can be the witness of a destination's
// suspicion: another event than the refused one, or of another source where many
// were refused, and one that was not refused itself.
func isWitness(to webhook.Destination, d webhook.Delivery) bool {
	s := to.Suspicion
	if s.Reason == "" || d.Refusals > 0 || slices.Contains(to.Doubted, d.EventID) {
		return false
	}
	if s.Event == (webhook.ID{}) {
		return s.Source != "" && s.Source != d.Source
	}
	return s.Event != d.EventID
}

// suspect begins a suspicion, or keeps the one that there is.
func suspect(in Sent, to webhook.Destination, chance Chance) webhook.Destination {
	reason := rowOf(in.Answer.Outcome).Hold
	if s := to.Suspicion; suspects(to) && s.Event != in.Delivery.EventID {
		return to // the same payload again, as another event
	} else if suspects(to) && s.Reason != reason {
		to = to.WithoutHold(s.Reason)
	}
	from := webhook.Ceil(in.Answer.At)
	if in.To.Suspicion.Event == in.Delivery.EventID {
		from = webhook.Later(from, in.To.Suspicion.WitnessFrom)
	}
	to = hold(to, in, webhook.Hold{Reason: reason, Basis: webhook.BasisPresumed}, chance)
	to.Suspicion = webhook.Suspicion{
		Reason: reason, Event: in.Delivery.EventID, Destination: in.Delivery.Destination,
		Source: in.Delivery.Source, Body: in.Body, WitnessFrom: from,
	}
	return to
}

// confirm turns a suspicion into a hold: two unlike payloads have been refused.
func confirm(in Sent, to webhook.Destination, chance Chance) webhook.Destination {
	first := to.Suspicion
	to = to.WithoutHold(first.Reason)
	to.Suspicion = webhook.Suspicion{}
	to = doubt(to, first.Event)
	return hold(to, in, webhook.Hold{Reason: rowOf(in.Answer.Outcome).Hold, Basis: webhook.BasisWitnessed}, chance)
}

// clearSuspicion ends a suspicion that an answer has refuted.
func clearSuspicion(to webhook.Destination) webhook.Destination {
	if suspects(to) {
		to = to.WithoutHold(to.Suspicion.Reason)
	}
	to.Suspicion = webhook.Suspicion{}
	return to
}

// aside lists the delivery that a refuted suspicion was about: it alone waits.
func aside(in Sent) []webhook.Revision {
	if !refutes(in) {
		return nil
	}
	s := in.To.Suspicion
	return []webhook.Revision{{
		EventID: s.Event, Destination: s.Destination, Detail: noteRefused,
		NextAttemptAt: webhook.Ceil(in.Answer.At.Add(refusedWaits[0])),
	}}
}

// doubt remembers an event whose refusal holds the destination.
func doubt(to webhook.Destination, event webhook.ID) webhook.Destination {
	if slices.Contains(to.Doubted, event) {
		return to
	}
	list := append(slices.Clone(to.Doubted), event)
	to.Doubted = list[max(len(list)-webhook.MaxDoubted, 0):]
	return to
}

// trust forgets that an event was refused: it has been taken.
func trust(to webhook.Destination, event webhook.ID) webhook.Destination {
	if slices.Contains(to.Doubted, event) {
		to.Doubted = slices.DeleteFunc(slices.Clone(to.Doubted), func(id webhook.ID) bool { return id == event })
	}
	return to
}

// setAside is the fate of a delivery that is refused alone: tries of its own, far
// apart. The refusal by which it was set aside spends nothing, those after it do.
func setAside(d webhook.Delivery, in Sent, chance Chance) webhook.Delivery {
	if d.Refusals > 0 && !in.Probe {
		d.Spent++
	}
	wait := refusedWaits[min(d.Refusals, len(refusedWaits)-1)]
	d.Refusals++
	d.Detail = noteRefused
	if in.Answer.Aged {
		d.Detail = noteAged
	}
	if d.Spent >= in.Policy.MaxAttempts {
		return finish(d, webhook.Dead, webhook.DeadRefused, in.Answer.At)
	}
	d.NextAttemptAt = webhook.Ceil(in.Answer.At.Add(wait + spread(wait, chance)))
	return d
}

// countRefusal counts a rejection by its words. Enough unlike payloads in a row
// with the same words hold the destination.
func countRefusal(in Sent, to webhook.Destination, chance Chance) webhook.Destination {
	print := in.Answer.Fingerprint
	if print == "" || in.Answer.Aged || weigh(in) == known {
		return to
	}
	r := to.Refusals
	if print != r.Fingerprint {
		r = webhook.Refusals{Fingerprint: print, Settled: r.Settled}
	}
	rejected := in.Answer.Outcome == webhook.OutcomeRejected && print != r.Settled
	if rejected {
		r.Events = counted(r.Events, in)
	}
	to.Refusals = r
	if !rejected || !holdsAll(in, r) {
		return to
	}
	to = hold(clearSuspicion(to), in, webhook.Hold{Reason: webhook.HoldMisdirected, Basis: webhook.BasisSameRefusal}, chance)
	to.Suspicion = webhook.Suspicion{
		Reason: webhook.HoldMisdirected, Source: commonSource(r.Events), WitnessFrom: webhook.Ceil(in.Answer.At),
	}
	return to
}

// counted returns the list with one more refused delivery. The same body counts
// once.
func counted(list []webhook.Refused, in Sent) []webhook.Refused {
	for _, r := range list {
		if r.Body == in.Body || r.Event == in.Delivery.EventID {
			return list
		}
	}
	list = append(slices.Clone(list), webhook.Refused{
		Event: in.Delivery.EventID, Destination: in.Delivery.Destination, Source: in.Delivery.Source, Body: in.Body,
	})
	return list[max(len(list)-webhook.MaxRefusals, 0):]
}

// holdsAll reports whether this rejection is the one after which the same words
// are no longer about payloads.
func holdsAll(in Sent, r webhook.Refusals) bool {
	need := namedRefusals
	if in.Answer.Presumed && !in.Answer.NamesPayload {
		need = sameRefusals
	}
	last := len(r.Events) - 1
	return len(r.Events) >= need && r.Events[last].Event == in.Delivery.EventID
}

// commonSource returns the source of all that was refused; "" for several.
func commonSource(list []webhook.Refused) string {
	source := list[0].Source
	for _, r := range list {
		if r.Source != source {
			return ""
		}
	}
	return source
}

// reopened lists the dead deliveries that a new hold for the same refusal of
// everything gives back: the verdict over them was none.
func reopened(in Sent, to webhook.Destination) []webhook.Revision {
	if !beginsSameRefusal(in, to) {
		return nil
	}
	var list []webhook.Revision
	for _, r := range to.Refusals.Events {
		if r.Event != in.Delivery.EventID {
			list = append(list, webhook.Revision{
				EventID: r.Event, Destination: r.Destination, Detail: noteReopened,
				NextAttemptAt: webhook.Ceil(in.Answer.At),
			})
		}
	}
	return list
}

// beginsSameRefusal reports whether an answer has begun the hold for the same
// refusal of everything.
func beginsSameRefusal(in Sent, to webhook.Destination) bool {
	return underSameRefusal(to) && !underSameRefusal(in.To)
}

// underSameRefusal reports whether a destination is held for refusing everything
// with the same words.
func underSameRefusal(d webhook.Destination) bool {
	h, held := d.Hold(webhook.HoldMisdirected)
	return held && h.Basis == webhook.BasisSameRefusal
}

// settleRefusals ends the count after a success. Where a hold ends by it, its
// words are about some payloads only, and hold nothing again, unless one of those
// that were refused is taken: then the fault was mended.
func settleRefusals(in Sent, to webhook.Destination) webhook.Destination {
	r := to.Refusals
	taken := slices.ContainsFunc(r.Events, func(e webhook.Refused) bool { return e.Event == in.Delivery.EventID })
	switch {
	case taken:
		r = webhook.Refusals{}
	case underSameRefusal(in.To) && !in.Probe:
		return to // its request left before the hold began
	case underSameRefusal(in.To):
		r.Settled = r.Fingerprint
	case r.Settled != r.Fingerprint:
		r = webhook.Refusals{Settled: r.Settled}
	}
	to.Refusals = r
	return to
}
