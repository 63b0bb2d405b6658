package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/cli/client"
	"weir/webhook"
)

// redeliverCmd is "weir redeliver": of one delivery, or of all that match.
type redeliverCmd struct {
	ID          string `arg:"" optional:"" help:"The event: its id, or the sender's own id of it."`
	Destination string `arg:"" optional:"" help:"The destination of the delivery."`
	Filter      filter `placeholder:"NAME=VALUE,…" help:"Every delivery that matches: state, reason, waiting_for, destination, source, since, until. Without a state, what is dead."`
	Force       bool   `help:"Also send what was delivered, or was too large."`
	Yes         bool   `help:"Redeliver what matches the filter; without it, only count."`
	asking
}

// Help is shown by "weir help redeliver".
func (redeliverCmd) Help() string {
	return `Sends the same event id and the same bytes, with a fresh allowance of attempts and a fresh age. The gates of the destination keep the pace. What is pending already is made due, and keeps its allowance.

Examples:

    weir redeliver 72d3162e-cc78-11e3 crm
    weir redeliver --filter state=dead,reason=rejected,destination=crm,since=1d
    weir redeliver --filter state=dead --yes`
}

// Validate checks what the declaration cannot.
func (c *redeliverCmd) Validate() error {
	switch {
	case c.Filter != nil && c.ID != "":
		return errors.New("either name one delivery or give a filter")
	case c.Filter == nil && c.Destination == "":
		return errors.New("name an event and a destination, or give --filter")
	}
	return nil
}

// Run sends one delivery, or all that match.
func (c *redeliverCmd) Run(ctx context.Context, env Env) error {
	return c.asOperator(env, func(api *client.Client) error {
		if c.Filter == nil {
			return c.one(ctx, api, env.Stdout)
		}
		found, err := c.many(ctx, api, env.Stdout)
		if err == nil && found == 0 {
			return unknownNames(ctx, api, c.Filter["source"], c.Filter["destination"])
		}
		return err
	})
}

// filter is a selection of deliveries in the words of the API.
type filter map[string]string

// UnmarshalText reads name=value pairs between commas. The service knows which
// names there are; times may also be how long ago.
func (f *filter) UnmarshalText(text []byte) error {
	closed := map[string]string{
		"state": list(webhook.States()), "reason": list(webhook.DeadReasons()), "waiting_for": list(webhook.WaitingFors()),
	}
	made := filter{}
	for part := range strings.SplitSeq(string(text), ",") {
		name, value, found := strings.Cut(strings.TrimSpace(part), "=")
		if !found || name == "" || value == "" {
			return errors.New("must have a form like state=dead,reason=rejected")
		}
		if name == "since" || name == "until" {
			var at instant
			if err := at.UnmarshalText([]byte(value)); err != nil {
				return fmt.Errorf("%s %w", name, err)
			}
			value = string(at)
		}
		// A word that the service would not know is a wrong call.
		if words, closed := closed[name]; closed && !slices.Contains(strings.Split(words, ", "), value) {
			return fmt.Errorf("%s must be one of %s", name, words)
		}
		if _, twice := made[name]; twice {
			return fmt.Errorf("%s is given twice", name)
		}
		made[name] = value
	}
	*f = made
	return nil
}

// one makes one delivery pending again. One that is pending is due from then on:
// that is said, and what it waits for all the same.
func (c *redeliverCmd) one(ctx context.Context, api *client.Client, out io.Writer) error {
	e, d, err := findDelivery(ctx, api, c.ID, c.Destination)
	if err != nil {
		return err
	}
	waited := d.State == webhook.Pending
	var changed kept[client.Delivery]
	err = api.Post(ctx, deliveryPath(e.ID, c.Destination, "redeliver"), map[string]bool{"force": c.Force}, &changed)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(out, changed)
	}
	if waited {
		if e, d, err = findDelivery(ctx, api, c.ID, c.Destination); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s to %s waits no longer for its own time: %s\n", e.ID, c.Destination, standing(d, time.Now()))
		return err
	}
	_, err = fmt.Fprintf(out, "%s to %s is %s again; weir status %s shows its delivery\n", e.ID, c.Destination, changed.value.State, e.ID)
	return err
}

// bulkAsk and bulkAnswer are the bodies of POST /v1/redeliver.
type bulkAsk struct {
	Filter filter `json:"filter"`
	DryRun bool   `json:"dry_run"`
	Force  bool   `json:"force"`
}

type bulkAnswer struct {
	DryRun      bool `json:"dry_run"`
	Matched     int  `json:"matched"`
	Redelivered int  `json:"redelivered"`
	Skipped     int  `json:"skipped"`
	More        bool `json:"more"`
}

// many counts what matches and, with --yes, sends it again, in as many steps as
// the service needs. It returns how many match.
func (c *redeliverCmd) many(ctx context.Context, api *client.Client, out io.Writer) (int, error) {
	say := out
	if c.JSON {
		say = io.Discard
	}
	ask := bulkAsk{Filter: c.Filter, DryRun: true, Force: c.Force}
	var count bulkAnswer
	if err := api.Post(ctx, "/v1/redeliver", ask, &count); err != nil {
		return 0, err
	}
	fmt.Fprintf(say, "matching deliveries: %s\n", atLeast(count))
	sendable := count.Matched - count.Skipped
	switch {
	case count.Matched == 0:
	case sendable == 0 && !count.More:
		fmt.Fprintln(say, "none can be sent again: delivered or too large, they need --force")
	default:
		if count.Skipped > 0 {
			fmt.Fprintf(say, "%d of them are delivered or too large, and need --force\n", count.Skipped)
		}
		if !c.Yes {
			fmt.Fprintln(say, "dry run; add --yes to redeliver")
			break
		}
		ask.DryRun = false
		if err := redeliverAll(ctx, api, say, ask, &count); err != nil {
			return count.Matched, err
		}
	}
	if c.JSON {
		return count.Matched, printJSON(out, count)
	}
	return count.Matched, nil
}

// pending reports whether the filter selects what is pending: a redelivery leaves
// it so, and only makes it due.
func (f filter) pending() bool {
	return f["state"] == string(webhook.Pending) || f["waiting_for"] != ""
}

// redeliverAll asks until nothing more matches, and adds up what was done.
func redeliverAll(ctx context.Context, api *client.Client, say io.Writer, ask bulkAsk, sum *bulkAnswer) error {
	for *sum = (bulkAnswer{}); ; {
		var done bulkAnswer
		if err := api.Post(ctx, "/v1/redeliver", ask, &done); err != nil {
			return err
		}
		sum.Matched, sum.Redelivered, sum.Skipped, sum.More = sum.Matched+done.Matched, sum.Redelivered+done.Redelivered, sum.Skipped+done.Skipped, done.More
		if ask.Filter.pending() {
			fmt.Fprintf(say, "%d wait no longer for their own time\n", sum.Redelivered)
			return nil // the same would match again; weir resume is for all of them
		}
		fmt.Fprintf(say, "%d are pending again, %d were skipped by their state\n", sum.Redelivered, done.Skipped)
		// Without progress the same would match forever.
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
