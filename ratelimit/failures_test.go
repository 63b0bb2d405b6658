package ratelimit

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"weir/webhook"
)

// from returns a context with a caller.
func from(addr string) context.Context {
	return with(Caller{Addr: netip.MustParseAddr(addr)})
}

func with(caller Caller) context.Context {
	return context.WithValue(context.Background(), callerKey{}, caller)
}

var thirty = webhook.Rate{N: 30, Per: time.Minute}

// junk makes a caller send refused requests until it is refused unread, and
// returns how many that took.
func junk(ctx context.Context, s *FailureLimiter, most int) int {
	for i := range most {
		if s.Over(ctx) != nil {
			return i
		}
		s.Refused(ctx)
	}
	return most
}

func TestB55JunkCountsAgainstItsAddressOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewFailureLimiter(thirty)
		a, b := from("203.0.113.1"), from("203.0.113.2")
		if got := junk(a, s, 1000); got != 30 {
			t.Errorf("refused unread after %d", got)
		}
		if s.Over(b) != nil {
			t.Error("another address is refused")
		}
		told := s.Over(a)
		seconds, err := strconv.Atoi(told.Get("Retry-After"))
		if err != nil || seconds < 1 || told.Get("RateLimit") == "" || told.Get("RateLimit-Policy") != `"refused";q=30;w=60` {
			t.Fatalf("header %v", told)
		}
		pass(time.Duration(seconds) * time.Second)
		if s.Over(a) != nil {
			t.Error("refused after waiting as told")
		}
	})
}

// TestAVerifiedAddressIsKnownForAnHour: also when it is over the limit.
func TestAVerifiedAddressIsKnownForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewFailureLimiter(thirty)
		a := from("203.0.113.1")
		junk(a, s, 1000)
		if s.Known(a) {
			t.Error("a stranger is known")
		}
		s.Verified(a)
		if s.Over(a) == nil || !s.Known(a) {
			t.Error("a verified address is not known")
		}
		pass(TrustFor - time.Second)
		if !s.Known(a) {
			t.Error("forgotten within the hour")
		}
		pass(time.Second)
		if s.Known(a) {
			t.Error("trusted for longer than an hour")
		}
	})
}

// TestAPrivateAddressMayAlwaysVerify: a proxy that does not say for whom it asks,
// and everybody behind it, has one.
func TestAPrivateAddressMayAlwaysVerify(t *testing.T) {
	s := NewFailureLimiter(thirty)
	for addr, may := range map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "192.168.0.9": true, "100.64.0.1": true, "100.127.255.255": true,
		"::1": true, "fd00::1": true, "fe80::1": true, "203.0.113.1": false, "100.128.0.1": false, "100.63.255.255": false, "2001:db8::1": false,
	} {
		if got := s.MayVerify(from(addr)); got != may {
			t.Errorf("%s may verify: %t, want %t", addr, got, may)
		}
	}
}

func TestSharedAddressIsNeverRefused(t *testing.T) {
	s := NewFailureLimiter(thirty)
	shared := Caller{Addr: netip.MustParseAddr("10.0.0.1"), Shared: true}
	if got := junk(with(shared), s, 1000); got != 1000 {
		t.Errorf("refused after %d", got)
	}
	if s.Over(from("10.0.0.1")) != nil {
		t.Error("what came through it counts against the address itself")
	}
}

func TestB53RotationWithinABlockIsOneCaller(t *testing.T) {
	s := NewFailureLimiter(thirty)
	refused := 0
	for i := range 300 {
		ctx := from(fmt.Sprintf("2001:db8::%x", i+1))
		if s.Over(ctx) != nil {
			refused++
		}
		s.Refused(ctx)
	}
	if refused != 270 {
		t.Errorf("%d of 300 refused", refused)
	}
	for i := range 300 {
		if ctx := from(fmt.Sprintf("2001:db8:1:%x::1", i)); s.Over(ctx) != nil {
			t.Fatal("another block is refused")
		} else {
			s.Refused(ctx)
		}
	}
}

// TestMadeUpAddressesTakeBoundedMemory: 300,000 addresses, then again after
// the window has turned.
func TestMadeUpAddressesTakeBoundedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewFailureLimiter(thirty)
		counts := s.refused.limits[0].counter
		before := heap()
		for i := range uint32(300_000) {
			var addr [4]byte
			binary.BigEndian.PutUint32(addr[:], i)
			ctx := with(Caller{Addr: netip.AddrFrom4(addr)})
			s.Refused(ctx)
			s.Verified(ctx)
		}
		if keys := counts.size(); keys != MaxKeys {
			t.Errorf("%d keys", keys)
		}
		if keys := len(s.verified.last); keys > MaxKeys {
			t.Errorf("%d verified", keys)
		}
		if grown := heap() - before; grown > 32<<20 {
			t.Errorf("%d MiB", grown>>20)
		}
		if got := junk(from("203.0.113.1"), s, 1000); got != 1000 {
			t.Errorf("an address without a place is refused after %d", got)
		}
		pass(2 * time.Minute)
		if got := junk(from("203.0.113.77"), s, 1000); got != 30 {
			t.Errorf("keys of the past keep a new one out: refused after %d", got)
		}
		runtime.KeepAlive(s)
	})
}

// TestMadeUpAddressesOfAnUnsignedSourceTakeBoundedMemory: each address has a
// rate of its own there, and those without a place share one.
func TestMadeUpAddressesOfAnUnsignedSourceTakeBoundedMemory(t *testing.T) {
	s := NewSources(map[string]Source{"open": {Rates: []webhook.Rate{{N: 10, Per: time.Hour}}, Per: PerCaller}})
	before := heap()
	refused := 0
	for i := range uint32(300_000) {
		var addr [16]byte
		addr[0] = 0x20
		binary.BigEndian.PutUint32(addr[2:], i)
		settle, fresh, _ := s.Take(with(Caller{Addr: netip.AddrFrom16(addr)}), "open")
		if fresh != nil {
			refused++
		}
		settle(webhook.ResultAccepted)
	}
	if grown := heap() - before; grown > 32<<20 {
		t.Errorf("%d MiB", grown>>20)
	}
	if want := 300_000 - MaxKeys/4 - 10; refused != want {
		t.Errorf("%d refused, want %d: those without a place share one rate", refused, want)
	}
	runtime.KeepAlive(s)
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestFullTableLetsFailureLimiterInAndSharesSenders(t *testing.T) {
	one := []webhook.Rate{{N: 1, Per: time.Hour}}
	letIn := newLimiter("l", one, table{MaxKeys: 2, WhenFull: letIn})
	shared := newLimiter("s", one, table{MaxKeys: 2, WhenFull: shareOne})
	take := func(l *limiter, key string) bool {
		_, refusal := l.Take(key)
		return !refusal.Refused()
	}
	for _, test := range []struct {
		key           string
		letIn, shared bool
	}{{"a", true, true}, {"b", true, true}, {"a", false, false}, {"c", true, true}, {"d", true, false}, {"c", true, false}, {"b", false, false}} {
		if got := take(letIn, test.key); got != test.letIn {
			t.Errorf("let in %s: %t", test.key, got)
		}
		if got := take(shared, test.key); got != test.shared {
			t.Errorf("share %s: %t", test.key, got)
		}
	}
}

func TestSources(t *testing.T) {
	two := []webhook.Rate{{N: 2, Per: time.Hour}}
	s := NewSources(map[string]Source{"a": {Rates: two}, "b": {Rates: two}, "open": {Rates: two, Per: PerCaller}, "free": {}})
	send := func(source, addr string, result webhook.Result) (fresh, repeat bool) {
		settle, refusedFresh, refusedRepeat := s.Take(from(addr), source)
		settle(result)
		return refusedFresh == nil, refusedRepeat == nil
	}
	const here, there = "192.0.2.1", "192.0.2.2"
	for range 5 {
		for _, result := range []webhook.Result{webhook.ResultKeyConflict, webhook.ResultUnavailable, webhook.ResultThrottled} {
			if fresh, repeat := send("a", here, result); !fresh || !repeat {
				t.Fatalf("%s uses the allowance up", result)
			}
		}
	}
	for i := range 20 {
		if fresh, repeat := send("a", here, webhook.ResultDuplicate); !fresh || !repeat {
			t.Fatalf("repeat %d: fresh %t, repeat %t", i, fresh, repeat)
		}
	}
	if fresh, repeat := send("a", here, webhook.ResultAccepted); !fresh || repeat {
		t.Error("repeats do not have ten times as much, or use up that of new events")
	}
	send("a", here, webhook.ResultAccepted)
	if fresh, _ := send("a", there, webhook.ResultAccepted); fresh {
		t.Error("another address escapes the source's rate")
	}
	if fresh, _ := send("b", here, webhook.ResultAccepted); !fresh {
		t.Error("another source is hit")
	}
	send("open", here, webhook.ResultAccepted)
	send("open", here, webhook.ResultAccepted)
	if fresh, _ := send("open", here, webhook.ResultAccepted); fresh {
		t.Error("an unsigned source has no rate per address")
	}
	if fresh, _ := send("open", there, webhook.ResultAccepted); !fresh {
		t.Error("one address uses up what another has")
	}
	for _, name := range []string{"free", "nobody"} {
		for range 100 {
			if fresh, repeat := send(name, here, webhook.ResultAccepted); !fresh || !repeat {
				t.Fatalf("%s is limited", name)
			}
		}
	}
}

// TestB54EleventhIsToldWhen: ten in twenty seconds, then one too many.
func TestB54EleventhIsToldWhen(t *testing.T) {
	for offset := range 60 {
		synctest.Test(t, func(t *testing.T) {
			pass(time.Duration(offset) * time.Second)
			s := NewSources(map[string]Source{"a": {Rates: []webhook.Rate{{N: 10, Per: time.Minute}}}})
			send := func() http.Header {
				settle, fresh, _ := s.Take(from("192.0.2.1"), "a")
				if fresh == nil {
					settle(webhook.ResultAccepted)
				}
				return fresh
			}
			for range 10 {
				if send() != nil {
					t.Fatal("refused below the limit")
				}
				pass(2 * time.Second)
			}
			told := send()
			seconds, err := strconv.Atoi(told.Get("Retry-After"))
			if err != nil || seconds < 1 || seconds > 63 {
				t.Fatalf("told %v", told)
			}
			pass(time.Duration(seconds) * time.Second)
			if send() != nil {
				t.Errorf("refused after %d s, as told", seconds)
			}
		})
	}
}

func TestAllRatesMustHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter("l", []webhook.Rate{{N: 2, Per: time.Second}, {N: 3, Per: time.Hour}}, table{})
		taken := 0
		for range 10 {
			if _, refusal := l.Take("k"); !refusal.Refused() {
				taken++
			}
			pass(2 * time.Second)
		}
		_, refusal := l.Take("k")
		if taken != 3 || refusal.Rate.Per != time.Hour {
			t.Errorf("%d taken, refused by %s", taken, refusal.Rate)
		}
		pass(refusal.Wait)
		if _, again := l.Take("k"); again.Refused() {
			t.Error("refused after waiting as told")
		}
	})
}

func BenchmarkLimiterTake(b *testing.B) {
	l := newLimiter("l", []webhook.Rate{{N: 1 << 30, Per: time.Minute}}, table{})
	b.ReportAllocs()
	for b.Loop() {
		l.Take("k")
	}
}

func BenchmarkFailureLimiterOver(b *testing.B) {
	s := NewFailureLimiter(thirty)
	ctx := from("2001:db8::1")
	junk(ctx, s, 100)
	b.ReportAllocs()
	for b.Loop() {
		s.Over(ctx)
	}
}

func BenchmarkSourcesTake(b *testing.B) {
	s := NewSources(map[string]Source{"a": {Rates: []webhook.Rate{{N: 1 << 20, Per: time.Minute}}}})
	ctx := from("192.0.2.1")
	b.ReportAllocs()
	for b.Loop() {
		settle, _, _ := s.Take(ctx, "a")
		settle(webhook.ResultUnavailable)
	}
}

// A restart must not let a stranger at a shared address silence a sender who was
// verified before it.
func TestWhoWasVerifiedIsRememberedByTheNextProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := NewFailureLimiter(webhook.Rate{N: 1, Per: time.Minute}), NewFailureLimiter(webhook.Rate{N: 1, Per: time.Minute})
		for _, addr := range []string{"203.0.113.7", "2001:db8:1:2:3::4"} {
			before.Verified(from(addr))
		}
		if !before.VerifiedNew() {
			t.Error("nothing is new")
		}
		blocks := before.VerifiedBlocks()
		if before.VerifiedNew() {
			t.Error("what was given out is still new")
		}
		before.Verified(from("203.0.113.7"))
		if before.VerifiedNew() {
			t.Error("a block that was given out is new again")
		}
		blocks[netip.MustParseAddr("198.51.100.1")] = time.Now().Add(10 * 365 * 24 * time.Hour)
		after.Remember(blocks)
		for addr, want := range map[string]bool{"203.0.113.7": true, "2001:db8:1:2:9::9": true, "198.51.100.1": true, "203.0.113.8": false} {
			if got := after.Known(from(addr)); got != want {
				t.Errorf("%s: %t, want %t", addr, got, want)
			}
		}
		<-time.After(TrustFor)
		for _, addr := range []string{"203.0.113.7", "198.51.100.1"} {
			if after.Known(from(addr)) {
				t.Errorf("%s is known longer than an hour", addr)
			}
		}
	})
}
