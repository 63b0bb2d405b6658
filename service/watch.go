package service

import (
	"context"
	"fmt"
	"time"

	"weir/service/alert"
	"weir/webhook"
)

const (
	// watchEvery is the time between two looks at what sends no hint.
	watchEvery = 15 * time.Second
	// nearlyFull is the part of the cap at which an alert begins, roomAgain
	// that at which it ends.
	nearlyFull = 0.90
	roomAgain  = 0.85
	// cadenceEvents is how many stored events tell a source's cadence.
	cadenceEvents = webhook.MaxPage
)

// watch looks for what a person would want to know, until ctx ends: at gates when
// they have changed, at the rest from time to time.
func (svc *Service) watch(ctx context.Context) error {
	svc.loadCadences(ctx)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			svc.watchHolds(time.Now())
			return nil
		case <-svc.gatesChanged:
			svc.watchHolds(time.Now())
		case now := <-ticker.C:
			svc.watchHolds(now)
			svc.watchRoom(ctx, now)
			svc.watchRemoved(ctx, now)
			svc.alerter.Tick(now)
		}
	}
}

// lookAgain asks watch to look at the holds. It never blocks.
func (svc *Service) lookAgain() {
	select {
	case svc.gatesChanged <- struct{}{}:
	default:
	}
}

// loadCadences reads how regularly each source has sent. A fault costs
// alerts about silence, and nothing else.
func (svc *Service) loadCadences(ctx context.Context) {
	for _, source := range svc.settings.Sources {
		page, err := svc.store.Events(ctx, webhook.EventQuery{Source: source.Name, Limit: cadenceEvents})
		if err != nil {
			svc.log.Debug("the cadence of a source is not known", webhook.LogSource, source.Name, webhook.LogError, err)
			continue
		}
		var before alert.Cadence
		for i := len(page.Items) - 1; i >= 0; i-- {
			before = before.Heard(page.Items[i].Event.ReceivedAt)
		}
		svc.alerter.Remember(source.Name, before)
	}
}

// watchHolds compares the holds that need a person, and the loops that are stuck,
// with those that were announced.
func (svc *Service) watchHolds(now time.Time) {
	svc.alerter.SetActive(alert.Hold, svc.holdsForPerson(now), now)
	var stuck []alert.Active
	for _, name := range svc.dispatcher.Stuck() {
		stuck = append(stuck, alert.Active{Condition: alert.Condition{Kind: alert.Stuck, Subject: name},
			Text: fmt.Sprintf("destination %s: its delivery loop is stuck; nothing is delivered", name)})
	}
	svc.alerter.SetActive(alert.Stuck, stuck, now)
}

// holdsForPerson lists the holds of all destinations that need a person, but for
// pauses: whoever paused a destination knows.
func (svc *Service) holdsForPerson(now time.Time) []alert.Active {
	var list []alert.Active
	for _, name := range svc.dispatcher.Names() {
		status, err := svc.dispatcher.Status(name, now)
		if err != nil {
			continue
		}
		for _, hold := range svc.needPerson(status.Destination, now) {
			if hold.Reason != webhook.HoldPaused {
				list = append(list, alert.Active{
					Condition: alert.Condition{Kind: alert.Hold, Subject: name + " " + string(hold.Reason)},
					Text:      holdText(name, hold), Since: hold.Since,
				})
			}
		}
	}
	return list
}

// needPerson returns the holds that need a person: those that say so, and those
// that are only presumed and have found no second witness for WEIR_STALL_AFTER. A
// destination with one delivery a day must not be stopped in silence.
func (svc *Service) needPerson(d webhook.Destination, now time.Time) []webhook.Hold {
	list := d.NeedsOperator()
	for _, hold := range d.Holds {
		if hold.Basis == webhook.BasisPresumed && !hold.NeedsOperator && now.Sub(hold.Since) >= time.Duration(svc.settings.StallAfter) {
			list = append(list, hold)
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
		return text + "; nothing is sent until an operator resumes it or changes its settings"
	}
	return text + "; one delivery tests it, from " + hold.Until.UTC().Format(time.RFC3339) + " on"
}

// watchRoom compares the size of the store with its cap.
func (svc *Service) watchRoom(ctx context.Context, now time.Time) {
	size, err := svc.store.Size(ctx)
	if err != nil || size.Max == 0 {
		return
	}
	limit := nearlyFull
	if svc.alerter.IsActive(alert.Condition{Kind: alert.Full, Subject: ""}) {
		limit = roomAgain
	}
	var full []alert.Active
	if used := float64(size.Used()) / float64(size.Max); used > limit {
		full = append(full, alert.Active{Condition: alert.Condition{Kind: alert.Full, Subject: ""},
			Text: fmt.Sprintf("the store is %d %% full; at the cap new events are answered 503", int(100*used))})
	}
	svc.alerter.SetActive(alert.Full, full, now)
}
