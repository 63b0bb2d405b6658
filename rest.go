package main

import (
	"context"
	"time"
)

// rest waits, and reports whether ctx still stands.
func rest(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
