package ratelimit

import "sync/atomic"

// Inflight bounds the bytes of bodies that are in memory at once.
type Inflight struct {
	most int64
	used atomic.Int64
}

// NewInflight returns an Inflight of most bytes; 0 or less is no bound.
func NewInflight(most int64) *Inflight { return &Inflight{most: most} }

// Acquire reserves n bytes, or reports false when there is no room. A body
// larger than the whole bound therefore never passes.
func (f *Inflight) Acquire(n int64) bool {
	used := f.used.Add(n)
	if f.most <= 0 || used <= f.most {
		return true
	}
	f.used.Add(-n)
	return false
}

// Release gives n bytes back.
func (f *Inflight) Release(n int64) { f.used.Add(-n) }

// Used returns the bytes that are reserved now.
func (f *Inflight) Used() int64 { return f.used.Load() }
