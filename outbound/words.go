package outbound

import "strings"

// words is what one pass over the words of a folded text finds.
type words struct {
	limit, used, requested *int64
	// window is the first window of time that the text names.
	window window
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

// readWords reads figures ("Limit 100000, Used 99299, Requested 1139") and the
// first window that is named ("per day", "(TPM)", "daily").
func readWords(text string) words {
	var found words
	var figures figures
	var before, beforeThat string
	for i := 0; i < len(text); {
		if !isLower(text[i]) && !isDigit(text[i]) {
			i++
			continue
		}
		end := i
		for end < len(text) && (isLower(text[end]) || isDigit(text[end])) {
			end++
		}
		word := text[i:end]
		figures.take(word, text[end:])
		if found.window == "" {
			found.window = windowOf(word, before, beforeThat, slashBefore(text[:i]))
		}
		before, beforeThat = word, before
		i = end
	}
	found.limit, found.used, found.requested = figures.pointers()
	return found
}

// slashBefore reports whether the text ends in a slash and perhaps a space.
func slashBefore(text string) string {
	if strings.HasSuffix(strings.TrimSuffix(text, " "), "/") {
		return "per"
	}
	return ""
}

// windowOf names the window that a word stands for, given the words before it
// and "per" for a slash.
func windowOf(word, before, beforeThat, slash string) window {
	if name := nameOfWindow(word); name != "" {
		return name
	}
	if slash != "" {
		return nameOfUnit(word, "")
	}
	switch before {
	case "per", "each", "every":
		return nameOfUnit(word, "")
	case "a":
		if word == "day" {
			return "day"
		}
	}
	if (beforeThat == "per" || beforeThat == "every") && isDigit(before[0]) {
		return nameOfUnit(word, before)
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
		if len(count) >= 2 && count >= "24" || len(count) > 2 {
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
