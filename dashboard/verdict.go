package dashboard

import (
	"fmt"
	"slices"
	"time"
)

// verdict answers "is anything wrong?".
type verdict struct {
	Tone tone
	// Short is for the browser's title.
	Short    string
	Sentence string
	Points   []point
}

// point is one thing that an operator should know.
type point struct {
	Tone tone
	Text string
	// When is the time of the next try, none where it has none; Idle says
	// that it has come, and goes with the next delivery.
	When moment
	Idle bool
	Link string
	// Call is the text of the link.
	Call string
}

// judge looks at everything that may be wrong, worst first.
func judge(destinations []destinationView, stuck []string, stallAfter time.Duration) verdict {
	var points []point
	pending := 0
	for _, name := range stuck {
		points = append(points, point{Tone: toneBad, Text: name + ": its delivery loop is stuck. Restart weir; nothing will be lost."})
	}
	for _, d := range destinations {
		pending += d.Queue.Pending
		points = append(points, d.points(stallAfter)...)
	}
	slices.SortStableFunc(points, func(a, b point) int { return rank(b.Tone) - rank(a.Tone) })
	v := verdict{Tone: toneGood, Short: "All is well", Sentence: "All is well: what comes in goes out.", Points: points}
	if pending > 0 {
		v.Sentence = fmt.Sprintf("All is well: %s on the way.", are(pending))
	}
	if len(points) == 0 {
		return v
	}
	v.Tone = points[0].Tone
	switch v.Tone {
	case toneBad:
		v.Short, v.Sentence = "Something needs you", "Something needs you. Nothing is lost: what cannot be delivered now waits."
	case toneWait:
		v.Short, v.Sentence = "Waiting", fmt.Sprintf("weir waits as it was asked to, and will go on by itself: %s waiting.", are(pending))
		if pending == 0 {
			v.Sentence = "weir waits as it was asked to, and nothing is queued: the next delivery tests whether it may go on."
		}
	default:
		v.Short, v.Sentence = "Flowing, with dead letters", "What comes in goes out, but some deliveries are dead."
	}
	if v.Tone == toneWait && slices.ContainsFunc(destinations, func(d destinationView) bool { return d.PausedByHand }) {
		v.Short, v.Sentence = "Paused", fmt.Sprintf("An operator paused a destination: %s waiting.", are(pending))
	}
	return v
}

// are is a count of deliveries with its verb.
func are(n int) string {
	if n == 1 {
		return "1 delivery is"
	}
	return count(n, "delivery") + " are"
}

// rank orders tones by how serious they are.
func rank(t tone) int { return slices.Index([]tone{toneGood, toneCalm, toneWait, toneBad}, t) }

// points lists what is to be said about one destination.
func (d destinationView) points(stallAfter time.Duration) []point {
	var points []point
	link := "/destinations#" + d.Name
	late := !d.OldestDue.None() && d.OldestDue.Now.Sub(d.OldestDue.At) > stallAfter
	switch {
	case d.PausedByHand:
		points = append(points, point{Tone: toneWait, Text: fmt.Sprintf("%s is paused by an operator; %s waiting.", d.Name, are(d.Queue.Pending)), Link: link, Call: "Resume"})
	case d.NeedsPerson:
		points = append(points, point{Tone: toneBad, Text: fmt.Sprintf("%s: %s, and waiting alone will not help. %s", d.Name, d.Why, d.advice()), When: d.Next, Idle: d.Idle, Link: link, Call: "Look"})
	case len(d.Holds) > 0:
		points = append(points, point{Tone: toneWait, Text: fmt.Sprintf("%s: %s; %s waiting.", d.Name, d.Why, are(d.Queue.Pending)), When: d.Next, Idle: d.Idle, Link: link, Call: "Why"})
	case late:
		points = append(points, point{Tone: toneBad, Text: fmt.Sprintf("%s is not held, but its oldest delivery has been due for %s.", d.Name, span(d.OldestDue.Now.Sub(d.OldestDue.At))), Link: link, Call: "Look"})
	}
	if d.Queue.Dead > 0 {
		verb := "are"
		if d.Queue.Dead == 1 {
			verb = "is"
		}
		points = append(points, point{Tone: toneCalm, Text: fmt.Sprintf("%s to %s %s dead.", count(d.Queue.Dead, "delivery"), d.Name, verb), Link: "/dead", Call: "Dead letters"})
	}
	return points
}

// advice is that of the first hold that has one.
func (d destinationView) advice() string {
	for _, hold := range d.Holds {
		if hold.Person && hold.Advice != "" {
			return hold.Advice
		}
	}
	return ""
}
