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

// resetWait returns the longest time to a reset: of the empty rate-limit windows, or when
// none is shown empty of those that considered admits, and of the one given.
func resetWait(rateWindows []rateWindow, hint webhook.Hint, considered func(rateWindow) bool) webhook.Hint {
	for _, b := range rateWindows {
		if b.empty() {
			considered = rateWindow.empty
		}
	}
	if !anyReset(rateWindows, considered) {
		// The reset may stand under a name of its own, beside a field that
		// says that nothing is left (BigCommerce).
		considered = rateWindow.unknown
	}
	for _, b := range rateWindows {
		if considered(b) && b.from != "" {
			hint = longer(hint, webhook.Hint{Wait: b.reset, From: b.from})
		}
	}
	return hint
}

// anyReset reports whether one of the rate-limit windows that are considered tells its
// reset.
func anyReset(rateWindows []rateWindow, considered func(rateWindow) bool) bool {
	for _, b := range rateWindows {
		if considered(b) && b.from != "" {
			return true
		}
	}
	return false
}

// anyRateWindow considers every reset: the answer is a limit, so one of them is
// what it speaks of.
func anyRateWindow(rateWindow) bool { return true }

// notRoomy leaves out the rate-limit windows that show room: rate headers ride on every
// answer, and a failure or a bill has nothing to do with them.
func notRoomy(b rateWindow) bool { return !b.roomy() }

// readPacing tells how far to slow down before a limit is hit: nothing before
// the reset of an empty rate-limit window, and the rest of an almost empty one spread
// over the time to its reset. An answer out of a cache (Age above 0, RFC 9111
// section 5.1) tells nothing about now.
func readPacing(header http.Header, rateWindows []rateWindow) webhook.Pacing {
	var pacing webhook.Pacing
	if age, ok := leadingCount(header.Get("Age")); ok && age > 0 {
		return pacing
	}
	for _, b := range rateWindows {
		pacing = slower(pacing, b.pacing())
	}
	return pacing
}

// pacing of one rate-limit window.
func (b rateWindow) pacing() webhook.Pacing {
	switch {
	case b.empty() && b.from != "":
		return webhook.Pacing{NotBefore: b.reset}
	case b.spacing > 0 && b.nearlyEmpty():
		pacing := webhook.Pacing{Spacing: b.spacing, For: b.window}
		if b.empty() {
			pacing.NotBefore = b.spacing
		}
		return pacing
	case b.nearlyEmpty() && b.from != "" && b.reset > 0:
		spacing := ceilWait(b.reset / time.Duration(b.remaining))
		return webhook.Pacing{Spacing: spacing, For: b.reset}
	}
	return webhook.Pacing{}
}

// nearlyEmpty reports that a tenth of the limit or less is left, or one.
func (b rateWindow) nearlyEmpty() bool {
	if b.remaining < 0 {
		return false
	}
	return b.remaining <= max(1, b.limit/10) && (b.remaining > 0 || b.spacing > 0)
}

// slower joins two paces: whichever asks for more.
func slower(a, b webhook.Pacing) webhook.Pacing {
	a.NotBefore = max(a.NotBefore, b.NotBefore)
	if b.Spacing > a.Spacing {
		a.Spacing, a.For = b.Spacing, b.For
	}
	return a
}
