package service

import (
	"io"
	"testing"

	"weir/store"
)

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
