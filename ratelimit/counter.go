package ratelimit

import (
	"sync"
	"time"
)

// WhenFull says what becomes of a key that a full table has no place for.
type WhenFull int

const (
	// LetIn does not count such keys: for limits that must never hit somebody
	// for what others did.
	LetIn WhenFull = iota
	// ShareOne counts all such keys as one: for limits that must hold in sum.
	ShareOne
)

// MaxKeys is the default size of a table of keys. A key takes about 100 bytes.
const MaxKeys = 1 << 16

// counter counts requests by key in the current and the previous window of an
// httprate limiter (it is a httprate.LimitCounter). Unlike the one that comes
// with httprate it has a largest number of keys, keeps keys apart exactly, and
// can take a request back.
type counter struct {
	maxKeys  int
	whenFull WhenFull

	// mu guards what is below.
	mu sync.Mutex
	// window is the start of the newest window seen.
	window time.Time
	length time.Duration
	counts map[string]count
	// spare counts the keys without a place, under ShareOne.
	spare count
	// swept is the window in which keys were last thrown out.
	swept time.Time
}

// count is what one key has used up. Current belongs to window, previous to
// the one before.
type count struct {
	window   time.Time
	current  int
	previous int
}

func newCounter(maxKeys int, whenFull WhenFull) *counter {
	return &counter{maxKeys: maxKeys, whenFull: whenFull, counts: map[string]count{}}
}

// Config takes over the length of the window.
func (c *counter) Config(_ int, length time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.length = length
}

// Increment counts one request.
func (c *counter) Increment(key string, window time.Time) error {
	return c.IncrementBy(key, window, 1)
}

// IncrementBy counts, or with a negative amount takes back, requests that were
// made in a window. What is older than the previous window no longer matters.
func (c *counter) IncrementBy(key string, window time.Time, amount int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if window.After(c.window) {
		c.window = window
	}
	old, known := c.counts[key]
	if known || c.makeRoom() {
		c.counts[key] = old.at(c.window, c.length).add(window, amount)
	} else if c.whenFull == ShareOne {
		c.spare = c.spare.at(c.window, c.length).add(window, amount)
	}
	return nil
}

// Get returns the counts of a key in two windows that follow each other.
func (c *counter) Get(key string, current, _ time.Time) (int, int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, known := c.counts[key]
	if !known && c.whenFull == ShareOne && len(c.counts) >= c.maxKeys {
		found = c.spare
	}
	now := found.at(current, c.length)
	return now.current, now.previous, nil
}

// makeRoom reports whether one more key has a place. A full table is swept
// once in a window, because a sweep looks at every key.
func (c *counter) makeRoom() bool {
	if len(c.counts) < c.maxKeys {
		return true
	}
	if c.swept.Equal(c.window) {
		return false
	}
	c.swept = c.window
	for key, found := range c.counts {
		if found.window.Before(c.window.Add(-c.length)) {
			delete(c.counts, key)
		}
	}
	return len(c.counts) < c.maxKeys
}

// size returns the number of keys.
func (c *counter) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.counts)
}

// at moves a count on to a later window.
func (n count) at(window time.Time, length time.Duration) count {
	switch {
	case !window.After(n.window):
		return n
	case n.window.Add(length).Equal(window):
		return count{window: window, previous: n.current}
	default:
		return count{window: window}
	}
}

// add counts requests of the newest window or of the one before; what is left
// is never negative.
func (n count) add(window time.Time, amount int) count {
	if window.Equal(n.window) {
		n.current = max(n.current+amount, 0)
	} else {
		n.previous = max(n.previous+amount, 0)
	}
	return n
}
