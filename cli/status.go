package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"weir/cli/client"
	"weir/webhook"
	"weir/webhook/wording"
)

// statusCmd is "weir status": of the whole service, or of one event.
type statusCmd struct {
	ID string `arg:"" optional:"" help:"An event: its id, or the sender's own id of it (the key)."`
	asking
}

// Help is shown by "weir help status".
func (statusCmd) Help() string {
	return `Without an argument: every destination with its state and, where it is held, why, since when, and when the next request goes; what is queued; every source with when it was last heard of; the traffic of the last hour.

With an event: everything that happened to it, each attempt with its response and why the next time was chosen.

Examples:

    weir status
    weir status 72d3162e-cc78-11e3
    weir status --json | jq '.destinations[].state'`
}

// Run prints the status.
func (c *statusCmd) Run(ctx context.Context, env Env) error {
	return c.asOperator(env, func(api *client.Client) error {
		if c.ID == "" {
			return c.service(ctx, api, env.Stdout)
		}
		found, err := findEvents(ctx, api, c.ID)
		if err != nil {
			return err
		}
		for i, e := range found {
			switch {
			case c.JSON:
				if err := printJSON(env.Stdout, e); err != nil {
					return err
				}
				continue
			case i > 0:
				fmt.Fprintln(env.Stdout)
			}
			printTimeline(env.Stdout, e.value, time.Now())
		}
		return nil
	})
}

// service prints how destinations and sources are.
func (c *statusCmd) service(ctx context.Context, api *client.Client, out io.Writer) error {
	var destinations client.List[kept[client.Destination]]
	var sources client.List[kept[client.Source]]
	var stats kept[client.Stats]
	for _, ask := range []struct {
		path string
		into any
	}{{"/v1/destinations", &destinations}, {"/v1/sources", &sources}, {"/v1/stats?minutes=60", &stats}} {
		if err := api.Get(ctx, ask.path, ask.into); err != nil {
			return err
		}
	}
	if c.JSON {
		return printJSON(out, map[string]any{"destinations": destinations.Items, "sources": sources.Items, "stats": stats})
	}
	now, since := time.Now(), stats.value.CountedSince
	fmt.Fprintln(out, "destinations")
	for _, d := range destinations.Items {
		printDestination(out, d.value, now)
	}
	fmt.Fprintln(out, "\nsources, counted since the start"+atStart(since, now))
	printSources(out, sources.Items, now)
	fmt.Fprintln(out, "\n"+stretch(since, now))
	printStats(out, stats.value)
	return nil
}

// stretch names the time that the traffic is of: an hour, or less where the
// service has counted for less.
func stretch(since, now time.Time) string {
	if !since.IsZero() && now.Sub(since) < time.Hour {
		return "since the start" + atStart(since, now)
	}
	return "the last hour"
}

// atStart says when the service began to count, where it says so.
func atStart(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return " at " + wording.Moment(since, now)
}

// printDestination writes a destination's state, why, and what is queued.
func printDestination(out io.Writer, d client.Destination, now time.Time) {
	fmt.Fprintf(out, "  %s: %s\n", d.Name, d.State)
	reason, until, because := client.WhyHeld(d)
	if reason != "" {
		since := d.Breaker.Since
		if d.Hold != nil {
			since = d.Hold.Since
		}
		fmt.Fprintf(out, "    why     %s: %s\n", reason, because)
		fmt.Fprintf(out, "    since   %s\n", wording.Moment(since, now))
		fmt.Fprintf(out, "    next    %s\n", nextRequest(d, until, now))
	}
	if d.Hold != nil && (d.Hold.NeedsOperator || d.Hold.Basis == webhook.BasisPresumed) {
		need := "" // a presumed hold waits for a second witness, not for a person
		if d.Hold.NeedsOperator {
			need = wording.ActionNeeded(d.Hold.Reason, d.Name) + ". "
		}
		fmt.Fprintf(out, "    %s%s\n", need, cmp.Or(webhook.HoldRemedy(webhook.Hold{Reason: d.Hold.Reason, Basis: d.Hold.Basis}, d.Name),
			"It asks for a wait longer than MAX_HOLD. Raise the allowance there, or resume to try at once."))
	}
	fmt.Fprintf(out, "    queue   %d pending%s, %d dead\n", d.Queue.Pending, waitingFor(d.Queue.WaitingFor), d.Queue.Dead)
	if !d.OldestDueAt.IsZero() {
		fmt.Fprintf(out, "    oldest  due %s\n", wording.Moment(d.OldestDueAt, now))
	}
	fmt.Fprintf(out, "    last    %s\n", lastTime("success", d.LastSuccessAt, now))
}

// nextRequest says when something is sent again. A test needs a delivery: when
// its time has come, it goes with the next one.
func nextRequest(d client.Destination, until, now time.Time) string {
	switch {
	case until.IsZero():
		return "none until an operator resumes it"
	case d.Queue.Pending == 0 && !until.After(now):
		return "one request, with the next event"
	case d.Queue.Pending == 0:
		return "one request, with the next event after " + wording.Moment(until, now)
	case !until.After(now):
		return "one request, with the next delivery that is due"
	}
	return "one request " + wording.Moment(until, now)
}

// waitingFor lists the counts of a queue, largest first.
func waitingFor(counts map[webhook.WaitingFor]int) string {
	words := slices.SortedFunc(maps.Keys(counts), func(a, b webhook.WaitingFor) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(string(a), string(b))
	})
	var list []string
	for _, word := range words {
		list = append(list, fmt.Sprintf("%d %s", counts[word], word))
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// lastTime says when something last happened, if ever.
func lastTime(what string, at, now time.Time) string {
	if at.IsZero() {
		return "no " + what + " so far"
	}
	return what + " " + wording.Moment(at, now)
}

// printSources writes a line for each sender.
func printSources(out io.Writer, sources []kept[client.Source], now time.Time) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, source := range sources {
		s := source.value
		fmt.Fprintf(table, "  %s\t%s\t→ %s\t%s\t%s\n", s.Name, s.Scheme, strings.Join(s.To, ", "),
			lastTime("accepted", s.LastAcceptedAt, now), resultsOf(s.Results))
	}
	table.Flush()
}

// resultsOf lists what a source's requests came to, in the order of the words.
func resultsOf(counts map[webhook.Result]int64) string {
	var list []string
	for _, result := range webhook.Results() {
		if n := counts[result]; n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, result))
		}
	}
	return strings.Join(list, ", ")
}

// printStats writes the traffic.
func printStats(out io.Writer, s client.Stats) {
	fmt.Fprintf(out, "  received %d: %d accepted, %d duplicates, %d refused\n",
		s.Totals.Received, s.Totals.Accepted, s.Totals.Duplicates, s.Totals.Refused)
	fmt.Fprintf(out, "  sent %d, of which %d delivered", s.Totals.Outgoing, s.Totals.Delivered)
	if s.Amplification != nil {
		fmt.Fprintf(out, "; %.2f requests for each event", *s.Amplification)
	}
	fmt.Fprintln(out)
}
