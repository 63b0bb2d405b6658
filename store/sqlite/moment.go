package sqlite

import (
	"database/sql"
	"time"

	"weir/webhook"
)

// millis is the stored form of a time: UTC milliseconds, rounded up, so that a
// wait is never cut short by being written down. The zero time has a form of
// its own, earlier than any other, and comes back as the zero time.
func millis(t time.Time) int64 { return webhook.Ceil(t).UnixMilli() }

// moment is the time of a stored form.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// optional is millis for columns that are null without a time.
func optional(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return millis(t)
}

// optionalMoment is moment for columns that are null without a time.
func optionalMoment(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return moment(ms.Int64)
}

// An event's place in the order of receipt has its time in the upper and a
// counter in the lower bits. 43 bits of milliseconds last until the year 2248.
const (
	counterBits = 20
	counterMask = 1<<counterBits - 1
	maxMillis   = 1<<(62-counterBits) - 1
)

// place is the lowest seq that an event received at ms can have. Times outside
// of what fits are taken as the nearest that does.
func place(ms int64) int64 {
	return min(max(ms, 0), maxMillis) << counterBits
}
