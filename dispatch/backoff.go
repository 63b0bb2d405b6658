package dispatch

import (
	"math"
	"time"

	"weir/webhook"
)

// Chance draws a number from [0, 1).
type Chance func() float64

const (
	// backoffFloor keeps an instant retry impossible: plain full jitter
	// reaches microseconds.
	backoffFloor = 500 * time.Millisecond
	// backoffFactor is the growth of a delivery's own wait.
	backoffFactor = 3
	// slowBase and slowMax are the schedule for faults that do not heal in
	// seconds: certificates and names.
	slowBase = 5 * time.Minute
	slowMax  = time.Hour
	// maxSpread bounds what is added to a hint so that not everything that
	// waited for it leaves at once; minSpread is the least upper bound.
	maxSpread = time.Minute
	minSpread = time.Second
)

// misdirectedWaits are the waits before the second and the third try of a
// delivery whose address seems wrong.
var misdirectedWaits = [...]time.Duration{30 * time.Second, 5 * time.Minute}

// grow returns base·factorⁿ, at most limit, for any n and without overflow.
func grow(base time.Duration, factor float64, n int, limit time.Duration) time.Duration {
	if base >= limit || n < 0 {
		return min(base, limit)
	}
	grown := float64(base) * math.Pow(factor, float64(n))
	if grown >= float64(limit) { // also +Inf
		return limit
	}
	return time.Duration(grown)
}

// backoff returns the wait before the next attempt of a delivery that has
// failed n times before this one: uniform between the floor and
// min(BACKOFF_MAX, BACKOFF·3ⁿ), which is full jitter with a floor. Floor and
// jitter hold for any setting: a BACKOFF of a millisecond waits for half a second
// to a second.
func backoff(p webhook.Policy, n int, chance Chance) time.Duration {
	ceiling := grow(p.Backoff, backoffFactor, n, p.BackoffMax)
	return between(backoffFloor, max(ceiling, 2*backoffFloor), chance)
}

// slowBackoff is backoff on the slow schedule.
func slowBackoff(n int, chance Chance) time.Duration {
	return between(slowBase, max(slowBase, grow(slowBase, backoffFactor, n, slowMax)), chance)
}

// between draws a duration from [low, high).
func between(low, high time.Duration, chance Chance) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(chance()*float64(high-low))
}

// spread is what is added to a hint, never taken from it: up to a tenth of it,
// at least up to a second, at most up to a minute.
func spread(hint time.Duration, chance Chance) time.Duration {
	return between(0, min(max(hint/10, minSpread), maxSpread), chance)
}
