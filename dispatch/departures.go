package dispatch

import "weir/webhook"

// Departures knows which attempts are out, also after a crash: the store learns
// of an attempt only with its answer. It is a note and no promise: where it is
// lost, an attempt that a crash has swallowed is repeated under its own number.
type Departures interface {
	// Leave notes that an attempt goes out now.
	Leave(event webhook.ID, destination string, number int)
	// Land notes that the attempt which is out is in the store.
	Land(event webhook.ID, destination string)
	// Lost returns the number of the attempt that went out before a crash and
	// is not known to be in the store, 0 for none.
	Lost(event webhook.ID, destination string) int
}

// noDepartures keeps no notes.
type noDepartures struct{}

func (noDepartures) Leave(webhook.ID, string, int) {}
func (noDepartures) Land(webhook.ID, string)       {}
func (noDepartures) Lost(webhook.ID, string) int   { return 0 }

// number returns that of a delivery's next attempt. One that was lost in a
// crash keeps its number, so that the downstream can tell the repeat from it.
func (o *owner) number(d webhook.Delivery) int {
	return max(d.Attempts, o.departures.Lost(d.EventID, d.Destination)) + 1
}
