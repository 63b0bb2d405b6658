package main

import (
	"context"
	"fmt"
	"time"

	"weir/webhook"
)

const (
	// watchEvery is the time between two looks at what does not tell of
	// itself.
	watchEvery = 15 * time.Second
	// nearlyFull is the part of the cap at which an alert begins, roomAgain
	// that at which it ends.
	nearlyFull = 0.90
	roomAgain  = 0.85
	// rememberEvents is how many stored events tell a source's rhythm.
	rememberEvents = webhook.MaxPage
)

// watch looks after what a person would want to know, until ctx ends. Gates
// that have changed are looked at when they are nudged, the rest from time to
// time.
func (h *house) watch(ctx context.Context) error {
	h.rememberRhythms(ctx)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			h.lookAtHolds(time.Now())
			return nil
		case <-h.gatesChanged:
			h.lookAtHolds(time.Now())
		case now := <-ticker.C:
			h.lookAtHolds(now)
			h.lookAtRoom(ctx, now)
			h.lookAtStrays(ctx, now)
			h.desk.tick(now)
		}
	}
}

// nudge asks watch to look at the holds. It never blocks.
func (h *house) nudge() {
	select {
	case h.gatesChanged <- struct{}{}:
	default:
	}
}

// rememberRhythms reads how regularly each source has sent. A fault costs
// alerts about silence, and nothing else.
func (h *house) rememberRhythms(ctx context.Context) {
	for _, source := range h.settings.sources {
		page, err := h.store.Events(ctx, webhook.EventQuery{Source: source.name, Limit: rememberEvents})
		if err != nil {
			h.log.Debug("the rhythm of a source is not known", webhook.LogSource, source.name, webhook.LogError, err)
			continue
		}
		var before rhythm
		for i := len(page.Items) - 1; i >= 0; i-- {
			before = before.heard(page.Items[i].Event.ReceivedAt)
		}
		h.desk.remember(source.name, before)
	}
}

// lookAtHolds compares the holds that need a person, and the loops that do not
// turn, with those that were told of.
func (h *house) lookAtHolds(now time.Time) {
	h.desk.stand(alertHold, h.needyHolds(now), now)
	var stuck []condition
	for _, name := range h.dispatcher.Stuck(now) {
		stuck = append(stuck, condition{matter: matter{alertStuck, name},
			text: fmt.Sprintf("destination %s: its dispatch loop does not turn; nothing is delivered", name)})
	}
	h.desk.stand(alertStuck, stuck, now)
}

// needyHolds lists the holds of all destinations that need a person, but for
// pauses: whoever paused a destination knows.
func (h *house) needyHolds(now time.Time) []condition {
	var list []condition
	for _, name := range h.dispatcher.Names() {
		status, err := h.dispatcher.Status(name, now)
		if err != nil {
			continue
		}
		for _, hold := range status.Destination.NeedsOperator() {
			if hold.Reason != webhook.HoldPaused {
				list = append(list, condition{
					matter: matter{alertHold, name + " " + string(hold.Reason)},
					text:   holdText(name, hold), since: hold.Since,
				})
			}
		}
	}
	return list
}

// holdText says what a hold is about and what ends it.
func holdText(name string, hold webhook.Hold) string {
	text := fmt.Sprintf("destination %s is held: %s", name, hold.Reason)
	if hold.Status != 0 {
		text += fmt.Sprintf(", it answered %d", hold.Status)
	}
	if hold.Rule != "" {
		text += " (" + hold.Rule + ")"
	}
	if hold.Until.IsZero() {
		return text + "; nothing is sent until somebody resumes it or changes its settings"
	}
	return text + "; one delivery tests it, from " + hold.Until.UTC().Format(time.RFC3339) + " on"
}

// lookAtRoom compares the size of the store with its cap.
func (h *house) lookAtRoom(ctx context.Context, now time.Time) {
	size, err := h.store.Size(ctx)
	if err != nil || size.Max == 0 {
		return
	}
	limit := nearlyFull
	if h.desk.told(matter{alertFull, ""}) {
		limit = roomAgain
	}
	var full []condition
	if used := float64(size.Used()) / float64(size.Max); used > limit {
		full = append(full, condition{matter: matter{alertFull, ""},
			text: fmt.Sprintf("the store is %d %% full; at the cap new events are answered 503", int(100*used))})
	}
	h.desk.stand(alertFull, full, now)
}
