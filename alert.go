package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// alertEvery is the least time between two messages about one matter. What
// happens meanwhile is told in a summary after it.
const alertEvery = time.Hour

// alertKind is what an alert is about.
type alertKind string

// The kinds of alerts.
const (
	alertHold    alertKind = "hold"    // a destination's hold needs a person
	alertDead    alertKind = "dead"    // deliveries died
	alertSilent  alertKind = "silent"  // a source sends nothing any more
	alertFull    alertKind = "full"    // the store is full, or nearly
	alertStore   alertKind = "store"   // the store cannot commit
	alertStuck   alertKind = "stuck"   // a dispatch loop does not turn
	alertStray   alertKind = "stray"   // deliveries wait for a destination that is gone from the settings
	alertRevoked alertKind = "revoked" // a sender says that it has given up
)

// matter is what messages are counted by: a kind and whom it concerns.
type matter struct {
	kind    alertKind
	subject string
}

// was says in a sentence about the past what a matter was, for the message of
// its end: what its beginning said, such as the time of the next try, does not
// hold any more.
func (m matter) was() string {
	switch m.kind {
	case alertHold:
		name, reason, _ := strings.Cut(m.subject, " ")
		return fmt.Sprintf("destination %s was held: %s", name, reason)
	case alertSilent:
		return fmt.Sprintf("source %s was silent", m.subject)
	case alertFull:
		return "the store was full, or nearly"
	case alertStore:
		return "the store could not commit"
	case alertStuck:
		return fmt.Sprintf("destination %s: its dispatch loop did not turn", m.subject)
	case alertStray:
		return fmt.Sprintf("destination %s: was not configured any more, but deliveries waited for it", m.subject)
	}
	return m.subject // the others have no end
}

// alerts decides what to tell a person, and when. It takes no clock and sends
// nothing: each method returns the messages that are due because of it.
//
// A matter that begins and ends gets one message for each, unless it began
// within an hour of its last message: then its coming and going is told in one
// summary when the hour is over. Things that only happen are told at once, and
// then summed up by the hour.
type alerts struct {
	matters map[matter]*concern
}

// concern is what is known about a matter.
type concern struct {
	// text says what is the matter, in one sentence without a full stop.
	text string
	// begun is when it began; zero while it does not stand.
	begun time.Time
	// told says that a message said so.
	told bool
	// last is when the last message, other than of an end, was due.
	last time.Time
	// untold is how often it began since.
	untold int
	// counts are the things that happened since, by what they were.
	counts map[string]int
}

// maxCounts bounds the different things of one summary.
const maxCounts = 8

func newAlerts() *alerts { return &alerts{matters: map[matter]*concern{}} }

// about returns what is known about a matter.
func (a *alerts) about(m matter) *concern {
	c, known := a.matters[m]
	if !known {
		c = &concern{counts: map[string]int{}}
		a.matters[m] = c
	}
	return c
}

// known takes a matter that stands already for told: what a start finds is no
// news.
func (a *alerts) known(m matter, text string, since time.Time) {
	c := a.about(m)
	c.text, c.begun, c.told = text, since, true
}

// begin notes that a matter stands. Saying so again changes nothing.
func (a *alerts) begin(m matter, text string, now time.Time) []string {
	c := a.about(m)
	if !c.begun.IsZero() {
		return nil
	}
	c.text, c.begun, c.told = text, now, false
	c.untold++
	if !c.quietUntil().After(now) {
		return c.tell(now, text)
	}
	return nil
}

// end notes that a matter does not stand any more.
func (a *alerts) end(m matter, now time.Time) []string {
	c, known := a.matters[m]
	if !known || c.begun.IsZero() {
		return nil
	}
	lasted := now.Sub(c.begun).Truncate(time.Second)
	c.begun = time.Time{}
	if !c.told {
		return nil
	}
	c.told = false
	return []string{fmt.Sprintf("over after %s: %s", lasted, m.was())}
}

// stands reports whether a matter has begun and not ended.
func (a *alerts) stands(m matter) bool {
	c, known := a.matters[m]
	return known && !c.begun.IsZero()
}

// standing lists the matters of a kind that stand.
func (a *alerts) standing(kind alertKind) []matter {
	var list []matter
	for m, c := range a.matters {
		if m.kind == kind && !c.begun.IsZero() {
			list = append(list, m)
		}
	}
	return list
}

// happening is something that happens and has no end.
type happening struct {
	// text says where, such as "deliveries to app died".
	text string
	// what it was, such as "rejected"; count is how often.
	what  string
	count int
}

// happen notes things that happened.
func (a *alerts) happen(m matter, h happening, now time.Time) []string {
	c := a.about(m)
	c.text = h.text
	if _, counted := c.counts[h.what]; !counted && len(c.counts) >= maxCounts {
		h.what = "others"
	}
	c.counts[h.what] += h.count
	if !c.quietUntil().After(now) {
		return c.tell(now, c.summary())
	}
	return nil
}

// tick returns the summaries that are due at now.
func (a *alerts) tick(now time.Time) []string {
	var due []string
	for _, m := range slices.SortedFunc(maps.Keys(a.matters), compareMatters) {
		c := a.matters[m]
		if c.quietUntil().After(now) {
			continue
		}
		switch {
		case len(c.counts) > 0:
			due = append(due, c.tell(now, c.summary())...)
		case c.untold > 0 && !c.begun.IsZero():
			due = append(due, c.tell(now, fmt.Sprintf("%s (began %s since the last message)", c.text, times(c.untold)))...)
		case c.untold > 0:
			due = append(due, c.tell(now, fmt.Sprintf("over, but it came back %s since the last message: %s", times(c.untold), m.was()))...)
			c.told = false
		}
	}
	return due
}

func compareMatters(a, b matter) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.subject, b.subject))
}

// quietUntil is when the next message may be due.
func (c *concern) quietUntil() time.Time {
	if c.last.IsZero() {
		return time.Time{}
	}
	return c.last.Add(alertEvery)
}

// tell notes that a message is due.
func (c *concern) tell(now time.Time, text string) []string {
	c.last, c.told, c.untold = now, true, 0
	clear(c.counts)
	return []string{text}
}

// summary says what happened: "deliveries to app died: 3 rejected, 1 expired".
func (c *concern) summary() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		parts = append(parts, counted(what, c.counts[what]))
	}
	return c.text + ": " + strings.Join(parts, ", ")
}

// counted writes how often something happened: "3 rejected", or behind a whole
// sentence, "(3 times)".
func counted(what string, n int) string {
	switch {
	case !strings.Contains(what, " "):
		return fmt.Sprintf("%d %s", n, what)
	case n == 1:
		return what
	default:
		return fmt.Sprintf("%s (%s)", what, times(n))
	}
}

// times writes how often.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
