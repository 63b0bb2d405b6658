package alert

import "time"

const (
	// cadenceDays is how far back the cadence of a source is remembered: two
	// weekends.
	cadenceDays = 14
	// cadenceEvents is how many events make a source an active one.
	cadenceEvents = 10
	// leastSilence is silence that never counts as such, mostSilence silence
	// that always does.
	leastSilence = time.Hour
	mostSilence  = 30 * 24 * time.Hour
	// youngSilence is the least of a source that is known for less than a day:
	// its nights have not been seen yet.
	youngSilence = 24 * time.Hour
	// silenceFactor is how many of its longest gaps a source may be silent.
	silenceFactor = 3
)

// Cadence is how regularly a source sends. It is a value.
type Cadence struct {
	first  time.Time
	last   time.Time
	events int
	days   [cadenceDays]dayGap
}

// dayGap is the longest gap that ended on a day.
type dayGap struct {
	day     int64 // since the epoch
	longest time.Duration
}

// Heard returns the cadence after one more event.
func (r Cadence) Heard(at time.Time) Cadence {
	if r.events == 0 {
		return Cadence{first: at, last: at, events: 1}
	}
	if !at.After(r.last) {
		r.events++
		return r
	}
	return r.withGap(dayGap{day: at.Unix() / 86400, longest: at.Sub(r.last)}, at)
}

// withGap counts an event after a gap.
func (r Cadence) withGap(gap dayGap, at time.Time) Cadence {
	slot := &r.days[gap.day%cadenceDays]
	if slot.day != gap.day {
		*slot = dayGap{day: gap.day}
	}
	slot.longest = max(slot.longest, gap.longest)
	r.last = at
	r.events++
	return r
}

// followedBy joins what was stored before with what has come in since.
func (r Cadence) followedBy(later Cadence) Cadence {
	if later.events == 0 {
		return r
	}
	if r.events == 0 {
		return later
	}
	joined := r.Heard(later.first)
	for _, gap := range later.days {
		if gap.longest > 0 {
			joined = joined.withGap(gap, joined.last)
		}
	}
	joined.last = later.last
	joined.events = r.events + later.events
	return joined
}

// silenceThreshold is how long a source may be silent: three times the longest gap of
// the two weeks up to its last event, within bounds. It reports false for a
// source that has never been active.
func (r Cadence) silenceThreshold() (time.Duration, bool) {
	if r.events < cadenceEvents {
		return 0, false
	}
	longest := time.Duration(0)
	for _, gap := range r.days {
		if gap.day > r.last.Unix()/86400-cadenceDays {
			longest = max(longest, gap.longest)
		}
	}
	patience := max(silenceFactor*longest, leastSilence)
	if r.last.Sub(r.first) < youngSilence {
		patience = max(patience, youngSilence)
	}
	return min(patience, mostSilence), true
}

// silent reports whether a source has been silent for longer than its cadence
// allows. The time before since, when nobody could have heard it, does not
// count.
func (r Cadence) silent(now, since time.Time) bool {
	patience, active := r.silenceThreshold()
	from := r.last
	if since.After(from) {
		from = since
	}
	return active && now.Sub(from) > patience
}
