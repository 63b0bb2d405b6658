package ratelimit

import (
	"sync"
	"time"
)

// WhenFull says what becomes of a key that a full table has no place for.
type WhenFull int

const (
	// letIn does not count such keys: for limits that must never hit somebody
	// for what others did.
	letIn WhenFull = iota
	// shareOne counts all such keys as one: for limits that must hold in sum.
	shareOne
)

// MaxKeys is the default size of a table of keys. A key takes about 100 bytes,
// and up to 500 when it makes requests all the time.
const MaxKeys = 1 << 16

// counter counts the requests of each key in a sliding window. It is the
// httprate.LimitCounter behind a [limiter].
//
// The one that comes with httprate counts in two fixed windows and estimates
// what lies between, so that it lets in more or fewer than the limit around
// the turn of a window, and cannot say when the next request fits. It also
// grows with every key. This one reports the requests of the sliding window as
// those of the current fixed one, which makes httprate's decision exact.
type counter struct {
	table table
	// start is what moments are counted from, so that a change of the wall
	// clock changes nothing.
	start time.Time

	// mu guards what is below.
	mu     sync.Mutex
	length time.Duration
	keys   map[string]history
	// spare is that of the keys without a place, under ShareOne.
	spare history
	// swept is when keys were last thrown out.
	swept time.Duration
}

func newCounter(table table) *counter {
	return &counter{table: table, start: time.Now(), keys: map[string]history{}, swept: -1}
}

// Config takes over the length of the window.
func (c *counter) Config(_ int, length time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.length = length
}

// Increment counts one request now.
func (c *counter) Increment(key string, window time.Time) error {
	return c.IncrementBy(key, window, 1)
}

// IncrementBy counts requests now, whatever the fixed window.
func (c *counter) IncrementBy(key string, _ time.Time, amount int) error {
	c.add(key, time.Now(), amount)
	return nil
}

// Get returns the requests of the sliding window that ends now.
func (c *counter) Get(key string, _, _ time.Time) (current, previous int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(key).count(time.Since(c.start), c.length), 0, nil
}

// add counts requests of a key at a moment.
func (c *counter) add(key string, at time.Time, amount int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := at.Sub(c.start)
	old, known := c.keys[key]
	if known || c.makeRoom(now) {
		c.keys[key] = old.add(now, amount, c.shape())
	} else if c.table.WhenFull == shareOne {
		c.spare = c.spare.add(now, amount, c.shape())
	}
}

// takeBack undoes one request that was counted at about a moment.
func (c *counter) takeBack(key string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(key).takeBack(at.Sub(c.start))
}

// next returns how long it is until a key has fewer than limit requests in its
// window, when no other comes.
func (c *counter) next(key string, at time.Time, limit int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(key).next(at.Sub(c.start), c.length, limit)
}

// of returns the history that a key is counted in.
func (c *counter) of(key string) history {
	found, known := c.keys[key]
	if !known && c.table.WhenFull == shareOne && len(c.keys) >= c.table.MaxKeys {
		return c.spare
	}
	return found
}

// shape is the form of all histories.
func (c *counter) shape() shape {
	return shape{length: c.length, gap: c.length / time.Duration(c.table.Marks)}
}

// makeRoom reports whether one more key has a place. A full table is swept
// once in the length of a window, because a sweep looks at every key.
func (c *counter) makeRoom(now time.Duration) bool {
	if len(c.keys) < c.table.MaxKeys {
		return true
	}
	if c.swept >= 0 && now < c.swept+c.length {
		return false
	}
	c.swept = now
	for key, found := range c.keys {
		if found.count(now, c.length) == 0 {
			delete(c.keys, key)
		}
	}
	return len(c.keys) < c.table.MaxKeys
}

// size returns the number of keys.
func (c *counter) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.keys)
}
