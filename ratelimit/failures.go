package ratelimit

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"weir/webhook"
)

// TrustFor is how long an address counts as verified after it has sent a
// verified event: its receive paths are not refused unread, and its bodies and
// connections have room of their own.
const TrustFor = time.Hour

// FailureLimiter bounds the refused requests (answers 400, 401 and 404) that one
// caller may make before it is answered 429. A caller for whom its table is full
// is let in: there are too many of them to have made many requests each.
//
// A stranger must not be able to silence a real sender who shares an address
// with it. So the receive paths of a caller that was verified lately have no such
// limit ([FailureLimiter.Known]), and those of a caller behind whose address a
// real sender may be are still read ([FailureLimiter.MayVerify]): then only what
// fails to verify is answered 429.
type FailureLimiter struct {
	refused  *limiter
	verified *recent
}

// NewFailureLimiter returns a FailureLimiter for a rate of refused requests.
func NewFailureLimiter(rate webhook.Rate) *FailureLimiter {
	return &FailureLimiter{
		refused:  newLimiter("refused", []webhook.Rate{rate}, table{WhenFull: letIn}),
		verified: &recent{last: map[string]time.Time{}},
	}
}

// Over returns nil while the caller is within the limit, else the header fields
// of a 429 that tell it when to come back.
func (f *FailureLimiter) Over(ctx context.Context) http.Header {
	caller := CallerOf(ctx)
	if caller.Shared {
		return nil
	}
	return fields(f.refused.check(caller.key()))
}

// MayVerify reports whether the signature of a caller that is over the limit is
// still looked at: its address is private, so that many senders may be behind it.
func (f *FailureLimiter) MayVerify(ctx context.Context) bool {
	return inside(CallerOf(ctx).Addr)
}

// Known reports whether the caller sent a verified event within [TrustFor].
func (f *FailureLimiter) Known(ctx context.Context) bool { return f.knows(CallerOf(ctx).key()) }

// knows is Known for the key of a caller.
func (f *FailureLimiter) knows(key string) bool { return f.verified.has(key, time.Now()) }

// Refused counts a refused request of the caller.
func (f *FailureLimiter) Refused(ctx context.Context) {
	if caller := CallerOf(ctx); !caller.Shared {
		f.refused.count(caller.key())
	}
}

// Verified remembers that the caller has sent a verified event.
func (f *FailureLimiter) Verified(ctx context.Context) {
	f.verified.see(CallerOf(ctx).key(), time.Now())
}

// VerifiedBlocks returns the address blocks that sent a verified event within
// [TrustFor] and when they last did, for a file that outlives the process.
func (f *FailureLimiter) VerifiedBlocks() map[netip.Addr]time.Time {
	now, blocks := time.Now(), map[netip.Addr]time.Time{}
	f.verified.mu.Lock()
	defer f.verified.mu.Unlock()
	f.verified.isNew = false
	for key, last := range f.verified.last {
		if block, ok := blockOf(key); ok && now.Before(last.Add(TrustFor)) {
			blocks[block] = last
		}
	}
	return blocks
}

// VerifiedNew reports whether a block was verified that the last VerifiedBlocks
// did not have.
func (f *FailureLimiter) VerifiedNew() bool {
	f.verified.mu.Lock()
	defer f.verified.mu.Unlock()
	return f.verified.isNew
}

// Remember takes over what VerifiedBlocks of an earlier process returned. A time
// ahead of the clock counts as now.
func (f *FailureLimiter) Remember(blocks map[netip.Addr]time.Time) {
	now := time.Now()
	for block, last := range blocks {
		if last.After(now) {
			last = now
		}
		f.verified.see(Caller{Addr: block}.key(), last)
	}
	f.verified.mu.Lock()
	defer f.verified.mu.Unlock()
	f.verified.isNew = false
}

// blockOf returns the block of a key.
func blockOf(key string) (netip.Addr, bool) {
	switch len(key) {
	case 4:
		return netip.AddrFrom4([4]byte([]byte(key))), true
	case 8:
		var whole [16]byte
		copy(whole[:], key)
		return netip.AddrFrom16(whole), true
	default:
		return netip.Addr{}, false
	}
}

// recent remembers when keys were last seen, at most [MaxKeys] of them.
type recent struct {
	mu    sync.Mutex // guards what is below
	last  map[string]time.Time
	isNew bool // a key has come in since this was reset
}

// see notes a key. In a full table it takes the place of one that no longer
// matters, or else of any: whoever is in it knows a secret.
func (r *recent) see(key string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.last[key]
	if !known && len(r.last) >= MaxKeys {
		r.makeRoom(now)
	}
	r.isNew = r.isNew || !known || !now.Before(was.Add(TrustFor))
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
