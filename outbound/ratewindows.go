package outbound

import (
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/webhook"
)

// rate-limit window is one allowance as the headers of an answer show it.
type rateWindow struct {
	// head and tail are the parts of the field names that the rate-limit window's
	// fields share: "X-Ratelimit" and "-Tokens".
	head, tail string
	// limit and remaining are unknown below 0.
	limit, remaining int64
	// reset is the time to a full rate-limit window; from names its field, empty when
	// the answer gives none.
	reset time.Duration
	from  string
	// window is the length that the allowance is counted over; 0 is unknown.
	window time.Duration
	// spacing is the least gap that empties no further, where the provider
	// documents a leak rate.
	spacing time.Duration
}

// empty reports that the rate-limit window shows that nothing is left.
func (b rateWindow) empty() bool { return b.remaining == 0 }

// roomy reports that the rate-limit window shows that something is left.
func (b rateWindow) roomy() bool { return b.remaining > 0 }

// unknown reports that the rate-limit window does not show what is left.
func (b rateWindow) unknown() bool { return b.remaining < 0 }

// long reports whether the allowance is counted over an hour or more, by its
// length or by its name.
func (b rateWindow) long() bool {
	return b.window >= time.Hour || longName(b.head) || longName(b.tail)
}

// longName finds a day or a longer span in a part of a field name: "-Day",
// "-Daily", "-24hour", "-Today", "Daylimit".
func longName(name string) bool {
	return name != "" && anyFold(name, longSpans[:])
}

// longSpans are parts of the names of long windows.
var longSpans = [...]string{"day", "daily", "24h", "week", "month", "year"}

// maxRateWindows bounds the allowances of one answer. From so many fields on they
// are read in the order of their names, so that the same are left out always.
const maxRateWindows = 32

// readRateWindows gathers the allowances of all known families of fields: the
// IETF drafts, x-ratelimit-*, anthropic-ratelimit-*, HubSpot's and Shopify's.
func readRateWindows(header http.Header, base time.Time) []rateWindow {
	var list []rateWindow
	if len(header) <= maxRateWindows {
		for name, values := range header {
			list = addField(list, name, values, base)
		}
	} else {
		for _, name := range slices.Sorted(maps.Keys(header)) {
			list = addField(list, name, header[name], base)
		}
	}
	list = append(list, structuredWindows(header, base)...)
	list = append(list, listedWindows(header, base)...)
	if calls, ok := shopifyWindow(header.Get("X-Shopify-Shop-Api-Call-Limit")); ok {
		list = append(list, calls)
	}
	return list
}

// addField adds what a header says, if it belongs to a family.
func addField(list []rateWindow, name string, values []string, base time.Time) []rateWindow {
	start := familyOf(name)
	if start < 0 {
		return list
	}
	f := newField(name, start)
	for _, value := range values[:min(len(values), maxRateWindows)] {
		f.value, f.base = value, base
		list = f.addTo(list)
	}
	return list
}

// familyOf returns where the words behind the name of a family of fields begin;
// -1 when a field tells of no allowance. Outside of the families a field has to
// speak of a limit, or of what remains.
func familyOf(name string) int {
	for _, family := range [...]string{"Ratelimit", "Rate-Limit"} {
		if i := strings.Index(name, family); i >= 0 {
			return i + len(family)
		}
	}
	for _, word := range [...]string{"-Limit", "limit-", "-Remaining", "-Left", "-Quota-"} {
		if strings.HasPrefix(name, "X-") && strings.Contains(name, word) {
			return len("X")
		}
	}
	return -1
}

// role is what a field tells of its rate-limit window.
type role int

const (
	noRole role = iota
	limitRole
	remainingRole
	resetRole
)

// field is one header of a family, taken apart.
type field struct {
	name, head, tail string
	role             role
	value            string
	base             time.Time
}

// newField takes a name apart at its last word that is a role: what stands
// before it belongs to the head of its rate-limit window, what is behind it to the tail.
func newField(name string, family int) field {
	f := field{name: name, head: name}
	for at := family; at < len(name); {
		end := at + 1
		for end < len(name) && name[end] != '-' {
			end++
		}
		if role := roleOf(name[at:end]); role != noRole {
			f.role, f.head, f.tail = role, name[:at], name[end:]
		}
		at = end
	}
	switch f.tail {
	case "-After", "-Ms", "-Milliseconds", "-Seconds", "-At", "-In", "-Time", "-Date", "-Timestamp", "-On":
		f.tail = "" // says how to read the value, not of which bucket it is
	}
	return f
}

func roleOf(word string) role {
	switch word {
	case "-Limit", "-Max", "-Quota", "-Dailylimit":
		return limitRole
	case "-Remaining", "-Left", "-Available":
		return remainingRole
	case "-Reset", "-Interval", "-Resettime", "-Resetat", "-Resetsat":
		// An interval is the window's length: to wait for one whole window
		// is always enough.
		return resetRole
	}
	return noRole
}

// addTo puts what the field says into its rate-limit window.
func (f field) addTo(list []rateWindow) []rateWindow {
	count, counted := leadingCount(f.value)
	if f.role != resetRole && !counted {
		return list
	}
	i := 0
	for i < len(list) && (list[i].head != f.head || list[i].tail != f.tail) {
		i++
	}
	if i == maxRateWindows {
		return list
	}
	if i == len(list) {
		list = append(list, rateWindow{head: f.head, tail: f.tail, limit: -1, remaining: -1})
	}
	list[i].window = max(list[i].window, windowParameter(f.value))
	if strings.HasSuffix(f.name, "-Dailylimit") {
		list[i].window = day
	}
	switch f.role {
	case remainingRole:
		if list[i].remaining < 0 || count < list[i].remaining {
			list[i].remaining = count
		}
	case resetRole:
		list[i].setReset(f)
	case limitRole, noRole:
		list[i].limit = max(list[i].limit, count)
	}
	return list
}

// setReset takes in a time to the reset. Of two fields (Discord sends an epoch
// and a delta) the longer counts, whichever is read first.
func (b *rateWindow) setReset(f field) {
	wait, ok := Wait(f.name, f.value, f.base)
	if !ok {
		return
	}
	hint := longer(webhook.Hint{Wait: b.reset, From: b.from}, webhook.Hint{Wait: wait, From: f.name})
	b.reset, b.from = hint.Wait, hint.From
}

// leadingCount reads the whole number at the start of a value ("100",
// "100, 100;w=60", "0.0"); a fraction above 0 is something left.
func leadingCount(value string) (int64, bool) {
	number, rest, ok := leadingDecimal(strings.TrimLeft(value, " "))
	if !ok || number.whole > math.MaxInt64 {
		return 0, false
	}
	if rest != "" && rest[0] != ',' && rest[0] != ';' && rest[0] != ' ' {
		return 0, false
	}
	if number.whole == 0 && number.part > 0 {
		return 1, true
	}
	return int64(number.whole), true
}

// windowParameter reads the window behind a count as Docker Hub writes it,
// "100;w=21600"; 0 when there is none.
func windowParameter(value string) time.Duration {
	_, after, found := strings.Cut(value, ";w=")
	number, _, ok := leadingDecimal(after)
	if !found || !ok {
		return 0
	}
	return number.times(time.Second)
}

// listedWindows reads fields with figures for several allowances: the limits
// "200,2000" beside the usage "47,2003" or what remains, "153,0", and perhaps
// their resets. The windows grow from left to right, so that the last is a long
// one (Strava: 15 minutes, then the day).
func listedWindows(header http.Header, base time.Time) []rateWindow {
	var list []rateWindow
	for name, values := range header {
		head, used := strings.CutSuffix(name, "-Usage")
		if !used {
			head, _ = strings.CutSuffix(name, "-Remaining")
		}
		if head == name || familyOf(name) < 0 || len(values) == 0 || len(list) >= maxRateWindows {
			continue
		}
		counts, limits := strings.Split(values[0], ","), strings.Split(header.Get(head+"-Limit"), ",")
		if len(counts) < 2 || len(counts) != len(limits) || len(counts) > maxRateWindows {
			continue
		}
		resets := strings.Split(header.Get(head+"-Reset"), ",")
		for i := range counts {
			count, ok := leadingCount(counts[i])
			limit, read := leadingCount(limits[i])
			if !ok || !read || limit == 0 {
				continue
			}
			b := rateWindow{head: head, limit: limit, remaining: count}
			if used {
				b.remaining = max(limit-count, 0)
			}
			if i == len(counts)-1 {
				b.window = day
			}
			if len(resets) == len(counts) {
				b.setReset(field{name: head + "-Reset", value: strings.TrimSpace(resets[i]), base: base})
			}
			list = append(list, b)
		}
	}
	return list
}

// shopifyWindow reads "39/40": a leaky rate-limit window that drains a twentieth of its
// size each second, as Shopify's REST documentation has it for all plans.
func shopifyWindow(value string) (rateWindow, bool) {
	used, size, found := strings.Cut(value, "/")
	taken, ok := leadingCount(used)
	limit, read := leadingCount(size)
	if !found || !ok || !read || limit == 0 {
		return rateWindow{}, false
	}
	spacing := ceilWait(shopifyDrain / time.Duration(min(limit, int64(shopifyDrain))))
	return rateWindow{
		limit: limit, remaining: max(limit-taken, 0),
		spacing: spacing, window: shopifyDrain,
	}, true
}

// shopifyDrain is how long a full rate-limit window takes to drain.
const shopifyDrain = 20 * time.Second
