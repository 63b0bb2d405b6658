package webhook

import (
	"crypto/sha256"
	"net/http"
	"time"
)

// Event is one webhook as it was received. It never changes; what happens to
// it is told by its deliveries.
type Event struct {
	ID     ID
	Source string
	// Key is the sender's own id for the event, read after verification and
	// scoped to the source. Empty when the sender gives none: such events are
	// never duplicates of each other.
	Key string
	// KeyFrom says where the key was read: "header:X-GitHub-Delivery",
	// "json:id", "body", or "" without a key.
	KeyFrom string
	// Type is the sender's own word for what has happened: "push",
	// "invoice.paid". At most 128 bytes of plain text; empty where there is none.
	Type       string
	ReceivedAt time.Time
	// Header holds what will be forwarded and nothing else: credentials and
	// hop-by-hop fields are gone before an event is made.
	Header http.Header
	// Body is exactly the bytes that came over the wire. It is nil in lists
	// and after the event's retention has passed.
	Body []byte
	// Size and SHA256 describe Body and outlive it.
	Size   int64
	SHA256 [sha256.Size]byte
	// Duplicates counts the repeats that were recognised, the last of them
	// at LastDuplicateAt.
	Duplicates      int64
	LastDuplicateAt time.Time
	// ConflictOf names the earlier event with the same key and other bytes,
	// where the source keeps such events ([KeepConflict]).
	ConflictOf ID
	// BodyGone reports that retention has removed body and headers.
	BodyGone bool
}

// OnConflict says what becomes of a request that bears the key of a stored
// event but other bytes.
type OnConflict string

// The values of the setting ON_CONFLICT.
const (
	// RejectConflict refuses it: [ResultKeyConflict].
	RejectConflict OnConflict = "reject"
	// KeepConflict stores it as an event of its own, marked as a conflict.
	KeepConflict OnConflict = "keep"
	// IgnoreConflict counts it as a duplicate: for senders whose retries
	// change bytes (Stripe, HubSpot).
	IgnoreConflict OnConflict = "ignore"
)

// Arrival is a verified request on its way into the store.
type Arrival struct {
	Event Event
	// To names the destinations of the event; each gets its own delivery.
	To         []string
	OnConflict OnConflict
}

// Receipt says what the store made of an [Arrival].
type Receipt struct {
	// ID names the event that is stored: the new one, or for a duplicate the
	// one that it repeats.
	ID ID
	// Result is ResultAccepted, ResultDuplicate or ResultKeyConflict.
	Result Result
	// Reopened names the destinations whose dead deliveries this repeat
	// made pending again.
	Reopened []string
}

// Result is what became of a request to a receive path. The set is closed;
// the strings are metric labels.
type Result string

// The results, with the status that each is answered with.
const (
	ResultAccepted      Result = "accepted"       // 200
	ResultDuplicate     Result = "duplicate"      // 200
	ResultChallenge     Result = "challenge"      // 200
	ResultUnknownSource Result = "unknown_source" // 404
	ResultBadSignature  Result = "bad_signature"  // 401
	ResultStale         Result = "stale"          // 401
	ResultMalformed     Result = "malformed"      // 400
	ResultKeyConflict   Result = "key_conflict"   // 422
	ResultTooLarge      Result = "too_large"      // 413
	ResultUnsupported   Result = "unsupported"    // 415
	ResultThrottled     Result = "throttled"      // 429
	ResultUnavailable   Result = "unavailable"    // 503
)

// Results lists every [Result], in the order of the constants.
func Results() []Result {
	return []Result{
		ResultAccepted, ResultDuplicate, ResultChallenge, ResultUnknownSource,
		ResultBadSignature, ResultStale, ResultMalformed, ResultKeyConflict,
		ResultTooLarge, ResultUnsupported, ResultThrottled, ResultUnavailable,
	}
}
