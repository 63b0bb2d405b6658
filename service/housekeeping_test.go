package service

import (
	"io"
	"testing"

	"weir/store"
)

// TestShortRoomAsksForPruning: before an event is refused, and once however
// often it is told.
func TestShortRoomAsksForPruning(t *testing.T) {
	h := newService(Config{Log: io.Discard})
	h.committed(store.Commit{Operations: 1})
	if len(h.full) != 0 {
		t.Error("there is room, and yet pruning is asked for")
	}
	for range 3 {
		h.committed(store.Commit{Operations: 1, NearlyFull: true})
	}
	if len(h.full) != 1 {
		t.Errorf("%d rounds of pruning are asked for, want 1", len(h.full))
	}
}
