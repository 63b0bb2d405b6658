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
	mu sync.Mutex // guards what is below
	// minutes is a ring: the minute m since the epoch is at m % keepMinutes.
	minutes [keepMinutes]minute
	sources map[string]*sourceStats
}

// minute is one minute's traffic.
type minute struct {
	// number is the minute since the epoch that the counts are of.
	number     int64
	received   int
	accepted   int
	duplicates int
	refused    int
	first      int
	retries    int
	probes     int
	delivered  int
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

// NewStats returns empty Stats.
func NewStats() *Stats {
	return &Stats{sources: map[string]*sourceStats{}}
}

// at returns the counts of the minute that holds a moment.
func (s *Stats) at(now time.Time) *minute {
	number := now.Unix() / 60
	m := &s.minutes[number%keepMinutes]
	if m.number != number {
		*m = minute{number: number}
	}
	return m
}

// observe counts a request to a receive path. Sources that are not configured
// share one entry.
func (s *Stats) observe(seen Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.at(seen.At)
	m.received++
	switch seen.Result {
	case webhook.ResultAccepted:
		m.accepted++
	case webhook.ResultDuplicate:
		m.duplicates++
	case webhook.ResultChallenge:
	default:
		m.refused++
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
		m.probes++
	case attempt.Number <= 1:
		m.first++
	default:
		m.retries++
	}
	if attempt.Outcome == webhook.OutcomeDelivered {
		m.delivered++
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
	if other == nil {
		return
	}
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

// view returns the last n minutes, oldest first, the running one included.
func (s *Stats) view(now time.Time, n int) statsView {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := statsView{Minutes: make([]minuteView, 0, n)}
	events := &sketch{}
	last := now.Unix() / 60
	for number := last - int64(n) + 1; number <= last; number++ {
		m := s.minutes[number%keepMinutes]
		if m.number != number {
			m = minute{number: number}
		}
		one := minuteView{At: stamp(time.Unix(number*60, 0)), totalsView: m.totals()}
		if m.events != nil {
			one.Amplification = amplification(one.Outgoing, m.events)
		}
		events.merge(m.events)
		view.Totals.add(one.totalsView)
		view.Minutes = append(view.Minutes, one)
	}
	view.Amplification = amplification(view.Totals.Outgoing, events)
	return view
}

// totals returns a minute's counts.
func (m minute) totals() totalsView {
	return totalsView{
		Received: m.received, Accepted: m.accepted, Duplicates: m.duplicates, Refused: m.refused,
		FirstSends: m.first, Retries: m.retries, Probes: m.probes, Delivered: m.delivered,
		Outgoing: m.first + m.retries + m.probes,
	}
}

// add adds another sum.
func (t *totalsView) add(o totalsView) {
	t.Received += o.Received
	t.Accepted += o.Accepted
	t.Duplicates += o.Duplicates
	t.Refused += o.Refused
	t.FirstSends += o.FirstSends
	t.Retries += o.Retries
	t.Probes += o.Probes
	t.Delivered += o.Delivered
	t.Outgoing += o.Outgoing
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
