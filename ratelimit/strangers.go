package ratelimit

import (
	"context"
	"net/http"
	"sync"
	"time"

	"weir/webhook"
)

// TrustFor is how long an address is not refused unread after it has sent a
// verified event or a valid token.
const TrustFor = time.Hour

// Strangers bounds the refused requests (answers 400, 401 and 404) that one
// caller may make before it is refused without being read. It never refuses a
// caller that was verified within [TrustFor], nor one whose address is shared.
// Callers for whom its table is full are let in: they are too many to have
// made many requests each.
type Strangers struct {
	refused  *Limiter
	verified *recent
}

// NewStrangers returns Strangers that allow a rate of refused requests.
func NewStrangers(rate webhook.Rate) *Strangers {
	return &Strangers{
		refused:  NewLimiter("refused", []webhook.Rate{rate}, Table{WhenFull: LetIn}),
		verified: &recent{last: map[string]time.Time{}},
	}
}

// Over returns nil when the caller may go on, else the header fields of a 429
// that tell it when to come back.
func (s *Strangers) Over(ctx context.Context) http.Header {
	caller := CallerOf(ctx)
	if caller.Shared {
		return nil
	}
	refusal := s.refused.Check(caller.key())
	if !refusal.Refused() || s.verified.has(caller.key(), time.Now()) {
		return nil
	}
	return refusal.Header()
}

// Refused counts a refused request of the caller.
func (s *Strangers) Refused(ctx context.Context) {
	if caller := CallerOf(ctx); !caller.Shared {
		s.refused.Count(caller.key())
	}
}

// Verified remembers that the caller has proved to know a secret.
func (s *Strangers) Verified(ctx context.Context) {
	if caller := CallerOf(ctx); !caller.Shared {
		s.verified.see(caller.key(), time.Now())
	}
}

// recent remembers when keys were last seen, at most [MaxKeys] of them.
type recent struct {
	mu   sync.Mutex // guards last
	last map[string]time.Time
}

// see notes a key. In a full table it takes the place of one that no longer
// matters, or else of any: whoever is in it knows a secret.
func (r *recent) see(key string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.last[key]; !known && len(r.last) >= MaxKeys {
		r.makeRoom(now)
	}
	r.last[key] = now
}

func (r *recent) has(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.last[key]
	return known && now.Before(last.Add(TrustFor))
}

func (r *recent) makeRoom(now time.Time) {
	looked := 0
	for key, last := range r.last {
		// A few at a time, so that nobody waits for a long sweep.
		if looked++; looked > 64 {
			break
		}
		if !now.Before(last.Add(TrustFor)) {
			delete(r.last, key)
		}
	}
	for key := range r.last {
		if len(r.last) < MaxKeys {
			return
		}
		delete(r.last, key)
	}
}
