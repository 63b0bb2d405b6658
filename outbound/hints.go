package outbound

import (
	"net/http"
	"strings"
	"time"

	"weir/webhook"
)

// bodyWaits are the JSON members that hold an explicit wait: Discord's and
// Telegram's, Google's RetryInfo, Hugging Face's.
var bodyWaits = [...]string{
	"retry_after", "retryafter", "retry-after", "retry_after_seconds",
	"retry_after_ms", "retryafterms", "retrydelay", "estimated_time",
}

// explicitWait returns the longest wait that the answer asks for in so many
// words: by header, JSON member or phrase. A resets of a window is not one.
func explicitWait(header http.Header, text string, base time.Time) webhook.Hint {
	hint := headerWait(header, base)
	if strings.Contains(text, "retry") || strings.Contains(text, "estimated") {
		hint = longer(hint, memberWait(text, base))
	}
	return longer(hint, spokenWait(text, waitPhrases[:], base))
}

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

// memberWait reads the JSON members, wherever they stand.
func memberWait(text string, base time.Time) webhook.Hint {
	var hint webhook.Hint
	for _, name := range bodyWaits {
		for rest := text; ; {
			value, after, ok := member(rest, name)
			if !ok {
				break
			}
			rest = after
			if name == "retryafterms" {
				value += "ms"
			}
			if wait, ok := Wait(name, strings.ToUpper(value), base); ok {
				hint = longer(hint, webhook.Hint{Wait: wait, From: "body: " + name})
			} else if wait, ok := Wait(name, value, base); ok {
				hint = longer(hint, webhook.Hint{Wait: wait, From: "body: " + name})
			}
		}
	}
	return hint
}

// resetWait returns the longest time to a reset: of the empty buckets, or when
// none is shown empty of those that considered admits, and of the text.
func resetWait(buckets []bucket, text string, base time.Time, considered func(bucket) bool) webhook.Hint {
	for _, b := range buckets {
		if b.empty() {
			considered = bucket.empty
		}
	}
	hint := spokenWait(text, resetPhrases[:], base)
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
