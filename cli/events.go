package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"weir/cli/client"
	"weir/webhook"
	"weir/webhook/wording"
)

// eventsCmd is "weir events".
type eventsCmd struct {
	Source      string         `placeholder:"NAME" help:"Of this source."`
	Key         string         `placeholder:"KEY" help:"With this id of the sender."`
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
		l := listing{query: c.query(), limit: c.Limit, client: api, table: &eventTable{out: env.Stdout, json: c.JSON}, notes: env.Stderr}
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
		"source": c.Source, "key": c.Key, "destination": c.Destination, "since": string(c.Since), "until": string(c.Until),
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
func (t *eventTable) show(row event) error {
	t.begin()
	t.rows++
	if t.json {
		return printJSON(t.out, row)
	}
	e := row.value
	key := wording.PlainLine(e.Key)
	if e.Duplicates > 0 {
		key += fmt.Sprintf(" ×%d", e.Duplicates+1)
	}
	_, err := fmt.Fprintf(t.out, eventLine, e.ID, e.ReceivedAt.UTC().Format("2006-01-02 15:04:05Z"),
		e.Source, key, strconv.FormatInt(e.Size, 10), deliveriesOf(e))
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

// listing goes through a list of events.
type listing struct {
	query  url.Values
	limit  int
	client *client.Client
	table  *eventTable
	// notes is for what is no event.
	notes io.Writer
}

// newestFirst prints the list as the service gives it.
func (l listing) newestFirst(ctx context.Context) error {
	if err := l.each(ctx, l.query, l.limit, l.table.show); err != nil {
		return err
	}
	if l.table.rows == 0 {
		if err := l.unknownNames(ctx); err != nil {
			return err
		}
	}
	l.table.begin()
	return nil
}

// unknownNames is an error where the service does not know a name of the query.
func (l listing) unknownNames(ctx context.Context) error {
	return unknownNames(ctx, l.client, map[string]string{"source": l.query.Get("source"), "destination": l.query.Get("destination")})
}

// each reads page after page, up to so many events, and does something with
// every event.
func (l listing) each(ctx context.Context, query url.Values, most int, do func(event) error) error {
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
func (l listing) fetch(ctx context.Context, query url.Values, most int) ([]event, error) {
	var rows []event
	err := l.each(ctx, query, most, func(row event) error {
		rows = append(rows, row)
		return nil
	})
	return rows, err
}
