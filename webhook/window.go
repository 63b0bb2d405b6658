package webhook

import (
	"slices"
	"time"
)

// windowMarks bounds the marks of a [Window]: requests that lie closer
// together than Per/windowMarks share one.
const windowMarks = 64

// Window is a sliding window over the requests that were sent. It never lets
// more than Rate.N requests into any window of length Rate.Per; requests that
// share a mark leave it together with the last of them, so it may let in a
// little fewer for up to a sixty-fourth of Per. A Window is a value: Add
// returns a new one and leaves the old as it was.
type Window struct {
	Rate Rate
	// Marks are in the order of time.
	Marks []Mark
}

// Mark stands for N requests that were sent from First to Last.
type Mark struct {
	First time.Time
	Last  time.Time
	N     int
}

// Add returns the window after n further requests at now.
func (w Window) Add(now time.Time, n int) Window {
	if w.Rate.N == 0 || n <= 0 {
		return w
	}
	now = Ceil(now)
	marks := make([]Mark, 0, len(w.Marks)+1)
	for _, mark := range w.Marks {
		if w.live(mark, now) {
			marks = append(marks, mark)
		}
	}
	if i := len(marks) - 1; i >= 0 && now.Sub(marks[i].First) < w.Rate.Per/windowMarks {
		marks[i].Last, marks[i].N = Later(marks[i].Last, now), marks[i].N+n
	} else {
		marks = append(marks, Mark{First: now, Last: now, N: n})
	}
	w.Marks = marks
	return w
}

// Remove returns the window without a request that was counted at a time and did
// not leave. A request that is not remembered any more changes nothing.
func (w Window) Remove(at time.Time) Window {
	at = Ceil(at)
	for i, mark := range w.Marks {
		if at.Before(mark.First) || at.After(mark.Last) {
			continue
		}
		marks := slices.Clone(w.Marks)
		if marks[i].N--; marks[i].N <= 0 {
			marks = slices.Delete(marks, i, i+1)
		}
		w.Marks = marks
		break
	}
	return w
}

// Left returns how many requests may be sent at now.
func (w Window) Left(now time.Time) int {
	left := w.Rate.N
	for _, mark := range w.Marks {
		if w.live(mark, now) {
			left -= mark.N
		}
	}
	return max(left, 0)
}

// Next returns the earliest time from now at which one more request fits. A
// window without a rate has room at once.
func (w Window) Next(now time.Time) time.Time {
	if w.Rate.N == 0 {
		return now
	}
	over := 1 - w.Rate.N
	for _, mark := range w.Marks {
		if w.live(mark, now) {
			over += mark.N
		}
	}
	at := now
	for _, mark := range w.Marks {
		if over <= 0 {
			break
		}
		if w.live(mark, now) {
			over -= mark.N
			at = Later(at, mark.Last.Add(w.Rate.Per))
		}
	}
	return at
}

// WithRate returns a window for another rate that remembers the same
// requests.
func (w Window) WithRate(rate Rate) Window {
	return Window{Rate: rate, Marks: w.Marks}
}

// live reports whether a mark still counts at now. A mark from the future
// counts: it was made before the clock was set back.
func (w Window) live(mark Mark, now time.Time) bool {
	return now.Before(mark.Last.Add(w.Rate.Per))
}
