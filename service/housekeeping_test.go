package service

import (
	"io"
	"testing"

	"weir/store"
)

func TestPruningLooksAtMoreThanHasArrived(t *testing.T) {
	for _, c := range []struct {
		done store.PruneResult
		want int
	}{
		{store.PruneResult{}, store.DefaultPruneLimit},
		{store.PruneResult{Arrived: 300}, store.DefaultPruneLimit},
		{store.PruneResult{NearlyFull: true, Arrived: 10}, store.DefaultPruneLimit},
		{store.PruneResult{NearlyFull: true, Arrived: 300}, 600},
		{store.PruneResult{NearlyFull: true, Arrived: 5000}, maxPruneLimit},
	} {
		if got := pruneLimit(c.done); got != c.want {
			t.Errorf("after %+v: %d rows, want %d", c.done, got, c.want)
		}
	}
}

func TestPruningDoesNotSleepWhileLittleSpaceIsLeft(t *testing.T) {
	if got := pruneSleep(store.PruneResult{More: true, NearlyFull: true}); got != 0 {
		t.Errorf("%s between two steps", got)
	}
	if got := pruneSleep(store.PruneResult{More: true}); got <= 0 {
		t.Error("no time for others between two steps")
	}
}

// TestShortRoomAsksForPruning: before an event is refused, and once however
// often it is told.
func TestShortRoomAsksForPruning(t *testing.T) {
	svc := newService(Config{Log: io.Discard})
	svc.committed(store.Commit{Operations: 1})
	if len(svc.full) != 0 {
		t.Error("there is room, and yet pruning is asked for")
	}
	for range 3 {
		svc.committed(store.Commit{Operations: 1, NearlyFull: true})
	}
	if len(svc.full) != 1 {
		t.Errorf("%d rounds of pruning are asked for, want 1", len(svc.full))
	}
}
