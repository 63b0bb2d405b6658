package flaky

import "time"

// sliding counts what lies within the last per. What came within one grain
// shares a mark and leaves with the last of it: the grain is a millisecond, or
// a 65,536th of per where that is longer, which bounds the marks. Callers hold
// the lock of what it belongs to.
type sliding struct {
	per   time.Duration
	marks []mark
	n     int
	worst int
}

// mark stands for n requests, the last of them at at.
type mark struct {
	at time.Time
	n  int
}

// add counts one more at now.
func (s *sliding) add(now time.Time) {
	s.forget(now)
	grain := max(time.Millisecond, s.per>>16)
	last := len(s.marks) - 1
	if last >= 0 && now.Truncate(grain).Equal(s.marks[last].at.Truncate(grain)) {
		s.marks[last].at = now
		s.marks[last].n++
	} else {
		s.marks = append(s.marks, mark{at: now, n: 1})
	}
	s.n++
	s.worst = max(s.worst, s.n)
}

// count returns how many the window holds at now.
func (s *sliding) count(now time.Time) int {
	s.forget(now)
	return s.n
}

// untilRoom returns how long it takes from now until the oldest has left.
func (s *sliding) untilRoom(now time.Time) time.Duration {
	s.forget(now)
	if len(s.marks) == 0 {
		return 0
	}
	return s.marks[0].at.Add(s.per).Sub(now)
}

// forget drops what has left the window.
func (s *sliding) forget(now time.Time) {
	gone := 0
	for gone < len(s.marks) && !now.Before(s.marks[gone].at.Add(s.per)) {
		s.n -= s.marks[gone].n
		gone++
	}
	s.marks = s.marks[gone:]
}
