package handler

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir/webhook"
)

// maxText bounds a text in a query.
const maxText = 1024

// fields are the members of a query or of a filter, each given once, not
// empty and known. Reading from it collects the first problem.
type fields struct {
	// of is where they stand: query or filter.
	of     string
	values map[string]string
	err    error
}

// queryFields reads a URL's query. A name that is not among the known ones is
// an error: a misspelled filter must not select everything.
func queryFields(query string, known ...string) *fields {
	f := &fields{of: "query", values: map[string]string{}}
	parsed, err := url.ParseQuery(query)
	if err != nil {
		f.err = badRequest("The query cannot be read.")
		return f
	}
	for name, values := range parsed {
		f.known(name, known)
		if len(values) > 1 {
			f.fail(name + " may be given once")
		}
		f.set(name, values[0])
	}
	return f
}

// withoutQuery refuses a query where a path reads none.
func withoutQuery(do func(*http.Request) (result, error)) func(*http.Request) (result, error) {
	return func(r *http.Request) (result, error) {
		if err := queryFields(r.URL.RawQuery).err; err != nil {
			return result{}, err
		}
		return do(r)
	}
}

// known fails for a name that is not among those of a query.
func (f *fields) known(name string, names []string) {
	switch {
	case slices.Contains(names, name):
	case len(names) == 0:
		f.fail("there is nothing that this path reads")
	default:
		f.fail("only these names may be used: " + strings.Join(names, ", "))
	}
}

// set takes a value over; an empty one is as good as none.
func (f *fields) set(name, value string) {
	switch {
	case len(value) > maxText:
		f.fail(fmt.Sprintf("%s may be at most %d bytes", name, maxText))
	case !utf8.ValidString(value), strings.ContainsRune(value, 0):
		f.fail(name + " must be text")
	case value != "":
		f.values[name] = value
	}
}

// fail keeps the first problem.
func (f *fields) fail(detail string) {
	if f.err == nil {
		f.err = badRequest("In the " + f.of + ", " + detail + ".")
	}
}

// text returns a member as it is, "" without one.
func (f *fields) text(name string) string { return f.values[name] }

// oneOf returns a member that must be among the allowed words.
func oneOf[T ~string](f *fields, name string, allowed []T) T {
	value := T(f.values[name])
	if value != "" && !slices.Contains(allowed, value) {
		words := make([]string, len(allowed))
		for i, word := range allowed {
			words[i] = string(word)
		}
		f.fail(name + " must be one of " + strings.Join(words, ", "))
	}
	return value
}

// moment returns a member that must be a time (RFC 3339).
func (f *fields) moment(name string) time.Time {
	value := f.values[name]
	if value == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		f.fail(name + " must be a time such as 2026-11-30T03:27:11.123Z")
		return time.Time{}
	}
	return at.UTC()
}

// number returns a member that must be a whole number of at least 1. What is
// larger than most becomes most.
func (f *fields) number(name string, otherwise, most int) int {
	value := f.values[name]
	if value == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n < 1 {
		f.fail(name + " must be a whole number of at least 1")
		return otherwise
	}
	return min(int(n), most)
}

// limit returns the size of a page.
func (f *fields) limit() int {
	return f.number("limit", webhook.DefaultPage, webhook.MaxPage)
}

// eventNames are the names of the query of GET /v1/events.
var eventNames = []string{"source", "key", "type", "contains", "state", "destination", "since", "until", "limit", "cursor"}

// eventQuery reads the query of GET /v1/events.
func eventQuery(query string) (webhook.EventQuery, error) {
	f := queryFields(query, eventNames...)
	q := webhook.EventQuery{
		Source:      f.text("source"),
		Key:         f.text("key"),
		Type:        f.text("type"),
		Contains:    f.text("contains"),
		State:       oneOf(f, "state", webhook.States()),
		Destination: f.text("destination"),
		Since:       f.moment("since"),
		Until:       f.moment("until"),
		After:       f.text("cursor"),
		Limit:       f.limit(),
	}
	if len(q.Contains) > webhook.MaxContains {
		f.fail(fmt.Sprintf("contains may be at most %d bytes", webhook.MaxContains))
	}
	return q, f.err
}

// filterNames are the names that select deliveries.
var filterNames = []string{"state", "reason", "waiting_for", "destination", "source", "since", "until"}

// selection is what an operator asks deliveries by.
type selection struct {
	query      webhook.DeliveryQuery
	waitingFor webhook.WaitingFor
}

// deliverySelection reads what selects deliveries. Only dead ones have a
// reason and only pending ones wait.
func deliverySelection(f *fields) selection {
	s := selection{
		query: webhook.DeliveryQuery{
			State:       oneOf(f, "state", webhook.States()),
			Reason:      oneOf(f, "reason", webhook.DeadReasons()),
			Source:      f.text("source"),
			Destination: f.text("destination"),
			Since:       f.moment("since"),
			Until:       f.moment("until"),
		},
		waitingFor: oneOf(f, "waiting_for", webhook.WaitingFors()),
	}
	if s.waitingFor != "" {
		s.state(f, webhook.Pending, "waiting_for")
	}
	if s.query.Reason != "" {
		s.state(f, webhook.Dead, "reason")
	}
	return s
}

// state narrows a selection to the only state in which a member has a meaning.
func (s *selection) state(f *fields, state webhook.State, member string) {
	if s.query.State != "" && s.query.State != state {
		f.fail(fmt.Sprintf("%s goes with the state %s only", member, state))
	}
	s.query.State = state
}

// A cursor of a list that goes through several destinations names the
// destination and the place within.

// joinCursor makes such a cursor.
func joinCursor(destination, place string) string {
	return "d1." + base64.RawURLEncoding.EncodeToString([]byte(destination)) + "." + place
}

// splitCursor reads it. The empty cursor is the beginning.
func splitCursor(cursor string) (destination, place string, err error) {
	if cursor == "" {
		return "", "", nil
	}
	parts := strings.SplitN(cursor, ".", 3)
	if len(parts) != 3 || parts[0] != "d1" {
		return "", "", webhook.ErrCursor
	}
	name, err := base64.RawURLEncoding.Strict().DecodeString(parts[1])
	// Base64 skips line breaks, so that one place would have many cursors.
	if err != nil || len(name) == 0 || joinCursor(string(name), parts[2]) != cursor {
		return "", "", webhook.ErrCursor
	}
	return string(name), parts[2], nil
}
