package ratelimit

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sort"
	"strconv"
	"time"

	"github.com/go-chi/httprate"

	"weir/webhook"
)

// Limiter allows each key a number of requests in a sliding window, by
// httprate's estimate: what the current fixed window has used, and of the
// previous one the part that the sliding window still covers. With several
// rates all must hold; without any, everything is allowed.
type Limiter struct {
	name   string
	limits limits
}

// limits are the rates of a Limiter, all of which must hold.
type limits []limit

// limit is one rate of a Limiter.
type limit struct {
	rate    webhook.Rate
	engine  *httprate.RateLimiter
	counter *counter
}

// Table bounds the memory of a [Limiter].
type Table struct {
	// MaxKeys is the largest number of keys; 0 stands for the constant
	// [MaxKeys].
	MaxKeys  int
	WhenFull WhenFull
}

// NewLimiter returns a Limiter. Its name appears in the RateLimit fields of a
// refusal.
func NewLimiter(name string, rates []webhook.Rate, table Table) *Limiter {
	if table.MaxKeys <= 0 {
		table.MaxKeys = MaxKeys
	}
	l := &Limiter{name: name}
	for _, rate := range rates {
		if rate.N <= 0 || rate.Per <= 0 {
			continue
		}
		counts := newCounter(table.MaxKeys, table.WhenFull)
		l.limits = append(l.limits, limit{
			rate:    rate,
			counter: counts,
			engine: httprate.NewRateLimiter(rate.N, rate.Per,
				httprate.WithLimitCounter(counts),
				httprate.WithResponseHeaders(httprate.ResponseHeaders{})),
		})
	}
	return l
}

// Ticket is a place that was taken. The zero Ticket is none.
type Ticket struct {
	limits limits
	key    string
	at     time.Time
}

// Refusal tells a caller when to come back. The zero Refusal refuses nothing.
type Refusal struct {
	// Wait is a whole number of seconds, at least one: the least one after
	// which the caller will be let in.
	Wait time.Duration
	// Name and Rate are those of the limit that refused.
	Name string
	Rate webhook.Rate
}

// Refused reports whether r refuses.
func (r Refusal) Refused() bool { return r.Wait > 0 }

// Header returns the fields of an answer: Retry-After (RFC 9110 section
// 10.2.3) and RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers).
func (r Refusal) Header() http.Header {
	seconds := strconv.FormatInt(int64(r.Wait/time.Second), 10)
	window := int64((r.Rate.Per + time.Second - 1) / time.Second)
	return http.Header{
		"Retry-After":      {seconds},
		"Ratelimit-Policy": {fmt.Sprintf("%q;q=%d;w=%d", r.Name, r.Rate.N, window)},
		"Ratelimit":        {fmt.Sprintf("%q;r=0;t=%s", r.Name, seconds)},
	}
}

// Take uses up one place of a key, or says how long to wait. Nothing is used
// up by a refusal.
func (l *Limiter) Take(key string) (Ticket, Refusal) {
	now := time.Now()
	for i, limit := range l.limits {
		if limit.take(key) {
			continue
		}
		l.limits[:i].add(key, now, -1)
		refusal := l.refusal(key, now)
		if !refusal.Refused() {
			// The moment has passed between the two questions.
			refusal = Refusal{Wait: time.Second, Name: l.name, Rate: limit.rate}
		}
		return Ticket{}, refusal
	}
	return Ticket{limits: l.limits, key: key, at: now}, Refusal{}
}

// Count uses up one place of a key even where none is left.
func (l *Limiter) Count(key string) {
	l.limits.add(key, time.Now(), 1)
}

// Check says whether a key has a place left, without using it up.
func (l *Limiter) Check(key string) Refusal {
	return l.refusal(key, time.Now())
}

// GiveBack returns a place that turned out not to be used.
func (t Ticket) GiveBack() {
	t.limits.add(t.key, t.at, -1)
}

// add changes the counts of every rate. A counter in memory has no errors.
func (l limits) add(key string, at time.Time, amount int) {
	for _, limit := range l {
		_ = limit.counter.IncrementBy(key, limit.window(at), amount)
	}
}

// refusal returns the strictest refusal of all rates.
func (l *Limiter) refusal(key string, now time.Time) Refusal {
	var strictest Refusal
	for _, limit := range l.limits {
		if wait := limit.wait(key, now); wait > strictest.Wait {
			strictest = Refusal{Wait: wait, Name: l.name, Rate: limit.rate}
		}
	}
	return strictest
}

// take asks httprate. It wants a request only for options that are not used,
// and an answer only for headers that are switched off.
func (l limit) take(key string) bool {
	return !l.engine.OnLimit(nil, nobody, key)
}

// nobody is a request without any option for httprate; nothing changes it.
var nobody = (&http.Request{}).WithContext(context.Background())

// window returns the start of the fixed window that holds a moment. httprate
// aligns the windows of a counter that it did not make itself to the clock.
func (l limit) window(at time.Time) time.Time {
	return at.UTC().Truncate(l.rate.Per)
}

// wait returns the least whole number of seconds after which httprate will let
// one more request of the key in, when no other comes before; 0 is at once.
// httprate's own Retry-After is always the whole window, which is too long for
// most and too short after a burst.
func (l limit) wait(key string, now time.Time) time.Duration {
	window := l.window(now)
	current, previous, _ := l.counter.Get(key, window, window.Add(-l.rate.Per))
	used := count{window: window, current: current, previous: previous}
	if l.fits(used, now) {
		return 0
	}
	// Two windows on everything has been forgotten.
	longest := int(2*l.rate.Per/time.Second) + 1
	seconds := 1 + sort.Search(longest, func(i int) bool {
		return l.fits(used, now.Add(time.Duration(i+1)*time.Second))
	})
	return time.Duration(seconds) * time.Second
}

// fits repeats httprate's decision for a moment. For counts that do not grow
// it is false up to some moment and true from then on.
func (l limit) fits(used count, at time.Time) bool {
	window := l.window(at)
	used = used.at(window, l.rate.Per)
	passed := float64(at.Sub(window))
	length := float64(l.rate.Per)
	estimate := float64(used.previous)*(length-passed)/length + float64(used.current)
	return int(math.Round(estimate))+1 <= l.rate.N
}
