package sqlite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"weir/webhook"
)

// readyFor is how long a commit, or its failure, answers for the store, and how
// long a caller of Ready waits at most.
const readyFor = time.Second

// Ping commits something small and so proves that events can be stored now.
func (s *Store) Ping(ctx context.Context) error {
	err := s.writer.do(ctx, 0, func(conn *writeConn) error {
		_, err := conn.exec(`UPDATE facts SET value = value + 1 WHERE name = 'ping'`)
		return err
	})
	if err != nil {
		return fmt.Errorf("proving that the store commits: %w", err)
	}
	return nil
}

// Ready returns nil while new events can be stored. It costs no more than one
// commit a second, however often it is called, and none while others commit. It
// answers within a second.
//
// Errors: [webhook.ErrFull] while new events are refused at the cap;
// [webhook.ErrUnavailable] when nothing can be committed.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.commits(ctx); err != nil {
		return err
	}
	if s.Full() {
		return webhook.ErrFull
	}
	return nil
}

// Full reports whether new events are refused because there is no space for them
// below Config.MaxBytes. It costs nothing.
func (s *Store) Full() bool { return s.writer.full.Load() }

// commits returns nil if something was committed within the last second, or can
// be.
func (s *Store) commits(ctx context.Context) error {
	if s.writer.committedWithin(readyFor) {
		return nil
	}
	return s.proof.get(ctx, s.Ping)
}

// proof is the last answer to whether the store commits. One caller at a time
// finds it out, for all that wait.
type proof struct {
	turn sync.Mutex // held while one finds out
	at   time.Time
	err  error
}

// get returns the last answer, or a new one if that is too old.
func (p *proof) get(ctx context.Context, ping func(context.Context) error) error {
	asked := time.Now()
	p.turn.Lock() // for a second at most
	defer p.turn.Unlock()
	if !p.at.IsZero() && asked.Sub(p.at) < readyFor {
		return p.err
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), readyFor,
		fmt.Errorf("%w: no commit within %s", webhook.ErrUnavailable, readyFor))
	defer cancel()
	p.err = ping(ctx)
	p.at = time.Now()
	return p.err
}
