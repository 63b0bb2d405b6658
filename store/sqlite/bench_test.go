package sqlite_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/store/sqlite"
	"weir/webhook"
)

// open returns a store in a directory of its own, closed at the end of the
// test.
func open(tb testing.TB) *sqlite.Store {
	tb.Helper()
	store, err := sqlite.Open(tb.Context(), sqlite.Config{Path: filepath.Join(tb.TempDir(), "weir.db")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return store
}

// sample is an arrival of 1 KiB with a key and eight header fields.
func sample(n int64) webhook.Arrival {
	id, _ := uuid.NewV7()
	body := make([]byte, 1024)
	copy(body, fmt.Sprintf(`{"n":%d}`, n))
	header := http.Header{}
	for i := range 8 {
		header.Set(fmt.Sprintf("X-Field-%d", i), "some value of a header field")
	}
	return webhook.Arrival{
		Event: webhook.Event{
			ID: webhook.ID(id), Source: "github", Key: rand.Text(), KeyFrom: "header:X-GitHub-Delivery",
			ReceivedAt: time.Now(), Header: header, Body: body,
		},
		To: []string{"default"},
	}
}

// BenchmarkAccept measures durable acceptance of new 1 KiB events.
func BenchmarkAccept(b *testing.B) {
	for _, senders := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("senders=%d", senders), func(b *testing.B) {
			store := open(b)
			b.ResetTimer()
			each(senders, b.N, func(i int) {
				if _, err := store.Accept(b.Context(), sample(int64(i))); err != nil {
					b.Error(err)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkRecord measures the recording of delivered attempts.
func BenchmarkRecord(b *testing.B) {
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			store := open(b)
			arrivals := make([]webhook.Arrival, b.N)
			each(workers, b.N, func(i int) {
				arrivals[i] = sample(int64(i))
				if _, err := store.Accept(b.Context(), arrivals[i]); err != nil {
					b.Error(err)
				}
			})
			gates, err := store.Own(b.Context(), "default")
			if err != nil {
				b.Fatal(err)
			}
			gates.Sent = []webhook.Window{{Rate: webhook.Rate{N: 1_000_000, Per: time.Hour}}}
			b.ResetTimer()
			each(workers, b.N, func(i int) {
				changed := gates
				changed.Rev = int64(i) + 1
				changed.Sent = []webhook.Window{gates.Sent[0].Add(time.Now(), 1)}
				if err := store.Record(b.Context(), delivered(arrivals[i], changed)); err != nil {
					b.Error(err)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// each calls f with 0 … n-1, some of them at the same time.
func each(workers, n int, f func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	group.Wait()
}

// BenchmarkDueAndLoad measures finding and reading one delivery.
func BenchmarkDueAndLoad(b *testing.B) {
	store := open(b)
	each(64, 10_000, func(i int) {
		if _, err := store.Accept(b.Context(), sample(int64(i))); err != nil {
			b.Error(err)
		}
	})
	b.ResetTimer()
	for b.Loop() {
		list, err := store.Due(b.Context(), webhook.DueQuery{Destination: "default", Now: time.Now(), Limit: 1})
		if err != nil || len(list.Deliveries) != 1 {
			b.Fatal(list, err)
		}
		if _, _, err := store.Load(b.Context(), list.Deliveries[0].EventID, "default"); err != nil {
			b.Fatal(err)
		}
	}
}
