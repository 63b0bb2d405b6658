// Package alert decides what a person is told, and sends it to WEIR_ALERT_URL.
//
// # Guarantees
//
// A person gets at most one message an hour for each condition, however often it
// comes and goes; what happens meanwhile is summed up in the next one. No method
// of an [Alerter] blocks: a message that finds no room is dropped and counted.
// What cannot be sent is logged without the address, and touches nothing else.
//
// # Vocabulary
//
//   - A [Condition] is what messages are counted by: a [Kind] and whom it
//     concerns. An [Active] condition has begun and not ended.
//   - An occurrence happens and has no end: a delivery that died.
//   - A [Cadence] is how regularly a source sends; it says how long a silence
//     of that source is worth a message.
//
// # Example
//
//	a := alert.New(alert.Config{URL: url, Version: "devel", Dial: dial, Log: log, Count: count, Started: time.Now()})
//	go a.Run(ctx) // until Close; wait for it
//	a.Died("app", webhook.DeadRejected, 3)
package alert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// repeatAfter is the least time between two messages about one condition. What
// happens meanwhile is summed up in the next one.
const repeatAfter = time.Hour

// Kind is what an alert is about.
type Kind string

// The kinds of alerts.
const (
	Hold    Kind = "hold"    // a destination's hold needs a person
	Dead    Kind = "dead"    // deliveries died
	Silent  Kind = "silent"  // a source sends nothing any more
	Full    Kind = "full"    // the store is full, or nearly
	Store   Kind = "store"   // the store cannot commit
	Stuck   Kind = "stuck"   // a delivery loop is stuck
	Removed Kind = "stray"   // deliveries wait for a destination that was removed from the settings
	Revoked Kind = "revoked" // a sender says that it has given up
)

// Condition is what messages are counted by: a kind and whom it concerns.
type Condition struct {
	Kind    Kind
	Subject string
}

// was says in a sentence about the past what a condition was, for the message of
// its end: what its beginning said, such as the time of the next attempt, is not
// true any more.
func (m Condition) was() string {
	switch m.Kind {
	case Hold:
		name, reason, _ := strings.Cut(m.Subject, " ")
		return fmt.Sprintf("destination %s was held: %s", name, reason)
	case Silent:
		return fmt.Sprintf("source %s was silent", m.Subject)
	case Full:
		return "the store was full, or nearly"
	case Store:
		return "the store could not commit"
	case Stuck:
		return fmt.Sprintf("destination %s: its delivery loop was stuck", m.Subject)
	case Removed:
		return fmt.Sprintf("destination %s: was not configured any more, but deliveries waited for it", m.Subject)
	}
	return m.Subject // the others have no end
}

// tracker decides what a person is told, and when. It takes no clock and sends
// nothing: each method returns the messages that are due because of it.
//
// A condition that begins and ends gets one message for each, unless it began
// within an hour of its last message: then its coming and going is told in one
// summary when the hour is over. Things that only happen are told at once, and
// then summed up by the hour.
type tracker struct {
	conditions map[Condition]*tracked
}

// tracked is what is known about a condition.
type tracked struct {
	// text says what the condition is, in one sentence without a full stop.
	text string
	// begun is when it began; zero while it is not active.
	begun time.Time
	// announced says that a message said so.
	announced bool
	// last is when the last message, other than of an end, was due.
	last time.Time
	// unannounced is how often it began since.
	unannounced int
	// counts are the things that happened since, by what they were.
	counts map[string]int
}

// maxCounts bounds the different things of one summary.
const maxCounts = 8

func newTracker() *tracker { return &tracker{conditions: map[Condition]*tracked{}} }

// of returns what is known about a condition.
func (a *tracker) of(m Condition) *tracked {
	c, known := a.conditions[m]
	if !known {
		c = &tracked{counts: map[string]int{}}
		a.conditions[m] = c
	}
	return c
}

// seed marks a condition as active and announced.
func (a *tracker) seed(m Condition, text string, since time.Time) {
	c := a.of(m)
	c.text, c.begun, c.announced = text, since, true
}

// begin notes that a condition is active. Saying so again changes nothing.
func (a *tracker) begin(m Condition, text string, now time.Time) []string {
	c := a.of(m)
	if !c.begun.IsZero() {
		return nil
	}
	c.text, c.begun, c.announced = text, now, false
	c.unannounced++
	if !c.quietUntil().After(now) {
		return c.announce(now, text)
	}
	return nil
}

// end notes that a condition is not active any more.
func (a *tracker) end(m Condition, now time.Time) []string {
	c, known := a.conditions[m]
	if !known || c.begun.IsZero() {
		return nil
	}
	lasted := now.Sub(c.begun).Truncate(time.Second)
	c.begun = time.Time{}
	if !c.announced {
		return nil
	}
	c.announced = false
	return []string{fmt.Sprintf("over after %s: %s", lasted, m.was())}
}

// isActive reports whether a condition has begun and not ended.
func (a *tracker) isActive(m Condition) bool {
	c, known := a.conditions[m]
	return known && !c.begun.IsZero()
}

// active lists the active conditions of a kind.
func (a *tracker) active(kind Kind) []Condition {
	var list []Condition
	for m, c := range a.conditions {
		if m.Kind == kind && !c.begun.IsZero() {
			list = append(list, m)
		}
	}
	return list
}

// occurrence is something that happens and has no end.
type occurrence struct {
	// text says where, such as "deliveries to app died".
	text string
	// what it was, such as "rejected"; count is how often.
	what  string
	count int
}

// occur notes things that happened.
func (a *tracker) occur(m Condition, h occurrence, now time.Time) []string {
	c := a.of(m)
	c.text = h.text
	if _, counted := c.counts[h.what]; !counted && len(c.counts) >= maxCounts {
		h.what = "others"
	}
	c.counts[h.what] += h.count
	if !c.quietUntil().After(now) {
		return c.announce(now, c.summary())
	}
	return nil
}

// tick returns the summaries that are due at now.
func (a *tracker) tick(now time.Time) []string {
	var due []string
	for _, m := range slices.SortedFunc(maps.Keys(a.conditions), compareConditions) {
		c := a.conditions[m]
		if c.quietUntil().After(now) {
			continue
		}
		switch {
		case len(c.counts) > 0:
			due = append(due, c.announce(now, c.summary())...)
		case c.unannounced > 0 && !c.begun.IsZero():
			due = append(due, c.announce(now, fmt.Sprintf("%s (began %s since the last message)", c.text, times(c.unannounced)))...)
		case c.unannounced > 0:
			due = append(due, c.announce(now, fmt.Sprintf("over, but it came back %s since the last message: %s", times(c.unannounced), m.was()))...)
			c.announced = false
		}
	}
	return due
}

func compareConditions(a, b Condition) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject))
}

// quietUntil is when the next message may be due.
func (c *tracked) quietUntil() time.Time {
	if c.last.IsZero() {
		return time.Time{}
	}
	return c.last.Add(repeatAfter)
}

// announce notes that a message is due.
func (c *tracked) announce(now time.Time, text string) []string {
	c.last, c.announced, c.unannounced = now, true, 0
	clear(c.counts)
	return []string{text}
}

// summary says what happened: "deliveries to app died: 3 rejected, 1 expired".
func (c *tracked) summary() string {
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
