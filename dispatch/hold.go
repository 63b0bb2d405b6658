package dispatch

import (
	"time"

	"weir/webhook"
)

// holdWait is how a hold waits when the answer gives no time: base, growing by
// factor with each refusal in a row, up to limit.
type holdWait struct {
	base   time.Duration
	factor float64
	limit  time.Duration
}

// waitOf returns the own wait of a hold that a probe can end; paused and a sure
// gone wait for a person and have none. A hold that rests on statuses alone is
// tested soon, and then ever later: two odd payloads must not stop all others.
func waitOf(h webhook.Hold) (holdWait, bool) {
	wait := holdWait{factor: 2}
	switch h.Reason {
	case webhook.HoldRetryAfter:
		wait.base, wait.limit = 4*time.Second, 15*time.Minute
	case webhook.HoldQuota, webhook.HoldAuth:
		wait.base, wait.limit = 15*time.Minute, time.Hour
	case webhook.HoldMisdirected:
		wait.base, wait.limit = 15*time.Minute, 15*time.Minute
	case webhook.HoldGone:
		wait.base, wait.limit = 15*time.Minute, time.Hour
		return wait, h.Basis == webhook.BasisPresumed
	default:
		return holdWait{}, false
	}
	switch h.Basis {
	case webhook.BasisWitnessed:
		wait.base, wait.factor = 4*time.Second, 4
	case webhook.BasisSameRefusal:
		wait.base = time.Minute
	}
	return wait, true
}

// quotaHintGrowth doubles the hold of a quota whose own hint proved too short:
// 1 min, 2, 4 … 1 h. Such hints are really sent (Gemini answers a spent day
// with a RetryInfo of seconds).
const quotaHintGrowth = time.Minute

// probed reports whether a hold is ended by a probe, not by a person alone.
func probed(h webhook.Hold) bool {
	_, ok := waitOf(h)
	return ok
}

// interval is the least time between two probes of a hold.
func interval(hold webhook.Hold) time.Duration {
	wait, _ := waitOf(hold)
	return grow(wait.base, wait.factor, hold.Step, wait.limit)
}

// ownWait is how long a hold waits by itself after a refusal, as the least
// bound for a hint that the answer gave.
func ownWait(hold webhook.Hold, answer webhook.Answer) time.Duration {
	if answer.Hint.Wait <= 0 {
		return max(interval(hold), answer.OwnWait)
	}
	if hold.Step == 0 && (hold.Reason == webhook.HoldRetryAfter || hold.Reason == webhook.HoldQuota) {
		return backoffFloor
	}
	earlier := hold
	earlier.Step--
	if hold.Reason == webhook.HoldQuota {
		return grow(quotaHintGrowth, 2, earlier.Step, time.Hour)
	}
	return interval(earlier)
}

// hold returns the destination with a hold begun or renewed by an answer. The
// step grows only when a probe was refused: several answers of one burst are
// one refusal.
func hold(d webhook.Destination, in Sent, kind webhook.Hold, chance Chance) webhook.Destination {
	h, held := d.Hold(kind.Reason)
	tested := in.Probe && !renewedSince(in, h)
	switch {
	case !held || h.Basis != kind.Basis:
		h = webhook.Hold{Reason: kind.Reason, Basis: kind.Basis, Since: webhook.Ceil(in.Answer.At)}
		held = false
	case in.Probe:
		h.Step++
	}
	h.Status, h.Rule, h.Evidence = in.Answer.Status, in.Answer.Rule, in.Answer.Evidence
	if h.Basis == webhook.BasisSameRefusal {
		h.Evidence.Note = noteSame
	}
	if !probed(h) {
		h.Until, h.NeedsOperator = time.Time{}, true
		return d.WithHold(h)
	}
	own := ownWait(h, in.Answer)
	wait := max(in.Answer.Hint.Wait, own)
	h.From = "own wait"
	if in.Answer.Hint.Given() && wait > own {
		h.From = in.Answer.Hint.From
	}
	until := webhook.Ceil(in.Answer.At.Add(wait + spread(wait, chance)))
	if held && !tested {
		until = webhook.Later(until, h.Until)
	}
	h.Until = until
	h.NeedsOperator = needsOperator(h) || in.Answer.Hint.Wait > in.Policy.MaxHold
	return d.WithHold(h)
}

// needsOperator reports whether a hold is expected to last until a person
// mends something. A presumed one may end with the next event, unless the same
// payload has been refused twice.
func needsOperator(h webhook.Hold) bool {
	if h.Basis == webhook.BasisPresumed && h.Step == 0 {
		return false
	}
	return h.Reason != webhook.HoldRetryAfter && h.Reason != webhook.HoldQuota
}
