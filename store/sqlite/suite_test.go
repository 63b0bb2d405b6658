package sqlite_test

import (
	"context"
	"testing"
	"time"

	"weir/store"
	"weir/store/sqlite"
	"weir/store/storetest"
)

// engine is a store as the suite knows it.
type engine struct{ *sqlite.Store }

// PruneAll takes steps of pruning until there is nothing more to do.
func (e engine) PruneAll(ctx context.Context, now, finishedBefore time.Time) error {
	for {
		result, err := e.Prune(ctx, store.PruneQuery{
			Now: now, DeliveredBefore: finishedBefore, DeadBefore: finishedBefore, Limit: 7,
		})
		if err != nil || !result.More {
			return err
		}
	}
}

func TestEngineKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Engine { return engine{open(t)} })
}

func TestListsAreCompleteThoughEachPageLooksAtFewRows(t *testing.T) {
	for _, rows := range []int{1, 4} {
		storetest.RunLists(t, func(t *testing.T) storetest.Engine {
			store := open(t)
			store.SetWalkBudget(rows)
			return engine{store}
		})
	}
}
