package flaky

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"time"
)

// Stats returns the counts so far.
func (s *Server) Stats() Stats {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.book.stats
	stats.Statuses = maps.Clone(stats.Statuses)
	stats.Rules = maps.Clone(stats.Rules)
	stats.LastMinute, stats.WorstMinute = s.book.minute.count(now), s.book.minute.worst
	stats.LastSecond, stats.WorstSecond = s.book.second.count(now), s.book.second.worst
	stats.Events = len(s.book.order)
	return stats
}

// Requests returns the last [keptRequests] requests in the order of their
// arrival.
func (s *Server) Requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	ring := s.book.ring
	oldest := 0
	if len(ring) == keptRequests {
		oldest = s.book.stats.Requests % keptRequests
	}
	return append(append([]Seen{}, ring[oldest:]...), ring[:oldest]...)
}

// Events returns what was seen of the first [keptEvents] event ids, in the
// order in which they first came.
func (s *Server) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := make([]Event, len(s.book.order))
	for i, event := range s.book.order {
		events[i] = *event
	}
	return events
}

// serveCounts answers below /_flaky/.
func (s *Server) serveCounts(w http.ResponseWriter, r *http.Request) {
	var counts any
	switch strings.TrimPrefix(r.URL.Path, "/_flaky/") {
	case "stats":
		counts = s.Stats()
	case "requests":
		counts = map[string]any{"items": s.Requests()}
	case "events":
		counts = map[string]any{"items": s.Events()}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(counts)
}
