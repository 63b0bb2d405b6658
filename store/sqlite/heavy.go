package sqlite

import (
	"context"
	"fmt"
)

// largeBody is from which size on a body is heavy.
const largeBody = 4 << 20

// heavy lets one large body at a time into SQLite or out of it: on the way
// SQLite and its driver have up to three copies, and two bodies of 25 MiB at
// once would need more memory than a small machine has. Nobody who holds it
// keeps a reader or the writer waiting.
type heavy chan struct{}

func newHeavy() heavy { return make(heavy, 1) }

// carry runs f alone among those that carry something heavy.
func (h heavy) carry(ctx context.Context, size int64, f func() error) error {
	if size < largeBody {
		return f()
	}
	select {
	case h <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting for another large body: %w", unavailable(context.Cause(ctx)))
	}
	defer func() { <-h }()
	return f()
}
