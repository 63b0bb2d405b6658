package outbound

import (
	"strings"
	"time"

	"weir/webhook"
)

// words is what one pass over the words of a normalised text finds.
type words struct {
	limit, used, requested *int64
	// window is the first window of time that the text names.
	window window
	// asked is the longest wait that the text asks for, resets the longest
	// time to a reset that it tells.
	asked, resets webhook.Hint
	// kinds is what the text speaks of.
	kinds kind
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

// reader goes over a normalised text word by word.
type reader struct {
	words
	text         string
	base         time.Time
	usageNumbers usageNumbers
	clause       clause
	// from is where the present clause begins.
	from int
	// sent is the payload that the answer may repeat.
	sent *payload
	// before and beforeThat are the words in front of the present one.
	before, beforeThat string
}

// readWords reads figures ("Limit 100000, Used 99299, Requested 1139"), the
// first window that is named ("per day", "(TPM)", "daily"), and waits in
// phrases and members. Instants are measured against base.
func readWords(text string, sent *payload, base time.Time) words {
	r := reader{text: text, base: base, sent: sent}
	for i := 0; i < len(text); {
		c := text[i]
		if !isLower(c) && !isDigit(c) {
			i++
			if endsClause(c) || c == '.' && (i == len(text) || text[i] == ' ') {
				r.endClause(i)
			}
			continue
		}
		end := i + 1
		for end < len(text) && (isLower(text[end]) || isDigit(text[end])) {
			end++
		}
		r.word(i, end)
		i = end
	}
	r.endClause(len(text))
	r.limit, r.used, r.requested = r.usageNumbers.pointers()
	return r.words
}

// endClause takes in what a clause said and begins the next.
func (r *reader) endClause(end int) {
	if r.clause != (clause{}) {
		found := r.clause.kinds()
		if found&echoed != 0 && r.sent.holds(r.text[r.from:end]) {
			found &^= echoed
		}
		r.kinds |= found
		r.clause = clause{}
	}
	r.from = end
}

// word takes in the word from start to end.
func (r *reader) word(start, end int) {
	word := r.text[start:end]
	r.usageNumbers.take(word, r.text[end:])
	r.classify(word, start)
	if r.window == "" {
		r.window = r.windowOf(word, start)
	}
	r.wait(start, end)
	r.before, r.beforeThat = word, r.before
}

// classify notes the part that a word plays in its clause and the phrases that
// begin with it.
func (r *reader) classify(word string, start int) {
	if e, ok := vocabulary.find(word); ok {
		r.clause.classes |= e.classes
		for _, p := range e.phrases {
			if p.matches(r.text, start) {
				r.clause.found |= p.kind
			}
		}
	}
	switch word {
	case "up":
		if r.before == "used" {
			r.clause.classes |= overWord
		}
	case "out":
		if r.before == "run" || r.before == "ran" {
			r.clause.classes |= outWord
		}
	case "of":
		if r.before == "out" && !isNumeral(r.beforeThat) {
			r.clause.classes |= outWord
		}
	}
	if len(word) >= shortestStem {
		r.clause.found |= stemKinds(word)
	}
}

// windowOf names the window that the word at start stands for, by itself or by
// the words before it.
func (r *reader) windowOf(word string, start int) window {
	if name := nameOfWindow(word); name != "" {
		return name
	}
	if (r.before == "per" || r.before == "every") && isDigit(word[0]) {
		return countedWindow(word)
	}
	if r.before == "billing" && (word == "period" || word == "cycle") {
		return "month"
	}
	name := nameOfUnit(word, "")
	if name == "" {
		return ""
	}
	if strings.HasSuffix(strings.TrimSuffix(r.text[:start], " "), "/") {
		return name
	}
	switch r.before {
	case "per", "each", "every", "this":
		return name
	case "a":
		if name == "day" {
			return name
		}
	}
	if !isNumeral(r.before) {
		return ""
	}
	switch r.beforeThat {
	case "per", "every":
		return nameOfUnit(word, r.before)
	case "in", "over", "within", "during", "a", "any", "last":
		// Also how a wait is told, so only the long ones count here.
		if name = nameOfUnit(word, r.before); name.long() {
			return name
		}
	}
	return ""
}

// isNumeral reports whether a word is a number before a unit.
func isNumeral(word string) bool { return word == "one" || word != "" && isDigit(word[0]) }

// countedWindow names the window of a word such as "86400s" or "24h", which
// stands for one behind "per".
func countedWindow(word string) window {
	number, unit, ok := leadingDecimal(word)
	length, known := naturalUnit(unit)
	switch {
	case !ok || !known:
		return ""
	case number.times(length) >= day:
		return "day"
	case number.times(length) >= time.Hour:
		return "hour"
	case number.times(length) >= time.Minute:
		return "minute"
	}
	return "second"
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
	if at := strings.LastIndex(word, "by"); at > 0 && len(word)-at > len("byd") {
		return nameOfUnit(word[at+len("by"):], "") // "UserByModelByDay"
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
