package demo

import (
	"fmt"
	"io"
)

// outcomeOf is a column of the demo's table.
type outcomeOf struct {
	received    int
	duplicates  int
	throttled   int
	delivered   int
	lost        int
	worstMinute int
}

// result is the demo's table.
type result struct {
	naive outcomeOf
	weir  outcomeOf
	// again counts what the naive loop delivered a second time.
	again int
}

// result counts, for both, by what their downstream saw.
func (d *demo) result() result {
	in, ours, theirs := d.senders.counts(), d.ours.Stats(), d.theirs.Stats()
	return result{
		naive: outcomeOf{
			received:    in.received,
			delivered:   theirs.EventsAccepted,
			lost:        d.senders.different() - theirs.EventsAccepted,
			worstMinute: theirs.WorstMinute,
		},
		weir: outcomeOf{
			received: in.received, duplicates: in.duplicates, throttled: in.throttled,
			delivered:   len(d.senders.answeredFor()) - d.undelivered(),
			lost:        d.undelivered() + in.other,
			worstMinute: ours.WorstMinute,
		},
		again: theirs.Repeats,
	}
}

// print writes the table.
func (r result) print(out io.Writer) {
	fmt.Fprintf(out, "\n%-42s %8s %8s\n", "", "naive", "weir")
	for _, row := range []struct {
		name        string
		naive, weir int
	}{
		{"received", r.naive.received, r.weir.received},
		{"duplicates", r.naive.duplicates, r.weir.duplicates},
		{"throttled", r.naive.throttled, r.weir.throttled},
		{"delivered", r.naive.delivered, r.weir.delivered},
		{"lost", r.naive.lost, r.weir.lost},
		{"outgoing requests in the worst minute", r.naive.worstMinute, r.weir.worstMinute},
	} {
		fmt.Fprintf(out, "%-42s %8d %8d\n", row.name, row.naive, row.weir)
	}
	fmt.Fprintf(out, `
delivered: different webhooks that the downstream took. The naive loop throttles
nobody, recognises no repeats, and delivered %d webhooks a second time.
lost: answered with 2xx and never delivered. A webhook that weir throttles is
not lost: its sender is told so, and when to come back.
`, r.again)
}
