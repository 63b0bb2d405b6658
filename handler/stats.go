package handler

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net/http"
	"sync"
	"time"

	"weir/webhook"
)

// keepMinutes is how far back [Stats] goes: a day.
const keepMinutes = 24 * 60

// Stats counts what comes in and what goes out, by the minute, since the
// process began. Its memory is bounded: a few megabytes when every minute of a
// day had traffic.
type Stats struct {
	// since is when counting began.
	since time.Time

	mu sync.Mutex // guards what is below
	// minutes is a ring: the minute m since the epoch is at m % keepMinutes.
	minutes [keepMinutes]minute
	sources map[string]*sourceStats
}

// minute is one minute's traffic.
type minute struct {
	// number is the minute since the epoch that the counts are of.
	number int64
	counts webhook.Minute
	// events is nil in a minute without requests.
	events *sketch
}

// sourceStats is what came from one source.
type sourceStats struct {
	results      map[webhook.Result]int64
	lastAccepted time.Time
	lastSecret   int
	secretAt     time.Time
}

// NewStats returns empty Stats, which count from now on.
func NewStats() *Stats {
	return &Stats{since: time.Now(), sources: map[string]*sourceStats{}}
}

// at returns the counts of the minute that holds a moment.
func (s *Stats) at(now time.Time) *minute {
	number := now.Unix() / 60
	m := &s.minutes[number%keepMinutes]
	if m.number != number {
		*m = newMinute(number)
	}
	return m
}

// newMinute returns a minute without traffic.
func newMinute(number int64) minute {
	return minute{number: number, counts: webhook.Minute{At: time.Unix(number*60, 0).UTC()}}
}

// observe counts a request to a receive path. Sources that are not configured
// share one entry.
func (s *Stats) observe(seen Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.at(seen.At)
	m.counts.Received++
	switch seen.Result {
	case webhook.ResultAccepted:
		m.counts.Accepted++
	case webhook.ResultDuplicate:
		m.counts.Duplicates++
	case webhook.ResultChallenge:
	default:
		m.counts.Refused++
	}
	source, known := s.sources[seen.Source]
	if !known {
		source = &sourceStats{results: map[webhook.Result]int64{}, lastSecret: noSecret}
		s.sources[seen.Source] = source
	}
	source.results[seen.Result]++
	if seen.Result == webhook.ResultAccepted {
		source.lastAccepted = seen.At
	}
	if seen.Secret >= 0 {
		source.lastSecret, source.secretAt = seen.Secret, seen.At
	}
}

// Attempted counts a request that was sent for an event.
func (s *Stats) Attempted(event webhook.ID, attempt webhook.Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.at(attempt.At)
	switch {
	case attempt.Probe:
		m.counts.Probes++
	case attempt.Number <= 1:
		m.counts.FirstSends++
	default:
		m.counts.Retries++
	}
	if attempt.Outcome == webhook.OutcomeDelivered {
		m.counts.Delivered++
	}
	if m.events == nil {
		m.events = &sketch{}
	}
	m.events.add(event)
}

// sketch estimates how many different events there were, by linear counting:
// exactly for few, within about 2 % for 20,000, and never above some 170,000.
type sketch [sketchBits / 64]uint64

const sketchBits = 1 << 14

// add marks an event. The end of a UUIDv7 is random.
func (k *sketch) add(id webhook.ID) {
	bit := binary.BigEndian.Uint16(id[14:]) % sketchBits
	k[bit/64] |= 1 << (bit % 64)
}

// merge marks all events of another sketch.
func (k *sketch) merge(other *sketch) {
	for i, word := range other {
		k[i] |= word
	}
}

// count returns the estimate.
func (k *sketch) count() float64 {
	empty := sketchBits
	for _, word := range k {
		empty -= bits.OnesCount64(word)
	}
	return -sketchBits * math.Log(max(float64(empty), 0.5)/sketchBits)
}

// statsView is the answer of GET /v1/stats.
type statsView struct {
	Minutes []minuteView `json:"minutes"`
	Totals  totalsView   `json:"totals"`
	// Amplification is outgoing requests ÷ events delivered or tried; null
	// without any.
	Amplification *float64 `json:"amplification"`
	// CountedSince is when the process began to count: before it, minutes are
	// empty whatever came.
	CountedSince stamp `json:"counted_since"`
}

type minuteView struct {
	At stamp `json:"at"`
	totalsView
	Amplification *float64 `json:"amplification"`
}

type totalsView struct {
	Received   int `json:"received"`
	Accepted   int `json:"accepted"`
	Duplicates int `json:"duplicates"`
	Refused    int `json:"refused"`
	FirstSends int `json:"first_sends"`
	Retries    int `json:"retries"`
	Probes     int `json:"probes"`
	Delivered  int `json:"delivered"`
	Outgoing   int `json:"outgoing"`
}

// recent returns the last n minutes, oldest first and the running one included.
// The caller holds mu.
func (s *Stats) recent(now time.Time, n int) []minute {
	list := make([]minute, 0, n)
	last := now.Unix() / 60
	for number := last - int64(n) + 1; number <= last; number++ {
		m := s.minutes[number%keepMinutes]
		if m.number != number {
			m = newMinute(number)
		}
		list = append(list, m)
	}
	return list
}

// Since is when counting began.
func (s *Stats) Since() time.Time { return s.since }

// Minutes returns the last n minutes, at most a day, oldest first and the
// running one included.
func (s *Stats) Minutes(now time.Time, n int) []webhook.Minute {
	s.mu.Lock()
	defer s.mu.Unlock()
	recent := s.recent(now, max(min(n, keepMinutes), 0))
	minutes := make([]webhook.Minute, len(recent))
	for i, m := range recent {
		minutes[i] = m.counts
	}
	return minutes
}

// view returns the last n minutes for clients.
func (s *Stats) view(now time.Time, n int) statsView {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := statsView{Minutes: make([]minuteView, 0, n), CountedSince: stamp(s.since)}
	var totals webhook.Minute
	events := &sketch{}
	for _, m := range s.recent(now, n) {
		one := minuteView{At: stamp(m.counts.At), totalsView: viewTotals(m.counts)}
		if m.events != nil {
			one.Amplification = amplification(one.Outgoing, m.events)
			events.merge(m.events)
		}
		totals = totals.Plus(m.counts)
		view.Minutes = append(view.Minutes, one)
	}
	view.Totals = viewTotals(totals)
	view.Amplification = amplification(view.Totals.Outgoing, events)
	return view
}

func viewTotals(m webhook.Minute) totalsView {
	return totalsView{
		Received: m.Received, Accepted: m.Accepted, Duplicates: m.Duplicates, Refused: m.Refused,
		FirstSends: m.FirstSends, Retries: m.Retries, Probes: m.Probes, Delivered: m.Delivered,
		Outgoing: m.Outgoing(),
	}
}

// amplification rounds to hundredths: more would feign a precision that an
// estimate does not have.
func amplification(outgoing int, events *sketch) *float64 {
	if outgoing == 0 {
		return nil
	}
	tried := max(math.Round(events.count()), 1)
	ratio := math.Round(100*float64(outgoing)/tried) / 100
	return &ratio
}

// stats is GET /v1/stats.
func (h *api) stats(r *http.Request) (result, error) {
	f := queryFields(r.URL.RawQuery, "minutes")
	minutes := f.number("minutes", 60, keepMinutes)
	if f.err != nil {
		return result{}, f.err
	}
	return ok(h.config.Stats.view(time.Now(), minutes))
}
