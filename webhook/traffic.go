package webhook

import "time"

// Minute is what came in and what went out in one minute.
type Minute struct {
	// At is the start of the minute.
	At time.Time
	// Received counts the requests to receive paths; Accepted, Duplicates and
	// Refused are those of them that were stored, recognised as repeats, or
	// neither. Handshakes are in Received alone.
	Received   int
	Accepted   int
	Duplicates int
	Refused    int
	// FirstSends, Retries and Probes count the requests that were sent, each
	// in one of them. Delivered counts those that succeeded.
	FirstSends int
	Retries    int
	Probes     int
	Delivered  int
}

// Outgoing counts the requests that were sent.
func (m Minute) Outgoing() int { return m.FirstSends + m.Retries + m.Probes }

// Plus returns the minute with the counts of another added.
func (m Minute) Plus(other Minute) Minute {
	m.Received += other.Received
	m.Accepted += other.Accepted
	m.Duplicates += other.Duplicates
	m.Refused += other.Refused
	m.FirstSends += other.FirstSends
	m.Retries += other.Retries
	m.Probes += other.Probes
	m.Delivered += other.Delivered
	return m
}
