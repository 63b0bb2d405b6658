package demo

import (
	"encoding/json"
	"fmt"
	"io"
)

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
			Lost:        d.senders.different() - theirs.EventsAccepted,
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
not Lost: its sender is told so, and when to come back.
`, r.Again)
	return err
}
