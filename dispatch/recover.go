package dispatch

import (
	"time"

	"weir/webhook"
)

// TakeOver returns the state of a destination with which an owner begins after
// the process before it stopped cleanly: what was stored, fitted to the
// policy and to a clock that may have been set back.
func TakeOver(d webhook.Destination, p webhook.Policy, now time.Time) webhook.Destination {
	now = webhook.Ceil(now)
	d.Name = p.Name
	if d.Fingerprint != p.Fingerprint {
		d = d.WithoutHold(webhook.HoldAuth, webhook.HoldGone, webhook.HoldMisdirected)
		for _, h := range d.Holds {
			if h.Basis != webhook.BasisSure {
				d = d.WithoutHold(h.Reason)
			}
		}
		d.Suspicion = webhook.Suspicion{}
		d.Doubted, d.Refusals, d.Misdirected = nil, webhook.Refusals{}, 0
		d.Fingerprint = p.Fingerprint
	}
	d.Sent = refit(d.Sent, p.Rate)
	d.Retries = d.Retries.WithRate(p.RetryBudget)
	d = fitToClock(d, now)
	d.RampFrom = time.Time{}
	d.Rev++
	return d
}

// mostUnrecorded is how many requests may be out or waiting for their record to
// be on disk: the next requests need not wait for the records of the last.
func mostUnrecorded(p webhook.Policy) int { return 2 * p.Concurrency }

// Recover is TakeOver after a process that did not stop cleanly. The attempts that
// were out then were counted nowhere; they are counted now. There are never more
// than twice CONCURRENCY of them.
func Recover(d webhook.Destination, p webhook.Policy, now time.Time, lost int) webhook.Destination {
	d = TakeOver(d, p, now)
	lost = min(lost, mostUnrecorded(p))
	if lost == 0 {
		return d
	}
	for i, window := range d.Sent {
		d.Sent[i] = window.Add(now, min(lost, window.Rate.N))
	}
	d.Retries = d.Retries.Add(now, min(lost, d.Retries.Rate.N))
	return d
}

// possiblySent counts the first sends after a crash that may really be repeats,
// where the in-flight log does not tell which: after the loss of power, or on a
// full volume. As many as Recover has
// counted in the retry window are covered while they are in it; all others
// count as retries.
type possiblySent struct {
	left    int
	covered int
	until   time.Time
}

func newPossiblySent(p webhook.Policy, now time.Time) possiblySent {
	return possiblySent{
		left:    mostUnrecorded(p),
		covered: min(mostUnrecorded(p), p.RetryBudget.N),
		until:   now.Add(p.RetryBudget.Per),
	}
}

// counts reports whether the next first send must count as a retry.
func (s possiblySent) counts(now time.Time) bool {
	return s.left > 0 && (s.covered == 0 || !now.Before(s.until))
}

// next returns what is left after one more first send.
func (s possiblySent) next() possiblySent {
	s.left, s.covered = max(s.left-1, 0), max(s.covered-1, 0)
	return s
}

// refit carries counted requests over to the configured rates: each takes the
// marks of the window that looked back the same time, or longest.
func refit(old []webhook.Window, rates []webhook.Rate) []webhook.Window {
	var windows []webhook.Window
	for _, rate := range rates {
		var best webhook.Window
		for _, window := range old {
			if window.Rate.Per == rate.Per {
				best = window
				break
			}
			if window.Rate.Per > best.Rate.Per {
				best = window
			}
		}
		windows = append(windows, best.WithRate(rate))
	}
	return windows
}

// clampFuture cuts times that lie further ahead than any weir would set them:
// they come from a clock that was wrong, and would stop the destination for as
// long as it was wrong by.
func clampFuture(d webhook.Destination, now time.Time) webhook.Destination {
	limit := webhook.Ceil(now.Add(webhook.MaxHint + maxSpread))
	for _, h := range d.Holds {
		if h.Until.After(limit) {
			h.Until = limit
			d = d.WithHold(h)
		}
	}
	if soonest := now.Add(breakerOpenMax); d.Breaker.Open() && d.Breaker.Until.After(soonest) {
		d.Breaker.Until = soonest
	}
	if soonest := now.Add(witnessEvery); d.Suspicion.WitnessFrom.After(soonest) {
		d.Suspicion.WitnessFrom = webhook.Ceil(soonest)
	}
	if d.Pace.NotBefore.After(limit) {
		d.Pace.NotBefore = limit
	}
	if d.LastSentAt.After(now) {
		d.LastSentAt = now
	}
	d.Retries.Marks = past(d.Retries.Marks, now)
	for i := range d.Sent {
		d.Sent[i].Marks = past(d.Sent[i].Marks, now)
	}
	return d
}

// past moves marks from the future to now.
func past(marks []webhook.Mark, now time.Time) []webhook.Mark {
	kept := make([]webhook.Mark, 0, len(marks))
	for _, mark := range marks {
		if mark.Last.After(now) {
			mark.Last = now
		}
		if mark.First.After(now) {
			mark.First = now
		}
		kept = append(kept, mark)
	}
	return kept
}
