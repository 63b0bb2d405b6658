package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"weir/cli/client"
	"weir/webhook"
	"weir/webhook/wording"
)

// statusCommand is "weir status": of the whole service, or of one event.
func statusCommand(ctx context.Context, w Env, args []string) error {
	given, err := parse(w, newFlags("status"), args, 1)
	if err != nil {
		return unlessHelped(err)
	}
	return asOperator(w, func(c *client.Client) error {
		if len(given) == 1 {
			return printEvents(ctx, c, w.Stdout, given[0])
		}
		return printService(ctx, c, w.Stdout)
	})
}

// printEvents writes the timelines of the events that bear an id, or a
// sender's id.
func printEvents(ctx context.Context, c *client.Client, out io.Writer, name string) error {
	found, err := findEvents(ctx, c, name)
	if err != nil {
		return err
	}
	for i, event := range found {
		if i > 0 {
			fmt.Fprintln(out)
		}
		printTimeline(out, event, time.Now())
	}
	return nil
}

// findEvents returns the event with an id, else those with a key: several
// sources may use the same one.
func findEvents(ctx context.Context, c *client.Client, name string) ([]client.Event, error) {
	if id, err := webhook.ParseID(name); err == nil {
		var event client.Event
		err := c.Get(ctx, "/v1/events/"+id.String(), &event)
		if err == nil {
			return []client.Event{event}, nil
		}
		if !client.NotFound(err) {
			return nil, err
		}
	}
	var list client.List[client.Event]
	if err := c.Get(ctx, "/v1/events?key="+url.QueryEscape(name), &list); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("no event has the id or the key %q", name)
	}
	for i := range list.Items {
		if err := c.Get(ctx, "/v1/events/"+list.Items[i].ID.String(), &list.Items[i]); err != nil {
			return nil, err
		}
	}
	return list.Items, nil
}

// printService writes how destinations and sources are.
func printService(ctx context.Context, c *client.Client, out io.Writer) error {
	var destinations client.List[client.Destination]
	var sources client.List[client.Source]
	var stats client.Stats
	for _, ask := range []struct {
		path string
		into any
	}{{"/v1/destinations", &destinations}, {"/v1/sources", &sources}, {"/v1/stats?minutes=60", &stats}} {
		if err := c.Get(ctx, ask.path, ask.into); err != nil {
			return err
		}
	}
	now := time.Now()
	fmt.Fprintln(out, "destinations")
	for _, d := range destinations.Items {
		printDestination(out, d, now)
	}
	fmt.Fprintln(out, "\nsources, counted since the start"+atStart(stats.CountedSince, now))
	printSources(out, sources.Items, now)
	fmt.Fprintln(out, "\n"+stretch(stats.CountedSince, now))
	printStats(out, stats)
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

// atStart tells when the service began to count, where it says so.
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
		fmt.Fprintf(out, "    action  needed: %s\n", cmp.Or(webhook.HoldRemedy(webhook.Hold{Reason: d.Hold.Reason, Basis: d.Hold.Basis}, d.Name),
			"It asks for a wait longer than MAX_HOLD. Raise the allowance there, or resume to try at once."))
	}
	fmt.Fprintf(out, "    queue   %d pending%s, %d dead\n", d.Queue.Pending, waitingFor(d.Queue.WaitingFor), d.Queue.Dead)
	if !d.OldestDueAt.IsZero() {
		fmt.Fprintf(out, "    oldest  due %s\n", wording.Moment(d.OldestDueAt, now))
	}
	fmt.Fprintf(out, "    last    %s\n", lastTime("success", d.LastSuccessAt, now))
}

// nextRequest tells when something is sent again. A test needs a delivery: when
// its time has come, it goes with the next one.
func nextRequest(d client.Destination, until, now time.Time) string {
	switch {
	case until.IsZero():
		return "none until somebody resumes it"
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

// lastTime tells when something last happened, if ever.
func lastTime(what string, at, now time.Time) string {
	if at.IsZero() {
		return "no " + what + " so far"
	}
	return what + " " + wording.Moment(at, now)
}

// printSources writes a line for each sender.
func printSources(out io.Writer, sources []client.Source, now time.Time) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range sources {
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
