package service

import (
	"context"
	"fmt"
	"time"

	"weir/config"
	"weir/store"
	"weir/webhook"
)

const (
	// pruneAtMost and pruneAtLeast bound the time between two rounds of
	// pruning; pruneRest is that between the small steps of one.
	pruneAtMost  = time.Minute
	pruneAtLeast = time.Second
	pruneRest    = 50 * time.Millisecond
	// maxPruneLimit bounds the rows of one step.
	maxPruneLimit = 1000
	// idleLook is how often an idle exit is considered.
	idleLook = time.Second
	// volumeShare is the part of the volume that the database may fill.
	volumeShare = 0.8
)

// databaseCap returns WEIR_MAX_DATABASE in bytes, or its default: 80 % of the
// volume that the database is on. A volume that cannot be looked at gives no
// cap, 0: the store says better what is wrong with it.
func databaseCap(s config.Settings) int64 {
	if s.MaxDatabase > 0 {
		return int64(s.MaxDatabase)
	}
	volume, err := volumeOf(string(s.Database))
	if err != nil {
		return 0
	}
	return int64(volumeShare * float64(volume.Blocks) * float64(volume.Bsize))
}

// heapOf is what the service needs at most when large bodies come and go: without
// a bound as much again would lie about as garbage, and the machine is small.
func heapOf(s config.Settings) int64 { return int64(s.MaxInflight) + maxBodiesOut }

// pruneEvery returns the time between two rounds of pruning. What is to be kept
// for less than a minute is looked after as often.
func pruneEvery(s config.Settings) time.Duration {
	shortest := time.Duration(min(s.RetainDelivered, s.RetainDead, s.DedupeWindow))
	return min(max(shortest, pruneAtLeast), pruneAtMost)
}

// keep does what has to be done from time to time until ctx ends. It begins
// with a round of pruning: a service that never runs for long must not grow
// forever.
func (svc *Service) keep(ctx context.Context) error {
	svc.prune(ctx)
	prune, idle := time.NewTicker(pruneEvery(svc.settings)), time.NewTicker(idleLook)
	defer prune.Stop()
	defer idle.Stop()
	verified, renewed := time.NewTicker(verifiedLook), time.Now()
	defer verified.Stop()
	defer svc.saveVerified()
	if svc.settings.IdleExit == 0 {
		idle.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-prune.C:
			svc.prune(ctx)
		case <-svc.full:
			if !svc.prune(ctx) {
				sleep(ctx, pruneAtLeast) // it is not looked through all the time
			}
		case now := <-verified.C:
			renewed = svc.keepVerified(renewed, now)
		case now := <-idle.C:
			if svc.idle(ctx, now) && svc.staysIdle(ctx) {
				return errIdle
			}
		}
	}
}

// makeRoom asks for a round of pruning now: near the cap it removes what is
// delivered, before a new event finds no room. It never blocks.
func (svc *Service) makeRoom() {
	select {
	case svc.full <- struct{}{}:
	default:
	}
}

// prune removes what has passed its retention, in small steps, and reports
// whether there is room now or some was made. A fault is logged: the next round
// tries again.
func (svc *Service) prune(ctx context.Context) (helped bool) {
	var done store.PruneResult
	for ctx.Err() == nil {
		now := webhook.Ceil(time.Now())
		var err error
		done, err = svc.store.Prune(ctx, store.PruneQuery{
			Now:             now,
			Limit:           pruneLimit(done),
			DeliveredBefore: now.Add(-time.Duration(svc.settings.RetainDelivered)),
			DeadBefore:      now.Add(-time.Duration(svc.settings.RetainDead)),
		})
		if err != nil {
			svc.log.Error("retention could not be applied", webhook.LogError, err)
			return false
		}
		helped = helped || !done.NearlyFull || done.Payloads+done.Events > 0
		if !done.More || !sleep(ctx, pruneSleep(done)) {
			return helped
		}
	}
	return helped
}

// pruneLimit returns how many rows the next step looks at: while little space is
// left twice as many as events have arrived during the last one.
func pruneLimit(done store.PruneResult) int {
	if done.NearlyFull {
		return min(max(store.DefaultPruneLimit, 2*done.Arrived), maxPruneLimit)
	}
	return store.DefaultPruneLimit
}

// pruneSleep returns the time between two steps of a round. There is none while
// little space is left: then pruning has to be faster than intake, and each step
// waits for its turn in the writer anyway.
func pruneSleep(done store.PruneResult) time.Duration {
	if done.NearlyFull {
		return 0
	}
	return pruneRest
}

// staysIdle is the delay of an idle exit: not ready, and then another look. It
// reports whether the service is still idle; else it goes on as if nothing had
// happened.
func (svc *Service) staysIdle(ctx context.Context) bool {
	svc.draining.Store(true)
	if sleep(ctx, time.Duration(svc.settings.ShutdownDelay)) && svc.idle(ctx, time.Now()) {
		return true
	}
	svc.draining.Store(false)
	return false
}

// idle reports whether nothing has happened, and nothing will, for as long as
// WEIR_IDLE_EXIT says.
func (svc *Service) idle(ctx context.Context, now time.Time) bool {
	if time.Since(svc.created)-time.Duration(svc.lastRequest.Load()) < time.Duration(svc.settings.IdleExit) {
		return false
	}
	for _, name := range svc.dispatcher.Names() {
		status, err := svc.dispatcher.Status(name, now)
		if err != nil || len(status.InFlight) > 0 {
			return false
		}
	}
	return !svc.anythingPending(ctx)
}

// anythingPending reports whether a delivery waits for a configured destination,
// or may: a queue that cannot be read counts as one that has something.
func (svc *Service) anythingPending(ctx context.Context) bool {
	now := webhook.Ceil(time.Now())
	for _, name := range svc.dispatcher.Names() {
		queue, err := svc.store.Queue(ctx, name, now)
		if err != nil || queue.Pending > 0 {
			return true
		}
	}
	return false
}

// watchStore ends the service when its store has died.
func (svc *Service) watchStore(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-svc.store.Failed():
		return fmt.Errorf("the store cannot go on: %w", svc.store.Err())
	}
}
