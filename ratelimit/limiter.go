package ratelimit

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/httprate"

	"weir/webhook"
)

// limiter allows each key a number of requests in a sliding window. Httprate
// decides, over a counter of our own. With several rates all must hold;
// without any, everything is allowed.
type limiter struct {
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

// table bounds the memory of a [limiter].
type table struct {
	// MaxKeys is the largest number of keys; 0 stands for the constant
	// [MaxKeys].
	MaxKeys  int
	WhenFull WhenFull
	// Marks is how finely the requests of a key are told apart: those within
	// one Marks-th of a window count as one moment. 0 stands for 16.
	Marks int
}

// withDefaults fills what was left out.
func (t table) withDefaults() table {
	if t.MaxKeys <= 0 {
		t.MaxKeys = MaxKeys
	}
	if t.Marks <= 0 {
		t.Marks = 16
	}
	return t
}

// newLimiter returns a Limiter. Its name appears in the RateLimit fields of a
// refusal.
func newLimiter(name string, rates []webhook.Rate, table table) *limiter {
	l := &limiter{name: name}
	for _, rate := range rates {
		if rate.N <= 0 || rate.Per <= 0 {
			continue
		}
		counts := newCounter(table.withDefaults())
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

// reservation is a place that was taken. The zero Reservation is none.
type reservation struct {
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
func (l *limiter) Take(key string) (reservation, Refusal) {
	now := time.Now()
	for i, limit := range l.limits {
		if limit.take(key) {
			continue
		}
		reservation{limits: l.limits[:i], key: key, at: now}.Cancel()
		refusal := l.refusal(key, now)
		if !refusal.Refused() {
			// The moment has passed between the two questions.
			refusal = Refusal{Wait: time.Second, Name: l.name, Rate: limit.rate}
		}
		return reservation{}, refusal
	}
	return reservation{limits: l.limits, key: key, at: now}, Refusal{}
}

// count uses up one place of a key even where none is left.
func (l *limiter) count(key string) {
	now := time.Now()
	for _, limit := range l.limits {
		limit.counter.add(key, now, 1)
	}
}

// check says whether a key has a place left, without using it up.
func (l *limiter) check(key string) Refusal {
	return l.refusal(key, time.Now())
}

// Cancel returns a place that turned out not to be used.
func (t reservation) Cancel() {
	for _, limit := range t.limits {
		limit.counter.takeBack(t.key, t.at)
	}
}

// refusal returns the strictest refusal of all rates.
func (l *limiter) refusal(key string, now time.Time) Refusal {
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

// wait returns the least whole number of seconds after which one more request
// of the key will be let in, when no other comes before; 0 is at once.
// Httprate's own Retry-After is always the whole window.
func (l limit) wait(key string, now time.Time) time.Duration {
	wait := l.counter.next(key, now, l.rate.N)
	return (wait + time.Second - 1).Truncate(time.Second)
}
