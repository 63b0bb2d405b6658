package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"weir/webhook"
)

// maxSearch bounds each member of a search, in bytes.
const maxSearch = 512

// search is what the page of events is asked for.
type search struct {
	// Text is an id or a key.
	Text        string
	Source      string
	Type        string // "*" stands for any text
	Contains    string
	State       string
	Destination string
	Since       string
	Until       string
	Cursor      string
}

// readSearch reads a query. What is not text or too long is left out; so is
// every name that it does not know.
func readSearch(query url.Values) search {
	text := func(name string) string {
		value := strings.TrimSpace(query.Get(name))
		if len(value) > maxSearch || !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
			return ""
		}
		return value
	}
	return search{
		Text: text("q"), Source: text("source"), Type: text("type"), Contains: text("contains"), State: text("state"), Destination: text("destination"),
		Since: text("since"), Until: text("until"), Cursor: text("cursor"),
	}
}

// formats are those in which a time may be given: what browsers send from a
// field for dates and times, and RFC 3339. Without a zone it is UTC.
var formats = [...]string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"}

// when reads a time of the search; the zero time for none.
func when(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, format := range formats {
		if at, err := time.Parse(format, text); err == nil && at.Year() >= 1970 && at.Year() <= 9999 {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fault{http.StatusBadRequest, "A time must look like 2026-11-30T03:27 and is read as UTC."}
}

// query turns a search into a query of the store.
func (s search) query() (webhook.EventQuery, error) {
	since, err := when(s.Since)
	if err != nil {
		return webhook.EventQuery{}, err
	}
	until, err := when(s.Until)
	if err != nil {
		return webhook.EventQuery{}, err
	}
	state := webhook.State(s.State)
	if s.State != "" && !slices.Contains(webhook.States(), state) {
		return webhook.EventQuery{}, fault{http.StatusBadRequest, "There is no such state."}
	}
	return webhook.EventQuery{
		Source: s.Source, Key: s.Text, Type: s.Type, Contains: s.Contains[:min(len(s.Contains), webhook.MaxContains)], State: state, Destination: s.Destination,
		Since: since, Until: until, After: s.Cursor, Limit: webhook.DefaultPage,
	}, nil
}

// link returns the address of another page of the same search.
func (s search) link(cursor string) string {
	values := url.Values{}
	for name, value := range map[string]string{
		"q": s.Text, "source": s.Source, "type": s.Type, "contains": s.Contains, "state": s.State, "destination": s.Destination,
		"since": s.Since, "until": s.Until, "cursor": cursor,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return "/events"
	}
	return "/events?" + values.Encode()
}

// eventsView is what the page of events shows.
type eventsView struct {
	Search       search
	Sources      []string
	Destinations []string
	States       []webhook.State
	Items        []eventView
	First        string
	Older        string
}

// events is GET /events. A search for an id leads to its event.
func (d *Dashboard) events(w http.ResponseWriter, v visit) {
	s := readSearch(v.URL.Query())
	if found, ok := d.byID(v, s.Text); ok {
		d.redirect(w, v.Request, "/events/"+found.String())
		return
	}
	made, err := d.listEvents(v, s)
	if err != nil {
		d.fail(w, v.Request, err)
		return
	}
	d.render(w, v.Request, made)
}

// byID reports whether a text is the id of an event. It may as well be a key
// that looks like one.
func (d *Dashboard) byID(v visit, text string) (webhook.ID, bool) {
	id, err := webhook.ParseID(text)
	if err != nil || d.config.Events == nil {
		return id, false
	}
	_, err = d.config.Events.Event(v.Context(), id)
	return id, err == nil
}

// listEvents makes the page.
func (d *Dashboard) listEvents(v visit, s search) (page, error) {
	query, err := s.query()
	if err != nil {
		return page{}, err
	}
	view := eventsView{Search: s, Sources: d.config.Sources, States: webhook.States()}
	for _, downstream := range d.config.Downstreams {
		view.Destinations = append(view.Destinations, downstream.Name)
	}
	if d.config.Events == nil {
		return page{name: "events", title: "Events", data: view}, nil
	}
	found, err := d.config.Events.Events(v.Context(), query)
	if err != nil {
		return page{}, fmt.Errorf("list of events: %w", err)
	}
	for _, detail := range found.Items {
		item := d.eventView(v, detail)
		for _, history := range detail.Deliveries {
			item.Deliveries = append(item.Deliveries, d.delivery(v, history.Delivery))
		}
		view.Items = append(view.Items, item)
	}
	if s.Cursor != "" {
		view.First = s.link("")
	}
	if found.Next != "" {
		view.Older = s.link(found.Next)
	}
	return page{name: "events", title: "Events", data: view}, nil
}
