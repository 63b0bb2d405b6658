package sqlite

import (
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"math"
	"time"

	"weir/webhook"
)

// The form of a cursor.
const (
	cursorVersion = 1
	eventList     = 'e'
	deliveryList  = 'd'
	cursorHead    = 2 + 8
	maxCursorText = 512
)

// cursor says where a list goes on: behind a delivery, or (without a
// destination) below a seq. Clients see it as opaque text: base64 of a version,
// the kind of list, the seq and the destination. It stays valid while rows come
// and go, and reveals nothing that the list does not.
type cursor struct {
	seq         int64
	destination string
}

// text returns the outer form for a kind of list.
func (c cursor) text(list byte) string {
	raw := []byte{cursorVersion, list}
	raw = binary.BigEndian.AppendUint64(raw, uint64(c.seq))
	return base64.RawURLEncoding.EncodeToString(append(raw, c.destination...))
}

// parseCursor reads the outer form; what text cannot have made is
// webhook.ErrCursor. An empty text begins a list.
func parseCursor(text string, list byte) (cursor, error) {
	if text == "" {
		return cursor{seq: math.MaxInt64}, nil
	}
	if len(text) > maxCursorText {
		return cursor{}, webhook.ErrCursor
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < cursorHead || raw[0] != cursorVersion || raw[1] != list {
		return cursor{}, webhook.ErrCursor
	}
	c := cursor{
		seq:         int64(binary.BigEndian.Uint64(raw[2:cursorHead])),
		destination: string(raw[cursorHead:]),
	}
	if c.seq < 0 || c.seq == math.MaxInt64 || list == eventList && c.destination != "" {
		return cursor{}, webhook.ErrCursor
	}
	return c, nil
}

// ceiling is the seq that the deliveries to a destination must be below to
// be on the next page: items come by seq downwards, then by destination
// upwards.
func (c cursor) ceiling(destination string) int64 {
	if c.destination != "" && destination > c.destination {
		return c.seq + 1
	}
	return c.seq
}

// millis is the stored form of a time: UTC milliseconds, rounded up, so that a
// wait is never cut short by being written down. The zero time has a form of
// its own, earlier than any other, and comes back as the zero time.
func millis(t time.Time) int64 { return webhook.Ceil(t).UnixMilli() }

// timeAt is the time of a stored form.
func timeAt(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// optional is millis for columns that are null without a time.
func optional(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return millis(t)
}

// optionalTime is timeAt for columns that are null without a time.
func optionalTime(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return timeAt(ms.Int64)
}

// The seq of an event has the time of receipt in its upper bits and a counter in
// the lower ones. 43 bits of milliseconds last until the year 2248.
const (
	counterBits = 20
	counterMask = 1<<counterBits - 1
	maxMillis   = 1<<(62-counterBits) - 1
)

// seqAt is the lowest seq that an event received at ms can have. Times outside
// of what fits are taken as the nearest that does.
func seqAt(ms int64) int64 {
	return min(max(ms, 0), maxMillis) << counterBits
}

// timeOfSeq is the time of receipt of the event with a seq.
func timeOfSeq(seq int64) time.Time { return timeAt(seq >> counterBits) }
