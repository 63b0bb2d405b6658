package dispatch

import (
	"time"

	"weir/webhook"
)

// holdWait is how a hold waits when the answer gives no time: base, doubling
// with each refusal in a row, up to limit.
type holdWait struct {
	base  time.Duration
	limit time.Duration
}

// waitOf returns the own wait of a hold that a probe can end; paused and gone
// wait for a person and have none.
func waitOf(reason webhook.HoldReason) (holdWait, bool) {
	switch reason {
	case webhook.HoldRetryAfter:
		return holdWait{base: 4 * time.Second, limit: 15 * time.Minute}, true
	case webhook.HoldQuota, webhook.HoldAuth:
		return holdWait{base: 15 * time.Minute, limit: time.Hour}, true
	case webhook.HoldMisdirected:
		return holdWait{base: 15 * time.Minute, limit: 15 * time.Minute}, true
	default:
		return holdWait{}, false
	}
}

// quotaHintGrowth doubles the hold of a quota whose own hint proved too short:
// 1 min, 2, 4 … 1 h. Such hints are really sent (Gemini answers a spent day
// with a RetryInfo of seconds).
const quotaHintGrowth = time.Minute

// probed reports whether a hold is ended by a probe, not by a person alone.
func probed(reason webhook.HoldReason) bool {
	_, ok := waitOf(reason)
	return ok
}

// interval is the least time between two probes of a hold.
func interval(hold webhook.Hold) time.Duration {
	wait, _ := waitOf(hold.Reason)
	return grow(wait.base, 2, hold.Step, wait.limit)
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
func hold(d webhook.Destination, in Sent, reason webhook.HoldReason, chance Chance) webhook.Destination {
	h, held := d.Hold(reason)
	switch {
	case !held:
		h = webhook.Hold{Reason: reason, Since: webhook.Ceil(in.Answer.At)}
	case in.Probe:
		h.Step++
	}
	h.Status, h.Rule, h.Evidence = in.Answer.Status, in.Answer.Rule, in.Answer.Evidence
	if !probed(reason) {
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
	if held && !in.Probe {
		until = webhook.Later(until, h.Until)
	}
	h.Until = until
	h.NeedsOperator = needsOperator(reason) || in.Answer.Hint.Wait > in.Policy.MaxHold
	return d.WithHold(h)
}

// needsOperator reports whether a hold is expected to last until a person
// mends something.
func needsOperator(reason webhook.HoldReason) bool {
	return reason != webhook.HoldRetryAfter && reason != webhook.HoldQuota
}
