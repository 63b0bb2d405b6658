package webhook

import "time"

// Ceil returns t in UTC, without a monotonic reading, rounded up to the next
// whole millisecond: the form in which the store keeps times. A wait that is
// written down this way is never shorter than it was.
func Ceil(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	t = t.Round(0).UTC()
	if down := t.Truncate(time.Millisecond); !down.Equal(t) {
		return down.Add(time.Millisecond)
	}
	return t
}

// Floor returns t in UTC, without a monotonic reading, rounded down to a whole
// millisecond: the form in which a clock is compared with times that are kept.
// A moment that was rounded up is never reached early.
func Floor(t time.Time) time.Time {
	return t.Round(0).UTC().Truncate(time.Millisecond)
}

// Later returns the later of two moments; the zero time is earlier than any.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
