package ratelimit

import (
	"context"
	"net/http"

	"weir/webhook"
)

// repeatFactor is how many times as many repeats as new events a source may
// bring: a repeat costs less, and refusing one makes a sender try for longer.
const repeatFactor = 10

// Source is the allowance of one source.
type Source struct {
	// Rates of new events, all of which must hold. None is no limit.
	Rates []webhook.Rate
	// Per says for whom the rates hold.
	Per Per
}

// Per says who has an allowance.
type Per int

const (
	// PerSource is one allowance for all callers of a source: those who can
	// use it up have proved to know its secret.
	PerSource Per = iota
	// PerCaller is one allowance for each caller, for unsigned sources, where
	// anybody could use up that of all others.
	PerCaller
)

// Sources bounds the new events and the repeats of each source, in separate
// allowances: a storm of repeats does not keep a new event out. Only what was
// stored, or recognised as a repeat, uses an allowance up.
type Sources struct {
	byName map[string]allowances
}

type allowances struct {
	per     Per
	fresh   *limiter
	repeats *limiter
}

// NewSources returns the allowances of the sources by name.
func NewSources(byName map[string]Source) *Sources {
	s := &Sources{byName: map[string]allowances{}}
	for name, source := range byName {
		table := table{MaxKeys: 1, WhenFull: shareOne, Marks: 64}
		if source.Per == PerCaller {
			// Unsigned senders beyond the table share one allowance: their
			// addresses cost them nothing.
			table.MaxKeys, table.Marks = MaxKeys/4, 0
		}
		s.byName[name] = allowances{
			per:     source.Per,
			fresh:   newLimiter("events", source.Rates, table),
			repeats: newLimiter("repeats", times(source.Rates, repeatFactor), table),
		}
	}
	return s
}

func times(rates []webhook.Rate, factor int) []webhook.Rate {
	more := make([]webhook.Rate, len(rates))
	for i, rate := range rates {
		more[i] = webhook.Rate{N: rate.N * factor, Per: rate.Per}
	}
	return more
}

// Take takes a place for a new event and one for a repeat, because only the
// store will know which of them a request is. Fresh and repeat are nil, or the
// header fields of the 429 that it would deserve. The caller must call settle
// with what became of the request, which gives back what was not used up.
func (s *Sources) Take(ctx context.Context, source string) (settle func(webhook.Result), fresh, repeat http.Header) {
	a, known := s.byName[source]
	if !known {
		return func(webhook.Result) {}, nil, nil
	}
	key := ""
	if a.per == PerCaller {
		key = CallerOf(ctx).key()
	}
	freshReservation, newRefusal := a.fresh.Take(key)
	repeatReservation, repeatRefusal := a.repeats.Take(key)
	settle = func(result webhook.Result) {
		if result != webhook.ResultAccepted {
			freshReservation.Cancel()
		}
		if result != webhook.ResultDuplicate {
			repeatReservation.Cancel()
		}
	}
	return settle, fields(newRefusal), fields(repeatRefusal)
}

// fields returns the header of a refusal, nil without one.
func fields(refusal Refusal) http.Header {
	if !refusal.Refused() {
		return nil
	}
	return refusal.Header()
}
