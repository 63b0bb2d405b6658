package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/cli/client"
	"weir/webhook"
	"weir/webhook/wording"
)

// eventsCmd is "weir events".
type eventsCmd struct {
	Source      string         `placeholder:"NAME" help:"Of this source."`
	Key         string         `placeholder:"KEY" help:"With this id of the sender."`
	Type        string         `placeholder:"TYPE" help:"Of this type; * stands for any text."`
	Contains    string         `placeholder:"TEXT" help:"With this text in the body."`
	State       *webhook.State `enum:"${states}" placeholder:"STATE" help:"With a delivery in this state: ${enum}."`
	Destination string         `placeholder:"NAME" help:"With a delivery to this destination."`
	Since       instant        `placeholder:"TIME" help:"Received from this time on, or since so long ago."`
	Until       instant        `placeholder:"TIME" help:"Received before this time."`
	Limit       int            `default:"50" placeholder:"N" help:"At most so many (${default})."`
	Follow      bool           `help:"Go on with new events as they come in, oldest first."`
	asking
}

// Help is shown by "weir help events".
func (eventsCmd) Help() string {
	return `Lists events, newest first, with the state of their deliveries. A time is one such as 2026-11-30T03:27:11Z or 2026-11-30, or how long ago, such as 90m or 7d.

Examples:

    weir events --source github --since 1d --state dead
    weir events --contains "order 1234"
    weir events --follow --json | jq .key`
}

// Validate checks what the declaration cannot.
func (c *eventsCmd) Validate() error {
	if c.Limit < 1 {
		return errors.New("--limit must be at least 1")
	}
	return nil
}

// Run lists the events.
func (c *eventsCmd) Run(ctx context.Context, env Env) error {
	return c.asOperator(env, func(api *client.Client) error {
		l := &listing{eventsCmd: c, query: c.query(), client: api, out: env.Stdout, notes: env.Stderr}
		if c.Follow {
			return l.follow(ctx)
		}
		return l.newestFirst(ctx)
	})
}

// query returns the filter in the words of the API.
func (c *eventsCmd) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{
		"source": c.Source, "key": c.Key, "type": c.Type, "contains": c.Contains, "destination": c.Destination, "since": string(c.Since), "until": string(c.Until),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.State != nil {
		query.Set("state", string(*c.State))
	}
	return query
}

// listing goes through a list of events and prints them.
type listing struct {
	*eventsCmd
	query  url.Values
	client *client.Client
	out    io.Writer
	// notes is for what is no event.
	notes io.Writer
	head  bool // is printed
}

const eventLine = "%-36s  %-20s  %-16s  %-24s  %-36s  %8s  %s\n"

// begin prints the head of the table, once. It waits for the first answer, so
// that it does not stand above an error.
func (l *listing) begin() {
	if !l.JSON && !l.head {
		fmt.Fprintf(l.out, eventLine, "EVENT", "RECEIVED", "SOURCE", "TYPE", "KEY", "BYTES", "DELIVERIES")
	}
	l.head = true
}

// show prints an event.
func (l *listing) show(row event) error {
	l.begin()
	if l.JSON {
		return printJSON(l.out, row)
	}
	e := row.value
	key := wording.PlainLine(e.Key)
	if e.Duplicates > 0 {
		key += fmt.Sprintf(" ×%d", e.Duplicates+1)
	}
	_, err := fmt.Fprintf(l.out, eventLine, e.ID, e.ReceivedAt.UTC().Format("2006-01-02 15:04:05Z"),
		e.Source, wording.PlainLine(e.Type), key, strconv.FormatInt(e.Size, 10), deliveriesOf(e))
	return err
}

// deliveriesOf shows the states of the deliveries of an event.
func deliveriesOf(e client.Event) string {
	var list []string
	for _, d := range e.Deliveries {
		line := d.Destination + " " + string(d.State)
		switch d.State {
		case webhook.Pending:
			line += " " + string(d.WaitingFor)
		case webhook.Dead:
			line += " " + string(d.Reason)
		}
		list = append(list, line)
	}
	return strings.Join(list, ", ")
}

// newestFirst prints the list as the service gives it. After a slip nothing is
// found, which looks like good news: then the names are checked.
func (l *listing) newestFirst(ctx context.Context) error {
	err := l.each(ctx, l.query, l.Limit, l.show)
	if err == nil && !l.head {
		err = unknownNames(ctx, l.client, l.Source, l.Destination)
	}
	if err == nil {
		l.begin()
	}
	return err
}

// each reads page after page, up to so many events, and does something with
// every event.
func (l *listing) each(ctx context.Context, query url.Values, most int, do func(event) error) error {
	asked := maps.Clone(query)
	for left := most; ; {
		asked.Set("limit", strconv.Itoa(min(left, webhook.MaxPage)))
		var list client.List[event]
		if err := l.client.Get(ctx, "/v1/events?"+asked.Encode(), &list); err != nil {
			return err
		}
		for _, row := range list.Items {
			if err := do(row); err != nil {
				return err
			}
		}
		left -= len(list.Items)
		if list.NextCursor == nil || left <= 0 {
			return nil
		}
		asked.Set("cursor", *list.NextCursor)
	}
}

// fetch gathers what each finds, newest first.
func (l *listing) fetch(ctx context.Context, query url.Values, most int) ([]event, error) {
	var rows []event
	err := l.each(ctx, query, most, func(row event) error {
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// The bounds of "weir events --follow".
const (
	eventsEvery = time.Second
	// eventsOverlap is how far behind the newest event is looked again:
	// events become visible in the order of their commits, not of receipt.
	eventsOverlap = 5 * time.Second
	// eventsMost bounds what one look may fetch.
	eventsMost = 10_000
)

// follow prints the newest events, oldest of them first, and then each new one
// until ctx ends. A service that cannot be asked for a while, as during a
// restart, is asked again; only at the beginning is that an error.
func (l *listing) follow(ctx context.Context) error {
	seen := seenEvents{}
	rows, err := l.newest(ctx, &seen)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	if len(rows) == 0 {
		if err := unknownNames(ctx, l.client, l.Source, l.Destination); err != nil {
			return err
		}
	}
	l.begin()
	tick := time.NewTicker(eventsEvery)
	defer tick.Stop()
	for away := false; ; {
		for _, row := range slices.Backward(rows) {
			if seen.add(row.value) {
				if err := l.show(row); err != nil {
					return err
				}
			}
		}
		seen.forget()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		rows, err = l.fetch(ctx, seen.after(l.query), eventsMost)
		if err != nil && (ctx.Err() != nil || !passes(err)) {
			return unlessEnded(ctx, err)
		}
		if err != nil {
			rows = nil // the newest without what is before them would be a gap
		}
		if err != nil && !away {
			fmt.Fprintf(l.notes, "weir: %v; trying again\n", err)
		}
		away = err != nil
	}
}

// newest fetches the events to begin with. What is behind them in the list is
// not new, though the next look finds it again.
func (l *listing) newest(ctx context.Context, seen *seenEvents) ([]event, error) {
	rows, err := l.fetch(ctx, l.query, l.Limit)
	if err != nil || len(rows) < l.Limit {
		return rows, err
	}
	newest := seenEvents{newest: rows[0].value.ReceivedAt}
	again, err := l.fetch(ctx, newest.after(l.query), eventsMost)
	last := slices.IndexFunc(again, func(row event) bool { return row.value.ID == rows[len(rows)-1].value.ID })
	if last >= 0 {
		for _, row := range again[last+1:] {
			seen.add(row.value)
		}
	}
	return rows, err
}

// unlessEnded is nil for an error that comes of a stop.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// seenEvents remembers which of the newest events were printed.
type seenEvents struct {
	ids    map[webhook.ID]time.Time
	newest time.Time
}

// add reports whether an event is new.
func (s *seenEvents) add(e client.Event) bool {
	if _, known := s.ids[e.ID]; known {
		return false
	}
	if s.ids == nil {
		s.ids = map[webhook.ID]time.Time{}
	}
	s.ids[e.ID] = e.ReceivedAt
	if e.ReceivedAt.After(s.newest) {
		s.newest = e.ReceivedAt
	}
	return true
}

// forget drops the events that are too old to come again.
func (s *seenEvents) forget() {
	maps.DeleteFunc(s.ids, func(_ webhook.ID, at time.Time) bool {
		return at.Before(s.newest.Add(-2 * eventsOverlap))
	})
}

// after returns a query for what may have come since.
func (s *seenEvents) after(query url.Values) url.Values {
	asked := maps.Clone(query)
	if !s.newest.IsZero() {
		asked.Set("since", s.newest.Add(-eventsOverlap).UTC().Format(time.RFC3339Nano))
	}
	return asked
}
