package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"weir/cli/client"
	"weir/webhook"
	"weir/webhook/wording"
)

// takenBy names the fallback that took a delivery, as far as its attempts are
// known.
func takenBy(d client.Delivery) string {
	last := len(d.Attempts) - 1
	if last < 0 || d.Attempts[last].SentTo == "" || d.Attempts[last].SentTo == d.Destination {
		return ""
	}
	return "; its fallback took it: " + d.Attempts[last].SentTo
}

// standing says what state a delivery is in, and why.
func standing(d client.Delivery, now time.Time) string {
	switch d.State {
	case webhook.Delivered:
		return fmt.Sprintf("delivered %s, %s%s", wording.Moment(d.FinishedAt, now), attempts(d.AttemptCount), takenBy(d))
	case webhook.Dead:
		line := fmt.Sprintf("dead since %s: %s", wording.Moment(d.FinishedAt, now), wording.Dead(d.Reason))
		if d.Detail != "" {
			line += " (" + wording.PlainLine(d.Detail) + ")"
		}
		return line
	}
	switch d.WaitingFor {
	case webhook.WaitInFlight:
		return "in flight"
	case webhook.WaitDue:
		return "due: it is sent as soon as a slot is free"
	}
	if d.WaitingFor == webhook.WaitGone && d.MaxAttempts == 0 {
		return "waits for its destination, which is not configured any more; configure it again, or cancel"
	}
	if d.NextAttemptAt.IsZero() {
		return fmt.Sprintf("%s; an operator must release it", wording.Wait(d.WaitingFor))
	}
	return fmt.Sprintf("%s until %s", wording.Wait(d.WaitingFor), wording.Moment(d.NextAttemptAt, now))
}

// attempts is a count of attempts with its noun.
func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// answerOf is what came back for an attempt, on one line.
func answerOf(a client.Attempt) string {
	return wording.Answer(a.Status, cmp.Or(a.Evidence.Body, a.Evidence.Note))
}

// printTimeline writes everything that happened to an event.
func printTimeline(out io.Writer, event client.Event, now time.Time) {
	fmt.Fprintf(out, "event %s\n", event.ID)
	fmt.Fprintf(out, "  source    %s\n", event.Source)
	if event.Key == "" {
		fmt.Fprintf(out, "  key       none: repeats cannot be recognised\n")
	} else {
		fmt.Fprintf(out, "  key       %s (%s)\n", wording.PlainLine(event.Key), event.KeyFrom)
	}
	if event.Type != "" {
		fmt.Fprintf(out, "  type      %s\n", wording.PlainLine(event.Type))
	}
	fmt.Fprintf(out, "  received  %s, %d bytes", wording.Moment(event.ReceivedAt, now), event.Size)
	if event.ContentType != "" {
		fmt.Fprintf(out, ", %s", wording.PlainLine(event.ContentType))
	}
	fmt.Fprintln(out)
	if event.Duplicates > 0 {
		fmt.Fprintf(out, "  repeats   %d, the last %s\n", event.Duplicates, wording.Moment(event.LastDuplicateAt, now))
	}
	if event.ConflictOf != nil {
		fmt.Fprintf(out, "  conflict  %s has the same key and other bytes\n", *event.ConflictOf)
	}
	if event.BodyGone {
		fmt.Fprintf(out, "  body      removed, as its retention has passed\n")
	}
	for _, d := range event.Deliveries {
		printDelivery(out, d, now)
	}
}

// printDelivery writes a delivery and its attempts, oldest first.
func printDelivery(out io.Writer, d client.Delivery, now time.Time) {
	fmt.Fprintf(out, "\nto %s: %s\n", d.Destination, standing(d, now))
	if d.State == webhook.Pending && d.MaxAttempts > 0 {
		fmt.Fprintf(out, "  %d of %d attempts used", d.Spent, d.MaxAttempts)
		if !d.ExpiresAt.IsZero() {
			fmt.Fprintf(out, "; expires %s", wording.Moment(d.ExpiresAt, now))
		}
		fmt.Fprintln(out)
	}
	for _, a := range d.Attempts {
		printAttempt(out, d, a)
	}
}

// printAttempt writes what was said, and why the next time was chosen.
func printAttempt(out io.Writer, d client.Delivery, a client.Attempt) {
	fmt.Fprintf(out, "  #%-3d %s  %s in %s%s\n", a.Number, a.At.UTC().Format("2006-01-02 15:04:05.000Z"),
		a.Outcome, wording.Rounded(time.Duration(a.DurationMS)*time.Millisecond), remarks(d, a))
	if a.Outcome == webhook.OutcomeDelivered {
		return
	}
	fmt.Fprintf(out, "       answer %s\n", answerOf(a))
	if usage := usageOf(a.Evidence); usage != "" {
		fmt.Fprintf(out, "       usage  %s\n", usage)
	}
	fmt.Fprintf(out, "       rule   %s\n", a.Rule)
	if a.WaitMS != nil {
		fmt.Fprintf(out, "       asked  to wait %s (%s)\n", wording.Rounded(time.Duration(*a.WaitMS)*time.Millisecond), wording.PlainLine(a.WaitFrom))
	}
	if !a.NextAttemptAt.IsZero() {
		fmt.Fprintf(out, "       next   not before %s\n", a.NextAttemptAt.UTC().Format("2006-01-02 15:04:05.000Z"))
	}
}

// remarks are what is special about an attempt.
func remarks(d client.Delivery, a client.Attempt) string {
	line := ""
	if a.SentTo != d.Destination {
		line += ", sent to " + a.SentTo + " instead"
	}
	if a.Probe {
		line += ", a probe"
	}
	if !a.Spent {
		line += ", not counted"
	}
	if a.Presumed {
		line += ", presumed from the status alone"
	}
	if a.Renewed {
		line += ", signed anew"
	}
	if a.WitnessFor != nil {
		line += ", witness for " + a.WitnessFor.String()
	}
	return line
}

// usageOf lists the usage numbers that an answer named.
func usageOf(e webhook.Evidence) string {
	var list []string
	for _, number := range []struct {
		name  string
		value *int64
	}{{"limit", e.Limit}, {"used", e.Used}, {"requested", e.Requested}} {
		if number.value != nil {
			list = append(list, fmt.Sprintf("%s %d", number.name, *number.value))
		}
	}
	if e.Window != "" {
		list = append(list, "per "+wording.PlainLine(e.Window))
	}
	return strings.Join(list, ", ")
}
