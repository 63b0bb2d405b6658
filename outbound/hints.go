package outbound

import (
	"net/http"
	"strings"
	"time"

	"weir/webhook"
)

// headerWait reads the headers. Where a millisecond field and a whole-second
// field differ by less than a second they are one wait, and the first is the
// precise one.
func headerWait(header http.Header, base time.Time) webhook.Hint {
	var precise, whole webhook.Hint
	for name, values := range header {
		what := meaningOf(name)
		if !strings.HasSuffix(name, "Retry-After") && !strings.HasSuffix(name, "Reset-After") &&
			!strings.HasSuffix(name, "Retry-After-Ms") {
			continue
		}
		for _, value := range values {
			wait, ok := Wait(name, value, base)
			if !ok {
				continue
			}
			hint := webhook.Hint{Wait: wait, From: name}
			if what == milliseconds {
				precise = longer(precise, hint)
			} else {
				whole = longer(whole, hint)
			}
		}
	}
	if precise.Given() && whole.Given() && whole.Wait-precise.Wait < time.Second && whole.Wait >= precise.Wait {
		return precise
	}
	return longer(precise, whole)
}

// resetWait returns the longest time to a reset: of the empty buckets, or when
// none is shown empty of those that considered admits, and of the one given.
func resetWait(buckets []bucket, hint webhook.Hint, considered func(bucket) bool) webhook.Hint {
	for _, b := range buckets {
		if b.empty() {
			considered = bucket.empty
		}
	}
	for _, b := range buckets {
		if considered(b) && b.from != "" {
			hint = longer(hint, webhook.Hint{Wait: b.reset, From: b.from})
		}
	}
	return hint
}

// anyBucket considers every reset: the answer is a limit, so one of them is
// what it speaks of.
func anyBucket(bucket) bool { return true }

// notRoomy leaves out the buckets that show room: rate headers ride on every
// answer, and a failure or a bill has nothing to do with them.
func notRoomy(b bucket) bool { return !b.roomy() }
