package handler

import "time"

// Minute is one minute's traffic for readers inside the process: requests to
// the receive paths by what became of them, requests that were sent by their
// kind, and deliveries that succeeded.
type Minute struct {
	// At is the start of the minute.
	At         time.Time
	Received   int
	Accepted   int
	Duplicates int
	Refused    int
	FirstSends int
	Retries    int
	Probes     int
	Delivered  int
}

// Minutes returns the last n minutes, at most a day, oldest first and the
// running one included.
func (s *Stats) Minutes(now time.Time, n int) []Minute {
	view := s.view(now, max(min(n, keepMinutes), 0))
	minutes := make([]Minute, 0, len(view.Minutes))
	for _, m := range view.Minutes {
		minutes = append(minutes, Minute{
			At: time.Time(m.At), Received: m.Received, Accepted: m.Accepted,
			Duplicates: m.Duplicates, Refused: m.Refused, FirstSends: m.FirstSends,
			Retries: m.Retries, Probes: m.Probes, Delivered: m.Delivered,
		})
	}
	return minutes
}
