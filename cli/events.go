package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/cli/client"
	"weir/webhook"
	"weir/webhook/wording"
)

// eventsCall is a call of "weir events".
type eventsCall struct {
	query  url.Values
	limit  int
	json   bool
	follow bool
}

// eventsCommand is "weir events".
func eventsCommand(ctx context.Context, w Env, args []string) error {
	call, err := parseEvents(w, args)
	if err != nil {
		return unlessHelped(err)
	}
	return asOperator(w, func(c *client.Client) error {
		l := listing{call: call, client: c, table: &eventTable{out: w.Stdout, json: call.json}, notes: w.Stderr}
		if call.follow {
			return l.follow(ctx)
		}
		return l.newestFirst(ctx)
	})
}

// parseEvents reads the flags.
func parseEvents(w Env, args []string) (eventsCall, error) {
	call := eventsCall{query: url.Values{}}
	flags := newFlags("events")
	for _, name := range []string{"source", "key", "state", "destination"} {
		flags.Func(name, "", func(value string) error {
			call.query.Set(name, value)
			return checkFilter(name, value)
		})
	}
	for _, name := range []string{"since", "until"} {
		flags.Func(name, "", func(value string) error {
			at, err := instant(value, time.Now())
			call.query.Set(name, at.UTC().Format(time.RFC3339Nano))
			return err
		})
	}
	flags.IntVar(&call.limit, "limit", webhook.DefaultPage, "")
	flags.BoolVar(&call.json, "json", false, "")
	flags.BoolVar(&call.follow, "follow", false, "")
	if _, err := parse(w, flags, args, 0); err != nil {
		return call, err
	}
	if call.limit < 1 {
		return call, usagef("weir events: --limit wants a number of at least 1")
	}
	return call, nil
}

// eventRow is one event and the JSON that the service gave for it.
type eventRow struct {
	client.Event
	text json.RawMessage
}

// UnmarshalJSON keeps the text too.
func (r *eventRow) UnmarshalJSON(text []byte) error {
	r.text = slices.Clone(text)
	return json.Unmarshal(text, &r.Event)
}

// eventTable prints events: as JSON, or as the rows of a table. Its head waits
// for the first answer, so that it does not stand above an error.
type eventTable struct {
	out  io.Writer
	json bool
	rows int
	head bool // is printed
}

const eventLine = "%-36s  %-20s  %-16s  %-36s  %8s  %s\n"

// begin prints the head, once.
func (t *eventTable) begin() {
	if !t.json && !t.head {
		fmt.Fprintf(t.out, eventLine, "EVENT", "RECEIVED", "SOURCE", "KEY", "BYTES", "DELIVERIES")
	}
	t.head = true
}

// show prints an event.
func (t *eventTable) show(e eventRow) error {
	t.begin()
	t.rows++
	if t.json {
		_, err := fmt.Fprintf(t.out, "%s\n", e.text)
		return err
	}
	key := wording.PlainLine(e.Key)
	if e.Duplicates > 0 {
		key += fmt.Sprintf(" ×%d", e.Duplicates+1)
	}
	_, err := fmt.Fprintf(t.out, eventLine, e.ID, e.ReceivedAt.UTC().Format("2006-01-02 15:04:05Z"),
		e.Source, key, strconv.FormatInt(e.Size, 10), deliveriesOf(e.Event))
	return err
}

// deliveriesOf tells in a few words how the deliveries of an event stand.
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

// listing goes through a list of events.
type listing struct {
	call   eventsCall
	client *client.Client
	table  *eventTable
	// notes is for what is no event.
	notes io.Writer
}

// newestFirst prints the list as the service gives it.
func (l listing) newestFirst(ctx context.Context) error {
	if err := l.each(ctx, l.call.query, l.call.limit, l.table.show); err != nil {
		return err
	}
	l.table.begin()
	if l.table.rows == 0 {
		warnUnknownNames(ctx, l.client, l.notes, namesIn(l.call.query))
	}
	return nil
}

// each reads page after page, up to so many events, and does something with
// every event.
func (l listing) each(ctx context.Context, query url.Values, most int, do func(eventRow) error) error {
	asked := cloneValues(query)
	for left := most; ; {
		asked.Set("limit", strconv.Itoa(min(left, webhook.MaxPage)))
		var list client.List[eventRow]
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
func (l listing) fetch(ctx context.Context, query url.Values, most int) ([]eventRow, error) {
	var rows []eventRow
	err := l.each(ctx, query, most, func(row eventRow) error {
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// cloneValues copies a query.
func cloneValues(from url.Values) url.Values {
	made := url.Values{}
	for name, values := range from {
		made[name] = slices.Clone(values)
	}
	return made
}
