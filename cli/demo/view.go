package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"weir/cli/client"
	"weir/flaky"
	"weir/webhook/wording"
)

// introduce says what is to be seen.
func (d *demo) introduce() {
	fmt.Fprintf(d.out, `A shop sends %d webhooks and repeats some; a scraper sends %d, though its rate is
%s. The destination will have an outage, and takes only %d requests per minute.
On the left weir, on the right a loop that retries at once: same webhooks, same
destination, same time.

        senders → weir             weir → destination           naive → destination
  time   in  repeat  429  waiting   out  refused  delivered      out  refused  delivered
`, d.plan.honest.events, d.plan.greedy.events, d.plan.greedyRate, d.plan.cap)
}

// view prints the lines of the live view.
type view struct {
	demo *demo
	// told is the hold that was explained last.
	told time.Time
	held bool
}

// line prints what has happened so far, and what has just begun or ended.
func (v *view) line(ctx context.Context) {
	d := v.demo
	in, ours, theirs := d.senders.counts(), d.ours.Stats(), d.theirs.Stats()
	at, err := d.destination(ctx)
	waiting := 0
	if err == nil {
		waiting = at.Queue.Pending
	}
	fmt.Fprintf(d.out, "%5.0fs %5d %6d %5d %8d %6d %8d %10d %9d %8d %10d\n",
		time.Since(d.start).Seconds(), in.received, in.duplicates, in.throttled, waiting,
		ours.Requests, refusals(ours), ours.EventsAccepted,
		theirs.Requests, refusals(theirs), theirs.EventsAccepted)
	if err == nil {
		v.explain(at)
	}
}

// refusals counts what was answered with anything but 200, which is all that
// the script answers when it takes an event.
func refusals(stats flaky.Stats) int {
	refused := 0
	for answer, n := range stats.Statuses {
		if answer != "200" {
			refused += n
		}
	}
	return refused
}

// explain says why deliveries wait, once for each hold and each new time.
func (v *view) explain(at client.Destination) {
	out := v.demo.out
	reason, until, because := client.WhyHeld(at)
	switch {
	case reason == "" && v.held:
		v.held, v.told = false, time.Time{}
		fmt.Fprintf(out, "       ▲ the destination takes requests again; weir sends slowly at first\n")
	case reason != "" && !until.Equal(v.told):
		v.held, v.told = true, until
		fmt.Fprintf(out, "       ▼ %d wait for %s: %s\n         next attempt %s\n",
			at.Queue.Pending, reason, because, wording.Moment(until, time.Now()))
	}
}

// destination asks weir about the destination, as any client would.
func (d *demo) destination(ctx context.Context) (client.Destination, error) {
	var at client.Destination
	err := d.api.Get(ctx, "/v1/destinations/default", &at)
	return at, err
}

// undelivered counts the events that weir answered for and the destination has
// not taken. It is counted by what the destination saw, not by what weir says.
func (d *demo) undelivered() int {
	taken, missing := map[string]bool{}, 0
	for _, event := range d.ours.Events() {
		taken[event.ID] = event.Accepted > 0
	}
	for _, id := range d.senders.answeredFor() {
		if !taken[id.String()] {
			missing++
		}
	}
	return missing
}

// outcomeOf is a column of the demo's table.
type outcomeOf struct {
	Received    int `json:"received"`
	Duplicates  int `json:"duplicates"`
	Throttled   int `json:"throttled"`
	Delivered   int `json:"delivered"`
	Lost        int `json:"lost"`
	WorstMinute int `json:"worst_minute"`
}

// result is the demo's table.
type result struct {
	Naive outcomeOf `json:"naive"`
	Weir  outcomeOf `json:"weir"`
	// Again counts what the naive loop delivered a second time.
	Again int `json:"delivered_again"`
}

// result counts, for both, by what their destination saw.
func (d *demo) result() result {
	in, ours, theirs := d.senders.counts(), d.ours.Stats(), d.theirs.Stats()
	return result{
		Naive: outcomeOf{
			Received:    in.received,
			Delivered:   theirs.EventsAccepted,
			Lost:        in.different - theirs.EventsAccepted,
			WorstMinute: theirs.WorstMinute,
		},
		Weir: outcomeOf{
			Received: in.received, Duplicates: in.duplicates, Throttled: in.throttled,
			Delivered:   len(d.senders.answeredFor()) - d.undelivered(),
			Lost:        d.undelivered() + in.other,
			WorstMinute: ours.WorstMinute,
		},
		Again: theirs.Repeats,
	}
}

// print writes the table, or one line of JSON.
func (r result) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	fmt.Fprintf(out, "\n%-42s %8s %8s\n", "", "naive", "weir")
	for _, row := range []struct {
		name        string
		naive, weir int
	}{
		{"received", r.Naive.Received, r.Weir.Received},
		{"duplicates", r.Naive.Duplicates, r.Weir.Duplicates},
		{"throttled", r.Naive.Throttled, r.Weir.Throttled},
		{"delivered", r.Naive.Delivered, r.Weir.Delivered},
		{"lost", r.Naive.Lost, r.Weir.Lost},
		{"outgoing requests in the worst minute", r.Naive.WorstMinute, r.Weir.WorstMinute},
	} {
		fmt.Fprintf(out, "%-42s %8d %8d\n", row.name, row.naive, row.weir)
	}
	_, err := fmt.Fprintf(out, `
delivered: different webhooks that the destination took. The naive loop throttles
nobody, recognises no repeats, and delivered %d webhooks a second time.
lost: answered with 2xx and never delivered. A webhook that weir throttles is
not lost: its sender is told so, and when to come back.
`, r.Again)
	return err
}
