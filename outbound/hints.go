package outbound

import (
	"net/http"
	"strings"
	"time"

	"weir/webhook"
)

// explicitWait returns the longest wait that the answer asks for in so many
// words, by header or as asked in its body. Where a millisecond field and a
// value of whole seconds differ by less than a second they are one wait, and
// the first is the precise one.
func explicitWait(header http.Header, base time.Time, asked webhook.Hint) webhook.Hint {
	var precise webhook.Hint
	for name, values := range header {
		if !asksToWait(name) {
			continue
		}
		for _, value := range values {
			wait, ok := Wait(name, value, base)
			switch {
			case !ok:
			case meaningOf(name) == milliseconds:
				precise = longer(precise, webhook.Hint{Wait: wait, From: name})
			default:
				asked = longer(asked, webhook.Hint{Wait: wait, From: name})
			}
		}
	}
	more := asked.Wait - precise.Wait
	if precise.Given() && more >= 0 && more < time.Second && asked.Wait%time.Second == 0 {
		return precise
	}
	return longer(precise, asked)
}

// asksToWait knows the fields that say when to come back, and not only when a
// window ends.
func asksToWait(name string) bool {
	return strings.HasSuffix(name, "Retry-After") || strings.HasSuffix(name, "Retry-After-Ms") ||
		strings.HasSuffix(name, "Reset-After") || strings.HasSuffix(name, "Retry-In")
}

// resetWait returns the longest time to a reset: of the empty buckets, or when
// none is shown empty of those that considered admits, and of the one given.
func resetWait(buckets []bucket, hint webhook.Hint, considered func(bucket) bool) webhook.Hint {
	for _, b := range buckets {
		if b.empty() {
			considered = bucket.empty
		}
	}
	if !anyReset(buckets, considered) {
		// The reset may stand under a name of its own, beside a field that
		// says that nothing is left (BigCommerce).
		considered = bucket.unknown
	}
	for _, b := range buckets {
		if considered(b) && b.from != "" {
			hint = longer(hint, webhook.Hint{Wait: b.reset, From: b.from})
		}
	}
	return hint
}

// anyReset reports whether one of the buckets that are considered tells its
// reset.
func anyReset(buckets []bucket, considered func(bucket) bool) bool {
	for _, b := range buckets {
		if considered(b) && b.from != "" {
			return true
		}
	}
	return false
}

// anyBucket considers every reset: the answer is a limit, so one of them is
// what it speaks of.
func anyBucket(bucket) bool { return true }

// notRoomy leaves out the buckets that show room: rate headers ride on every
// answer, and a failure or a bill has nothing to do with them.
func notRoomy(b bucket) bool { return !b.roomy() }
