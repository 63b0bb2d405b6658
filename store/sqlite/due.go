package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"weir/webhook"
)

// lane is how one kind of due work is read. Its queries name their index: what
// the planner would choose depends on statistics that nobody keeps.
type lane struct {
	due  string // destination, now, limit
	next string // destination, now
}

func newLane(index, attempts, order string) lane {
	from := ` INDEXED BY ` + index
	where := ` WHERE d.state = 'pending' AND ` + attempts + ` AND d.destination = +?1`
	return lane{
		due: `SELECT ` + deliveryColumns + ` FROM deliveries d` + from + ` CROSS JOIN events e ON e.seq = d.seq` +
			where + ` AND d.next_at <= ?2 ORDER BY ` + order + ` LIMIT +?3`,
		next: `SELECT min(d.next_at) FROM deliveries d` + from + where + ` AND d.next_at > ?2`,
	}
}

var (
	firsts       = newLane("deliveries_first", "d.attempts = 0", "d.next_at, d.seq")
	newestFirsts = newLane("deliveries_first", "d.attempts = 0", "d.next_at DESC, d.seq DESC")
	retries      = newLane("deliveries_retry", "d.attempts > 0", "d.next_at, d.seq")
)

func laneOf(which webhook.DueWhich) lane {
	switch which {
	case webhook.Retries:
		return retries
	case webhook.NewestFirsts:
		return newestFirsts
	default:
		return firsts
	}
}

// Due lists pending deliveries whose own next time is reached, and when the
// next of the same kind falls due. It claims nothing, and its cost follows what
// it returns.
func (s *Store) Due(ctx context.Context, query webhook.DueQuery) (webhook.DueList, error) {
	var list webhook.DueList
	lane := laneOf(query.Which)
	now := query.Now.UnixMilli() // rounded down: never early
	args := []any{query.Destination, now, query.Limit}
	if err := s.reads.each(ctx, lane.due, args, scanDeliveries(&list.Deliveries)); err != nil {
		return webhook.DueList{}, fmt.Errorf("listing what is due for %s: %w", query.Destination, err)
	}
	var next sql.NullInt64
	if err := s.reads.row(ctx, lane.next, args[:2], &next); err != nil {
		return webhook.DueList{}, fmt.Errorf("finding what is due next for %s: %w", query.Destination, err)
	}
	list.Next = optionalMoment(next)
	return list, nil
}
