package outbound

import (
	"strings"
	"time"

	"weir/webhook"
)

// words is what one pass over the words of a folded text finds.
type words struct {
	limit, used, requested *int64
	// window is the first window of time that the text names.
	window window
	// asked is the longest wait that the text asks for, resets the longest
	// time to a reset that it tells.
	asked, resets webhook.Hint
	// sizes, bills and limits say that the text has a word without which
	// none of the phrases of that kind can be in it.
	sizes, bills, limits bool
}

// window is a span of time that a limit is counted over, by name: "day".
type window string

// concurrency stands for requests at the same time, the shortest window.
const concurrency window = "concurrency"

// long reports whether a full window of this kind is a spent quota and not a
// short limit. An hour is neither named long nor short by the providers: the
// wait decides there.
func (w window) long() bool {
	switch w {
	case "day", "week", "month", "year":
		return true
	}
	return false
}

// reader goes over a folded text word by word.
type reader struct {
	words
	text    string
	base    time.Time
	figures figures
	// before and beforeThat are the words in front of the present one.
	before, beforeThat string
}

// readWords reads figures ("Limit 100000, Used 99299, Requested 1139"), the
// first window that is named ("per day", "(TPM)", "daily"), and waits in
// phrases and members. Instants are measured against base.
func readWords(text string, base time.Time) words {
	r := reader{text: text, base: base}
	for i := 0; i < len(text); {
		if !isLower(text[i]) && !isDigit(text[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && (isLower(text[end]) || isDigit(text[end])) {
			end++
		}
		r.word(i, end)
		i = end
	}
	r.limit, r.used, r.requested = r.figures.pointers()
	return r.words
}

// word takes in the word from start to end.
func (r *reader) word(start, end int) {
	word := r.text[start:end]
	r.figures.take(word, r.text[end:])
	r.anchor(word)
	if r.window == "" {
		r.window = r.windowOf(word, start)
	}
	r.wait(start, end)
	r.before, r.beforeThat = word, r.before
}

// anchor notes words that a kind of phrase cannot do without.
func (r *reader) anchor(word string) {
	switch word {
	case "large", "long", "maximum", "max", "context":
		r.sizes = true
	case "usage":
		r.bills, r.limits = true, true
	case "insufficient", "credit", "credits", "billing", "spend", "serving", "1027",
		"totalrequests", "dailylimitexceeded", quotaException:
		r.bills = true
	case "rate", "many", "request", "requests", "slow", "resource", "quota",
		"concurrentrequests", "daily", "monthly":
		r.limits = true
	default:
		if len(word) >= len("throttl") {
			r.sizes = r.sizes || strings.HasSuffix(word, "toolarge")
			r.limits = r.limits || strings.Contains(word, "throttl") ||
				strings.Contains(word, "ratelimit") || strings.Contains(word, "slowdown") ||
				strings.Contains(word, "quotaexceeded") || strings.Contains(word, "requestlimit") ||
				strings.Contains(word, "throughput") || strings.Contains(word, "toomany")
		}
	}
}

// windowOf names the window that the word at start stands for, by itself or by
// the words before it.
func (r *reader) windowOf(word string, start int) window {
	if name := nameOfWindow(word); name != "" {
		return name
	}
	name := nameOfUnit(word, "")
	if name == "" {
		return ""
	}
	if strings.HasSuffix(strings.TrimSuffix(r.text[:start], " "), "/") {
		return name
	}
	switch r.before {
	case "per", "each", "every":
		return name
	case "a":
		if name == "day" {
			return name
		}
	}
	if (r.beforeThat == "per" || r.beforeThat == "every") && isDigit(r.before[0]) {
		return nameOfUnit(word, r.before)
	}
	return ""
}

// nameOfWindow knows the words that name a window by themselves.
func nameOfWindow(word string) window {
	switch word {
	case "daily", "tpd", "rpd", "perday":
		return "day"
	case "weekly", "perweek":
		return "week"
	case "month", "monthly", "permonth":
		return "month"
	case "yearly", "annual", "annually", "peryear":
		return "year"
	case "hourly", "tph", "rph", "perhour":
		return "hour"
	case "minutely", "tpm", "rpm", "perminute":
		return "minute"
	case "secondly", "tps", "rps", "persecond":
		return "second"
	case "concurrency", "concurrent", "concurrently":
		return concurrency
	}
	return ""
}

// nameOfUnit names the window of a unit after "per", with a count before the
// unit or none.
func nameOfUnit(word, count string) window {
	switch word {
	case "day", "days", "d":
		return "day"
	case "week", "weeks":
		return "week"
	case "month", "months":
		return "month"
	case "year", "years":
		return "year"
	case "hour", "hours", "hr", "hrs", "h":
		if len(count) > 2 || len(count) == 2 && count >= "24" {
			return "day"
		}
		return "hour"
	case "minute", "minutes", "min", "mins", "m":
		return "minute"
	case "second", "seconds", "sec", "secs", "s":
		return "second"
	}
	return ""
}
