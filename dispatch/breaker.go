package dispatch

import (
	"time"

	"weir/webhook"
)

const (
	// breakerInARow failures in a row open the breaker, or half of at least
	// breakerSample results within breakerWindow.
	breakerInARow = 5
	breakerSample = 10
	breakerWindow = 30 * time.Second
	// breakerOpen is how long it stays open at first; it doubles with each
	// failed trial up to breakerOpenMax.
	breakerOpen    = 30 * time.Second
	breakerOpenMax = 10 * time.Minute
)

// openFor is the time until the next trial, before jitter.
func openFor(b webhook.Breaker) time.Duration {
	return grow(breakerOpen, 2, b.Step, breakerOpenMax)
}

// fail returns the breaker after a failure. Answers that come in while it is
// open change nothing unless they are a trial's.
func fail(b webhook.Breaker, in Sent, chance Chance) webhook.Breaker {
	b.InARow++
	b.Recent = tally(b.Recent, webhook.Tally{At: webhook.Ceil(in.Answer.At), Failures: 1})
	b.Rule, b.Evidence = in.Answer.Rule, in.Answer.Evidence
	switch {
	case !b.Open() && trips(b):
		b.OpenSince, b.Step, b.Trials = webhook.Ceil(in.Answer.At), 0, 0
	case b.Open() && in.Probe:
		b.Step++
	default:
		return b
	}
	wait := openFor(b)
	if in.Answer.Slow {
		wait = max(wait, slowBase)
	}
	b.Until = webhook.Ceil(in.Answer.At.Add(jittered(wait, chance)))
	return b
}

// jittered draws an open time of up to half as much again, within the maximum:
// destinations that failed together must not be tried in step.
func jittered(wait time.Duration, chance Chance) time.Duration {
	return between(min(wait, breakerOpenMax*2/3), min(wait+wait/2, breakerOpenMax), chance)
}

// succeed returns the breaker after a success. While it is open only a trial
// closes it: an answer to a request that left before it opened is old news.
func succeed(b webhook.Breaker, in Sent) webhook.Breaker {
	if b.Open() && !in.Probe {
		return b
	}
	if b.Open() {
		return webhook.Breaker{}
	}
	b.InARow = 0
	b.Recent = tally(b.Recent, webhook.Tally{At: webhook.Ceil(in.Answer.At), Successes: 1})
	return b
}

// abstain returns the breaker after an answer that says nothing about it. A
// trial that ends so frees its place: the next may go after the shortest
// interval.
func abstain(b webhook.Breaker, in Sent) webhook.Breaker {
	if b.Open() && in.Probe {
		b.Until = webhook.Ceil(in.Answer.At.Add(breakerOpen))
	}
	return b
}

// trips reports whether a closed breaker has seen enough to open.
func trips(b webhook.Breaker) bool {
	failures, all := 0, 0
	for _, t := range b.Recent {
		failures += t.Failures
		all += t.Failures + t.Successes
	}
	return b.InARow >= breakerInARow || all >= breakerSample && 2*failures >= all
}

// tally adds a result to the counts by the second and drops the seconds that
// have left the window.
func tally(recent []webhook.Tally, result webhook.Tally) []webhook.Tally {
	kept := make([]webhook.Tally, 0, len(recent)+1)
	for _, t := range recent {
		if result.At.Sub(t.At) < breakerWindow {
			kept = append(kept, t)
		}
	}
	if i := len(kept) - 1; i >= 0 && result.At.Sub(kept[i].At) < time.Second {
		kept[i].Failures += result.Failures
		kept[i].Successes += result.Successes
		return kept
	}
	return append(kept, result)
}
