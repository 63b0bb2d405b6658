package flaky

import (
	"fmt"
	"slices"
	"time"
)

// The bounds of a [Script].
const (
	// maxRules is how many rules a script may have.
	maxRules = 1000
	// maxPad is the largest Pad of an answer in bytes.
	maxPad = 1 << 30
	// maxDelay is the longest Latency, Delay or Trickle.
	maxDelay = 24 * time.Hour
	// maxFigure bounds the figures of a [Quota], so that sums never wrap.
	maxFigure = 1 << 50
)

// check reports the first thing that is wrong with the script.
func (s Script) check() error {
	if len(s.Rules) > maxRules {
		return fmt.Errorf("the script has %d rules; at most %d", len(s.Rules), maxRules)
	}
	if s.Latency < 0 || s.Latency > Duration(maxDelay) {
		return fmt.Errorf("latency: want 0 to %s", maxDelay)
	}
	for i, rule := range s.Rules {
		if err := rule.check(); err != nil {
			return fmt.Errorf("rule %d %q: %w", i+1, rule.Name, err)
		}
	}
	return nil
}

func (r Rule) check() error {
	if err := r.When.check(); err != nil {
		return err
	}
	return r.Answer.check()
}

func (w When) check() error {
	if w.Every < 0 || w.From < 0 || w.To < 0 || (w.To > 0 && w.To <= w.From) {
		return fmt.Errorf("when: want from before to")
	}
	if w.First < 0 || w.Each < 0 || w.Tries < 0 || (w.Last != 0 && w.Last < max(w.First, 1)) {
		return fmt.Errorf("when: want first up to last, from 1")
	}
	if w.LargerThan < 0 || !(w.Chance >= 0 && w.Chance <= 1) {
		return fmt.Errorf("when: want larger_than from 0 and chance from 0 to 1")
	}
	if w.Over.N < 0 || w.Over.Per < 0 {
		return fmt.Errorf("when: want over in a form like 60/1m")
	}
	if w.Quota != nil {
		return w.Quota.check()
	}
	return nil
}

func (q Quota) check() error {
	for _, figure := range []int64{q.Limit, q.Used, q.Cost} {
		if figure < 0 || figure > maxFigure {
			return fmt.Errorf("quota: want figures from 0 to %d", int64(maxFigure))
		}
	}
	if q.Reset <= 0 || q.Every < 0 {
		return fmt.Errorf("quota: want a reset above 0")
	}
	return nil
}

func (a Answer) check() error {
	if a.Status != 0 && (a.Status < 200 || a.Status > 599) {
		return fmt.Errorf("status %d: want 200 to 599", a.Status)
	}
	if a.Fault != "" && !slices.Contains(Faults(), a.Fault) {
		return fmt.Errorf("fault %q: want one of %v", a.Fault, Faults())
	}
	if a.Pad < 0 || a.Pad > maxPad {
		return fmt.Errorf("pad: want 0 to %d bytes", int64(maxPad))
	}
	for _, wait := range []Duration{a.Delay, a.Trickle} {
		if wait < 0 || wait > Duration(maxDelay) {
			return fmt.Errorf("delay and trickle: want 0 to %s", maxDelay)
		}
	}
	return nil
}
