package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/cli/client"
	"weir/webhook"
)

// redeliverCall is a call of "weir redeliver".
type redeliverCall struct {
	id          webhook.ID
	destination string
	filter      map[string]string // nil names one delivery
	force       bool
	yes         bool
}

// redeliverCommand is "weir redeliver": of one delivery, or of all that match.
func redeliverCommand(ctx context.Context, w Env, args []string) error {
	call, err := parseRedeliver(w, args)
	if err != nil {
		return unlessHelped(err)
	}
	return asOperator(w, func(c *client.Client) error {
		if call.filter == nil {
			return redeliverOne(ctx, c, w.Stdout, call)
		}
		found, err := redeliverMany(ctx, c, w.Stdout, call)
		if err == nil && found == 0 {
			warnUnknownNames(ctx, c, w.Stderr, call.filter)
		}
		return err
	})
}

// parseRedeliver reads the arguments of both forms.
func parseRedeliver(w Env, args []string) (redeliverCall, error) {
	var call redeliverCall
	flags := newFlags("redeliver")
	flags.BoolVar(&call.force, "force", false, "")
	flags.BoolVar(&call.yes, "yes", false, "")
	flags.Func("filter", "", func(text string) (err error) {
		call.filter, err = parseFilter(text)
		return err
	})
	given, err := parse(w, flags, args, 2)
	if err != nil {
		return call, err
	}
	switch {
	case call.filter != nil && len(given) > 0:
		return call, usagef("weir redeliver: either name one delivery or give a filter")
	case call.filter != nil:
		return call, nil
	case len(given) != 2:
		return call, usagef("weir redeliver: name an event and a destination, or give --filter; see weir help redeliver")
	}
	call.destination = given[1]
	if call.id, err = webhook.ParseID(given[0]); err != nil {
		return call, usagef("weir redeliver: %q is not the id of an event; weir status KEY shows it", given[0])
	}
	return call, nil
}

// parseFilter reads name=value pairs between commas. The service knows which
// names there are; times may also be told as how long ago.
func parseFilter(text string) (map[string]string, error) {
	filter := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(part), "=")
		if !found || name == "" || value == "" {
			return nil, errors.New("want a form like state=dead,reason=rejected")
		}
		if name == "since" || name == "until" {
			at, err := instant(value, time.Now())
			if err != nil {
				return nil, err
			}
			value = at.UTC().Format(time.RFC3339Nano)
		}
		if err := checkFilter(name, value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if _, twice := filter[name]; twice {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		filter[name] = value
	}
	return filter, nil
}

// redeliverOne makes one delivery pending again. Nothing happens to one that is
// pending: then that is said, and what it waits for.
func redeliverOne(ctx context.Context, c *client.Client, out io.Writer, call redeliverCall) error {
	var event client.Event
	if err := c.Get(ctx, "/v1/events/"+call.id.String(), &event); err != nil {
		return err
	}
	for _, d := range event.Deliveries {
		if d.Destination == call.destination && d.State == webhook.Pending {
			_, err := fmt.Fprintf(out, "%s to %s is pending already, and is left so: %s\n",
				call.id, call.destination, standing(d, time.Now()))
			return err
		}
	}
	path := fmt.Sprintf("/v1/events/%s/deliveries/%s/redeliver", call.id, url.PathEscape(call.destination))
	var changed struct {
		State webhook.State `json:"state"`
	}
	err := c.Post(ctx, path, client.Exchange{Body: map[string]bool{"force": call.force}, Into: &changed})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s to %s is %s again; weir status %s shows what becomes of it\n",
		call.id, call.destination, changed.State, call.id)
	return err
}

// bulkAsk and bulkAnswer are those of POST /v1/redeliver.
type bulkAsk struct {
	Filter map[string]string `json:"filter"`
	DryRun bool              `json:"dry_run"`
	Force  bool              `json:"force"`
}

type bulkAnswer struct {
	Matched     int  `json:"matched"`
	Redelivered int  `json:"redelivered"`
	Skipped     int  `json:"skipped"`
	More        bool `json:"more"`
}

// redeliverMany counts what matches and, when told to, sends it again, in as
// many steps as the service needs. It returns how many match.
func redeliverMany(ctx context.Context, c *client.Client, out io.Writer, call redeliverCall) (int, error) {
	ask := bulkAsk{Filter: call.filter, DryRun: true, Force: call.force}
	var count bulkAnswer
	if err := c.Post(ctx, "/v1/redeliver", client.Exchange{Body: ask, Into: &count}); err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "matching deliveries: %s\n", atLeast(count))
	switch sendable := count.Matched - count.Skipped; {
	case count.Matched == 0:
		return 0, nil
	case call.waits():
		_, err := fmt.Fprintln(out, "they are pending already: nothing is to be sent again")
		return count.Matched, err
	case sendable == 0 && !count.More:
		_, err := fmt.Fprintln(out, "none can be sent again: delivered or too large, they need --force")
		return count.Matched, err
	case count.Skipped > 0:
		fmt.Fprintf(out, "%d of them are delivered or too large, and need --force\n", count.Skipped)
	}
	if !call.yes {
		_, err := fmt.Fprintln(out, "nothing was sent; with --yes they are")
		return count.Matched, err
	}
	ask.DryRun = false
	return count.Matched, redeliverAll(ctx, c, out, ask)
}

// waits reports whether the filter selects what is pending.
func (c redeliverCall) waits() bool {
	return c.filter["state"] == string(webhook.Pending) || c.filter["waiting_for"] != ""
}

// redeliverAll asks until nothing more matches.
func redeliverAll(ctx context.Context, c *client.Client, out io.Writer, ask bulkAsk) error {
	for sent := 0; ; {
		var done bulkAnswer
		if err := c.Post(ctx, "/v1/redeliver", client.Exchange{Body: ask, Into: &done}); err != nil {
			return err
		}
		sent += done.Redelivered
		fmt.Fprintf(out, "%d are pending again, %d were skipped by their state\n", sent, done.Skipped)
		// Without progress the same would match for ever.
		if !done.More || done.Redelivered == 0 {
			return nil
		}
	}
}

// atLeast shows a count that may have reached its bound.
func atLeast(count bulkAnswer) string {
	if count.More {
		return fmt.Sprintf("%d or more", count.Matched)
	}
	return strconv.Itoa(count.Matched)
}
