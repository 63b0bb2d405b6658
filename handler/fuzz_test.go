package handler

import (
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"weir/webhook"
)

func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"", "source=a&limit=200", "limit=201", "since=2026-11-30T03:27:11.123Z", "state=dead&cursor=x", "a=%zz", ";", "key=%00",
		"since=0001-01-01T00:00:00Z", "until=9999-12-31T23:59:59.999999999+14:00", "limit=1&limit=2",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		got, err := eventQuery(query)
		if err != nil {
			if status := faultOf(err).status; status != http.StatusBadRequest {
				t.Fatalf("status %d", status)
			}
			return
		}
		if got.Limit < 1 || got.Limit > webhook.MaxPage {
			t.Fatalf("limit %d", got.Limit)
		}
		for _, text := range []string{got.Source, got.Key, got.Destination, got.After} {
			if len(text) > maxText || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Fatalf("text %q", text)
			}
		}
		if !got.Since.IsZero() && got.Since.Year() < 1969 {
			t.Fatalf("since %s", got.Since)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("d1.YXBw.place")
	f.Add("d1..")
	f.Add(joinCursor("app", "a.b.c"))
	f.Fuzz(func(t *testing.T, cursor string) {
		destination, place, err := splitCursor(cursor)
		if err != nil || cursor == "" {
			return
		}
		if again := joinCursor(destination, place); again != cursor {
			t.Fatalf("%q became %q", cursor, again)
		}
	})
}

func FuzzRequestID(f *testing.F) {
	f.Add("abc")
	f.Add("a\r\nSet-Cookie: x")
	f.Fuzz(func(t *testing.T, id string) {
		if saneID(id) && (len(id) > 128 || strings.ContainsAny(id, "\r\n \x00\"<>")) {
			t.Fatalf("%q is sane", id)
		}
	})
}

func FuzzBody(f *testing.F) {
	f.Add([]byte("body"), int64(4), int64(10))
	f.Add([]byte(strings.Repeat("x", 40000)), int64(-1), int64(39999))
	f.Add([]byte{}, int64(0), int64(0))
	f.Fuzz(func(t *testing.T, body []byte, declared, limit int64) {
		if limit < 0 || limit > 1<<20 || declared > limit || declared >= 0 && declared != int64(len(body)) {
			return
		}
		bytes := &room{}
		bytes.most.Store(1 << 21)
		b := &buffer{room: &one{of: bytes}, progress: func(int) {}}
		err := b.fill(iotest.HalfReader(strings.NewReader(string(body))), declared, limit)
		if fits := int64(len(body)) <= limit; fits != (err == nil) || fits && string(b.bytes) != string(body) {
			t.Fatalf("%d bytes with limit %d: %v", len(body), limit, err)
		}
		if peak := bytes.peak.Load(); peak > limit {
			t.Fatalf("%d bytes reserved for a limit of %d", peak, limit)
		}
		b.release()
		if used := bytes.used.Load(); used != 0 {
			t.Fatalf("%d bytes not given back", used)
		}
	})
}
