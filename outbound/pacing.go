package outbound

import (
	"net/http"
	"time"

	"weir/webhook"
)

// readPacing tells how far to slow down before a limit is hit: nothing before
// the reset of an empty bucket, and the rest of an almost empty one spread
// over the time to its reset. An answer out of a cache (Age above 0, RFC 9111
// section 5.1) tells nothing about now.
func readPacing(header http.Header, buckets []bucket) webhook.Pacing {
	var pacing webhook.Pacing
	if age, ok := leadingCount(header.Get("Age")); ok && age > 0 {
		return pacing
	}
	for _, b := range buckets {
		pacing = slower(pacing, b.pacing())
	}
	return pacing
}

// pacing of one bucket.
func (b bucket) pacing() webhook.Pacing {
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
func (b bucket) nearlyEmpty() bool {
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
