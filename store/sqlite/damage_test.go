package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"weir/webhook"
)

// TestABodyThatHasChangedOnTheDiskIsNotLoaded: SQLite does not notice; the digest
// does. A duplicate brings the bytes back.
func TestABodyThatHasChangedOnTheDiskIsNotLoaded(t *testing.T) {
	for name, size := range map[string]int{"small": 1000, "large": 5 << 20} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "weir.db")
			store := openAt(t, path)
			in := fill(t, store, 1, size)[0]
			if err := store.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			at := size / 2
			change(t, path, fmt.Sprintf(`UPDATE payloads SET body = CAST(substr(body, 1, %d) || x'ff' || substr(body, %d) AS BLOB)`, at, at+2))
			store = openAt(t, path)
			defer store.Close(context.WithoutCancel(t.Context()))
			if got, err := store.Body(t.Context(), in.Event.ID); err != nil || len(got) != size || bytes.Equal(got, in.Event.Body) {
				t.Fatalf("%d bytes, %v: the body was not changed", len(got), err)
			}
			event, d, err := store.Load(t.Context(), in.Event.ID, "default")
			if !errors.Is(err, webhook.ErrDamaged) || event.Body != nil || d.State != webhook.Pending {
				t.Errorf("%v, %d bytes, %+v: want an error and the delivery", err, len(event.Body), d)
			}
			if err := store.Cancel(t.Context(), in.Event.ID, "default", time.Now()); err != nil {
				t.Fatal(err)
			}
			if receipt, err := store.Accept(t.Context(), in); err != nil || len(receipt.Reopened) != 1 {
				t.Fatalf("a duplicate: %+v, %v", receipt, err)
			}
			if event, _, err := store.Load(t.Context(), in.Event.ID, "default"); err != nil || !bytes.Equal(event.Body, in.Event.Body) {
				t.Errorf("after a duplicate: %d bytes, %v", len(event.Body), err)
			}
		})
	}
}
