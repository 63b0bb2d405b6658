package ratelimit

import (
	"context"
	"sync"
)

const (
	// smallPart is how many bytes of each body count as small: nearly every
	// webhook is no larger, and so has room even while large bodies have none.
	smallPart = 64 << 10
	// blockParts is how many address blocks it takes to fill the room of all
	// unverified callers.
	blockParts = 4
)

// Inflight bounds the bytes of bodies that are in memory at once, so that nobody
// who has not proved who he is can take the room of somebody who has.
//
// Verified callers may use all of it. All others together may use half, or less
// where that would not leave room for the largest body of a verified caller; and
// each address block a quarter of what they may use. The first 64 KiB of each
// body are counted apart from the rest: large bodies, or their pieces, leave room
// for small ones. A single larger body passes where nothing else of its kind is
// in memory.
type Inflight struct {
	most     int64
	known    func(context.Context) bool
	mu       sync.Mutex // guards what is below
	used     int64
	small    pot
	large    pot
	maxSmall int64 // bytes of all unverified callers
	maxLarge int64
}

// pot counts bytes of unverified callers.
type pot struct {
	used    int64
	byBlock map[string]int64
}

// NewInflight returns an Inflight of most bytes; 0 or less is no bound. MaxBody
// is the largest body that any source takes, in bytes. Known reports whether a
// caller is verified; it is called once for each body.
func NewInflight(most, maxBody int64, known func(context.Context) bool) *Inflight {
	unverified := min(most/2, max(most-maxBody, most/8))
	return &Inflight{
		most: most, known: known, maxSmall: unverified / 2, maxLarge: unverified - unverified/2,
		small: pot{byBlock: map[string]int64{}}, large: pot{byBlock: map[string]int64{}},
	}
}

// Used returns the bytes that are reserved now.
func (f *Inflight) Used() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used
}

// For returns the room for one body of the caller of a request.
func (f *Inflight) For(ctx context.Context) *Room {
	return &Room{of: f, block: CallerOf(ctx).key(), verified: f.known(ctx)}
}

// Room is what one body has reserved of an [Inflight]. It belongs to one
// goroutine.
type Room struct {
	of       *Inflight
	block    string
	verified bool
	own      int64
}

// Acquire reserves n more bytes, or reports false when there is no room for them.
func (r *Room) Acquire(n int64) bool {
	f := r.of
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.most > 0 {
		if f.used+n > f.most {
			return false
		}
		small, large := parts(r.own, n)
		if !r.verified && !(f.small.fits(r, small, f.maxSmall) && f.large.fits(r, large, f.maxLarge)) {
			return false
		}
	}
	r.add(n)
	return true
}

// Release gives back everything that was reserved.
func (r *Room) Release() {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.add(-r.own)
}

// add changes the counts by n bytes. The caller holds mu.
func (r *Room) add(n int64) {
	f := r.of
	f.used += n
	if !r.verified {
		was, is := min(r.own, smallPart), min(r.own+n, smallPart)
		f.small.add(r.block, is-was)
		f.large.add(r.block, n-(is-was))
	}
	r.own += n
}

// parts splits n bytes that follow own ones into small and large.
func parts(own, n int64) (small, large int64) {
	small = min(own+n, smallPart) - min(own, smallPart)
	return small, n - small
}

// fits reports whether n more bytes of a body fit: into what all unverified
// callers may use and what its block may use, or because it is alone.
func (p *pot) fits(r *Room, n, most int64) bool {
	own := min(r.own, smallPart)
	if p == &r.of.large {
		own = r.own - own
	}
	block := p.byBlock[r.block]
	return n == 0 || p.used == own || p.used+n <= most && (block == own || block+n <= most/blockParts)
}

// add changes the count of a block by n bytes.
func (p *pot) add(block string, n int64) {
	if n == 0 {
		return
	}
	p.used += n
	if p.byBlock[block] += n; p.byBlock[block] <= 0 {
		delete(p.byBlock, block)
	}
}
