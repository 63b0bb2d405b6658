package main

import "time"

const (
	// rhythmDays is how far back the rhythm of a source is remembered: two
	// weekends.
	rhythmDays = 14
	// rhythmEvents is how many events make a source an active one.
	rhythmEvents = 10
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

// rhythm is how regularly a source sends. It is a value.
type rhythm struct {
	first  time.Time
	last   time.Time
	events int
	days   [rhythmDays]dayGap
}

// dayGap is the longest gap that ended on a day.
type dayGap struct {
	day     int64 // since the epoch
	longest time.Duration
}

// heard returns the rhythm after one more event.
func (r rhythm) heard(at time.Time) rhythm {
	if r.events == 0 {
		return rhythm{first: at, last: at, events: 1}
	}
	if !at.After(r.last) {
		r.events++
		return r
	}
	return r.withGap(dayGap{day: at.Unix() / 86400, longest: at.Sub(r.last)}, at)
}

// withGap counts an event after a gap.
func (r rhythm) withGap(gap dayGap, at time.Time) rhythm {
	slot := &r.days[gap.day%rhythmDays]
	if slot.day != gap.day {
		*slot = dayGap{day: gap.day}
	}
	slot.longest = max(slot.longest, gap.longest)
	r.last = at
	r.events++
	return r
}

// followedBy joins what was stored before with what has come in since.
func (r rhythm) followedBy(later rhythm) rhythm {
	if later.events == 0 {
		return r
	}
	if r.events == 0 {
		return later
	}
	joined := r.heard(later.first)
	for _, gap := range later.days {
		if gap.longest > 0 {
			joined = joined.withGap(gap, joined.last)
		}
	}
	joined.last = later.last
	joined.events = r.events + later.events
	return joined
}

// patience is how long a source may be silent: three times the longest gap of
// the two weeks up to its last event, within bounds. It reports false for a
// source that has never been active.
func (r rhythm) patience() (time.Duration, bool) {
	if r.events < rhythmEvents {
		return 0, false
	}
	longest := time.Duration(0)
	for _, gap := range r.days {
		if gap.day > r.last.Unix()/86400-rhythmDays {
			longest = max(longest, gap.longest)
		}
	}
	patience := max(silenceFactor*longest, leastSilence)
	if r.last.Sub(r.first) < youngSilence {
		patience = max(patience, youngSilence)
	}
	return min(patience, mostSilence), true
}

// silent reports whether a source has been silent for longer than its rhythm
// allows. The time before since, when nobody could have heard it, does not
// count.
func (r rhythm) silent(now, since time.Time) bool {
	patience, active := r.patience()
	from := r.last
	if since.After(from) {
		from = since
	}
	return active && now.Sub(from) > patience
}
