package flaky

import "time"

// arrival is what a rule may look at.
type arrival struct {
	at     time.Time
	since  time.Duration
	number int
	// try is the request's number among those of its event id.
	try  int
	path string
	size int64
	// roll gives the next chance, from 0 up to 1.
	roll func() float64
}

// figures are what an answer may tell about the rule that applied.
type figures struct {
	wait      time.Duration
	limit     int64
	used      int64
	requested int64
}

// gate is a rule with what it has counted so far.
type gate struct {
	rule   Rule
	window sliding
	quota  allowance
}

func newGate(rule Rule) *gate {
	g := &gate{rule: rule, window: sliding{per: rule.When.Over.Per}}
	if q := rule.When.Quota; q != nil {
		g.quota = allowance{used: q.Used, reset: time.Duration(q.Reset)}
	}
	return g
}

// applies reports whether the rule answers this request. Chance comes behind
// the cheaper conditions and before the caps, so that only what would
// otherwise apply is diced for.
func (g *gate) applies(a arrival) (figures, bool) {
	when := g.rule.When
	f := figures{requested: a.size, limit: when.LargerThan}
	if !when.inTime(a.since, &f) || !when.inNumber(a.number) {
		return f, false
	}
	if when.Tries > 0 && a.try > when.Tries {
		return f, false
	}
	if when.Path != "" && when.Path != a.path {
		return f, false
	}
	if when.LargerThan > 0 && a.size <= when.LargerThan {
		return f, false
	}
	if when.Chance > 0 && a.roll() >= when.Chance {
		return f, false
	}
	return f, g.exceeded(a, &f)
}

// exceeded reports whether cap and quota, as far as the rule has them, are
// used up; where one has room the request uses it.
func (g *gate) exceeded(a arrival, f *figures) bool {
	if rate := g.rule.When.Over; rate.N > 0 {
		if g.window.count(a.at) < rate.N {
			g.window.add(a.at)
			return false
		}
		*f = figures{wait: g.window.untilRoom(a.at), limit: int64(rate.N), used: int64(rate.N), requested: 1}
	}
	if q := g.rule.When.Quota; q != nil {
		return g.quota.exceeded(*q, a.since, f)
	}
	return true
}

// inTime reports whether the time since the start lies within From and To and
// notes when it no longer will.
func (w When) inTime(since time.Duration, f *figures) bool {
	if w.Every > 0 {
		since %= time.Duration(w.Every)
	}
	if w.To > 0 {
		f.wait = time.Duration(w.To) - since
	}
	return since >= time.Duration(w.From) && (w.To == 0 || f.wait > 0)
}

// inNumber reports whether a request's number lies within First and Last.
func (w When) inNumber(number int) bool {
	if w.Each > 0 {
		number = (number-1)%w.Each + 1
	}
	return number >= w.First && (w.Last == 0 || number <= w.Last)
}

// allowance is the state of a [Quota].
type allowance struct {
	used int64
	// reset is the next one, counted from the start.
	reset time.Duration
}

// exceeded takes one request's cost from the allowance, or reports that it
// does not suffice.
func (s *allowance) exceeded(q Quota, since time.Duration, f *figures) bool {
	if since >= s.reset {
		every := time.Duration(q.Every)
		if every == 0 {
			every = 24 * time.Hour
		}
		s.used = 0
		s.reset += every * ((since-s.reset)/every + 1)
	}
	if s.used+q.Cost <= q.Limit {
		s.used += q.Cost
		return false
	}
	*f = figures{wait: s.reset - since, limit: q.Limit, used: s.used, requested: q.Cost}
	return true
}
