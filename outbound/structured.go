package outbound

import (
	"net/http"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// maxField bounds the structured fields that are parsed, in bytes.
const maxField = 2048

// structuredWindows reads RateLimit and RateLimit-Policy: the list of items of
// the current draft (draft-ietf-httpapi-ratelimit-headers-10), else the
// dictionary of draft 7. A malformed field is ignored whole.
func structuredWindows(header http.Header, base time.Time) []rateWindow {
	values := header["Ratelimit"]
	if len(values) == 0 || joinedLength(values) > maxField {
		return nil
	}
	windows := readPolicies(header["Ratelimit-Policy"])
	if list, err := httpsfv.UnmarshalList(values); err == nil {
		return itemWindows(list, windows, base)
	}
	if dictionary, err := httpsfv.UnmarshalDictionary(values); err == nil {
		return dictionaryWindows(dictionary, windows, base)
	}
	return nil
}

func joinedLength(values []string) int {
	length := 0
	for _, value := range values {
		length += len(value)
	}
	return length
}

// itemWindows reads `"default";r=0;t=30`. One member of another shape makes
// the whole field malformed.
func itemWindows(list httpsfv.List, windows policies, base time.Time) []rateWindow {
	var rateWindows []rateWindow
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		if !ok || item.Params == nil || len(rateWindows) == maxRateWindows {
			return nil
		}
		name, ok := itemName(item.Value)
		if !ok {
			return nil
		}
		b := rateWindow{limit: -1, remaining: -1, window: windows.named[name]}
		r, given := item.Params.Get("r")
		if b.remaining, ok = countOf(r); given && !ok {
			return nil
		}
		t, given := item.Params.Get("t")
		if given && !b.withReset(t, base) {
			return nil
		}
		if quota, named := windows.quotas[name]; named {
			b.limit = quota
		}
		rateWindows = append(rateWindows, b)
	}
	return rateWindows
}

// dictionaryWindows reads "limit=100, remaining=0, reset=12".
func dictionaryWindows(dictionary *httpsfv.Dictionary, windows policies, base time.Time) []rateWindow {
	b := rateWindow{limit: -1, remaining: -1}
	for _, name := range dictionary.Names() {
		member, _ := dictionary.Get(name)
		item, ok := member.(httpsfv.Item)
		if !ok {
			return nil
		}
		switch name {
		case "limit":
			b.limit, ok = countOf(item.Value)
		case "remaining":
			b.remaining, ok = countOf(item.Value)
		case "reset":
			ok = b.withReset(item.Value, base)
		}
		if !ok {
			return nil
		}
	}
	b.window = windows.sized[b.limit]
	return []rateWindow{b}
}

// withReset sets the time to the reset: an integer of at least 0.
func (b *rateWindow) withReset(value any, base time.Time) bool {
	count, ok := countOf(value)
	if !ok {
		return false
	}
	b.reset = bareWait(bySize, decimal{whole: uint64(count), scale: 1}, base)
	b.from = "RateLimit"
	return true
}

// policies are the windows that RateLimit-Policy names.
type policies struct {
	named  map[string]time.Duration
	quotas map[string]int64
	// sized are those of the older form, by their quota.
	sized map[int64]time.Duration
}

// readPolicies reads `"default";q=100;w=60` and the older `100;w=60`.
func readPolicies(values []string) policies {
	p := policies{map[string]time.Duration{}, map[string]int64{}, map[int64]time.Duration{}}
	if len(values) == 0 || joinedLength(values) > maxField {
		return p
	}
	list, err := httpsfv.UnmarshalList(values)
	if err != nil {
		return p
	}
	for _, member := range list {
		if item, ok := member.(httpsfv.Item); ok && item.Params != nil {
			p.add(item)
		}
	}
	return p
}

// add takes one policy in.
func (p policies) add(item httpsfv.Item) {
	w, _ := item.Params.Get("w")
	length, ok := countOf(w)
	window := time.Duration(0)
	if ok {
		window = decimal{whole: uint64(length), scale: 1}.times(time.Second)
	}
	if quota, ok := item.Value.(int64); ok {
		p.sized[quota] = max(p.sized[quota], window)
	} else if name, ok := itemName(item.Value); ok {
		p.named[name] = window
		if q, ok := item.Params.Get("q"); ok {
			p.quotas[name], _ = countOf(q)
		}
	}
}

// itemName returns the name of a policy: a string, or a token as in older
// drafts.
func itemName(value any) (string, bool) {
	switch name := value.(type) {
	case string:
		return strings.Clone(name), true
	case httpsfv.Token:
		return string(name), true
	}
	return "", false
}

// countOf returns an integer of at least 0, else -1: other types and negative
// numbers parse as well and mean nothing here.
func countOf(value any) (int64, bool) {
	if count, ok := value.(int64); ok && count >= 0 {
		return count, true
	}
	return -1, false
}
