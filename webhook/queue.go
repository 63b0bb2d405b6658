package webhook

import (
	"maps"
	"time"
)

// Queue counts what waits for one destination.
type Queue struct {
	Pending int
	Due     int
	Dead    int
	// Retries are those of the pending that were attempted before, DueRetries
	// those of the due: the retry budget holds them, and only them, back.
	Retries    int
	DueRetries int
	// Refused are those of the pending that are set aside alone and not due.
	Refused int
	// OldestDue is the earliest next time among the due; zero without any.
	OldestDue time.Time
	// Oldest is when the oldest of the pending began to wait: its receipt, or
	// its last redelivery. Zero without any.
	Oldest time.Time
}

// ByWait splits what is pending by what it waits for, as a destination with the
// given status treats it. The counts add up to Pending; what nothing waits for
// is left out. Queue and status may be of two moments: figures that do not fit
// together are cut to what is pending.
//
// Behind a closed gate everything waits for the gate. Behind an open one the
// retry budget holds back retries only, and full slots what is due.
func (q Queue) ByWait(s Status) map[WaitingFor]int {
	out := min(len(s.InFlight), q.Pending)
	counts := map[WaitingFor]int{WaitInFlight: out}
	left := q.Pending - out
	if gate := s.Gate.WaitingFor; gate != WaitDue && gate != "" {
		counts[gate] += left
		return withoutZeros(counts)
	}
	due := max(q.Due-out, 0) // what is in flight was due when it was sent
	if s.Policy.RetryBudget.N > 0 && s.RetriesLeft == 0 {
		retries := min(q.Retries, left)
		counts[WaitBudget] = retries
		left, due = left-retries, max(due-q.DueRetries, 0)
	}
	word := WaitDue
	if s.Full {
		word = WaitPace
	}
	due = min(due, left)
	counts[word] = due
	refused := min(q.Refused, left-due)
	counts[WaitRefused] = refused
	counts[WaitBackoff] = left - due - refused
	return withoutZeros(counts)
}

func withoutZeros(counts map[WaitingFor]int) map[WaitingFor]int {
	maps.DeleteFunc(counts, func(_ WaitingFor, n int) bool { return n == 0 })
	return counts
}
