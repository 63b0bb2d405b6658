package ratelimit

import "time"

// history holds the requests of one key, oldest first. Requests that came
// within a short gap share a mark and leave the window together, with the last
// of them: a window never holds more than its limit, and for the length of a
// gap it may let in fewer.
type history []mark

// mark stands for n requests from first to last, both since the counter's
// start.
type mark struct {
	first, last time.Duration
	n           int
}

// shape is the length of a window and the gap within which requests share a
// mark.
type shape struct {
	length, gap time.Duration
}

// count returns the requests of the window that ends now.
func (h history) count(now, length time.Duration) int {
	total := 0
	for _, m := range h {
		if m.live(now, length) {
			total += m.n
		}
	}
	return total
}

// next returns how long it is until fewer than limit requests are left.
func (h history) next(now, length time.Duration, limit int) time.Duration {
	over := h.count(now, length) - limit + 1
	wait := time.Duration(0)
	for _, m := range h {
		if over <= 0 {
			break
		}
		if m.live(now, length) {
			over -= m.n
			wait = m.last + length - now
		}
	}
	return wait
}

// add counts requests and forgets those that have left the window.
func (h history) add(now time.Duration, amount int, of shape) history {
	dead := 0
	for dead < len(h) && !h[dead].live(now, of.length) {
		dead++
	}
	h = append(h[:0], h[dead:]...)
	if n := len(h); n > 0 && now < h[n-1].first+of.gap {
		h[n-1].n += amount
		h[n-1].last = max(h[n-1].last, now)
		return h
	}
	return append(h, mark{first: now, last: now, n: amount})
}

// takeBack undoes one request of about a moment: that of the mark in which it
// was counted, which begins at the moment or before.
func (h history) takeBack(at time.Duration) {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].n > 0 && h[i].last >= at && (i == 0 || h[i].first <= at || h[i-1].last < at) {
			h[i].n--
			return
		}
	}
}

// live reports whether a mark is within the window that ends now.
func (m mark) live(now, length time.Duration) bool { return now < m.last+length }
