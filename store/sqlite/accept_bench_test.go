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
			var next atomic.Int64
			var group sync.WaitGroup
			b.ResetTimer()
			for range senders {
				group.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						if _, err := store.Accept(b.Context(), sample(n)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
