package ratelimit

import (
	"context"
	"fmt"
	"testing"
)

const mib = 1 << 20

// noneKnown and allKnown say who is verified.
func noneKnown(context.Context) bool { return false }
func allKnown(context.Context) bool  { return true }

// hold makes a block hold bodies of so many bytes each until one finds no room,
// and returns how many it holds.
func hold(f *Inflight, addr string, size int64, most int) int {
	for i := range most {
		if !f.For(from(addr)).Acquire(size) {
			return i
		}
	}
	return most
}

func TestVerifiedCallersMayUseAllOfTheRoom(t *testing.T) {
	f := NewInflight(32*mib, mib, allKnown)
	if got := hold(f, "203.0.113.1", mib, 100); got != 32 {
		t.Errorf("%d bodies, want 32", got)
	}
	if f.Used() != 32*mib {
		t.Errorf("%d used", f.Used())
	}
}

// TestStrangersLeaveRoom: for verified callers whatever they do, and for small
// bodies of each other as long as they are a few.
func TestStrangersLeaveRoom(t *testing.T) {
	for _, largest := range []int64{mib, 25 * mib} {
		known := map[string]bool{"203.0.113.9": true}
		f := NewInflight(32*mib, largest, func(ctx context.Context) bool { return known[CallerOf(ctx).Addr.String()] })
		for i := range 200 {
			hold(f, fmt.Sprintf("198.51.100.%d", i), mib, 50)
			hold(f, fmt.Sprintf("198.51.100.%d", i), 1000, 50)
		}
		if !f.For(from("203.0.113.9")).Acquire(largest) {
			t.Errorf("a verified caller finds no room for %d bytes; strangers hold %d", largest, f.Used()-largest)
		}
	}
	f := NewInflight(32*mib, mib, noneKnown)
	for i := range 6 {
		hold(f, fmt.Sprintf("198.51.100.%d", i), mib, 48)
	}
	if !f.For(from("203.0.113.9")).Acquire(10_000) {
		t.Error("large bodies leave no room for a small one")
	}
}

func TestOneBlockOfStrangersTakesAQuarter(t *testing.T) {
	f := NewInflight(32*mib, mib, noneKnown)
	if got := hold(f, "198.51.100.1", mib, 48); got != 2 {
		t.Errorf("%d bodies of 1 MiB, want 2", got)
	}
	if got := hold(f, "203.0.113.1", mib, 48); got != 2 {
		t.Errorf("another block: %d", got)
	}
}

// TestASingleBodyAlwaysPasses: the first webhook of a sender may be as large as
// its source allows.
func TestASingleBodyAlwaysPasses(t *testing.T) {
	f := NewInflight(32*mib, 25*mib, noneKnown)
	first := f.For(from("203.0.113.1"))
	if !first.Acquire(16<<10) || !first.Acquire(24*mib) {
		t.Error("no room for a body of 24 MiB that is alone")
	}
	first.Release()
	if f.Used() != 0 || len(f.small.byBlock)+len(f.large.byBlock) != 0 {
		t.Errorf("%d used after it was given back, %v %v", f.Used(), f.small, f.large)
	}
}

func TestNoBoundIsNoBound(t *testing.T) {
	if !NewInflight(0, mib, noneKnown).For(from("203.0.113.1")).Acquire(1 << 40) {
		t.Error("no bound is a bound")
	}
}
