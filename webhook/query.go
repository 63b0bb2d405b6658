package webhook

import "time"

// The bounds of a page.
const (
	DefaultPage = 50
	MaxPage     = 200
)

// EventQuery selects events, newest first. Zero members select everything.
type EventQuery struct {
	Source string
	Key    string
	// Type is a pattern over types: "*" stands for any text, also none.
	Type string
	// Contains is text that the body has, byte for byte; at most [MaxContains]
	// bytes.
	Contains string
	// State and Destination select events that have a delivery with both.
	State       State
	Destination string
	// Since is inclusive, Until exclusive, both by the time of receipt.
	Since time.Time
	Until time.Time
	// After is the cursor of the page before; empty is the first page.
	After string
	// Limit is between 1 and MaxPage.
	Limit int
}

// MaxContains bounds what may be looked for in bodies, in bytes.
const MaxContains = 256

// EventPage is one page of events, with their deliveries and without bodies.
type EventPage struct {
	// SearchedTo is the time of receipt down to which a page that is not full has
	// looked; zero where it has looked at all that there is.
	SearchedTo time.Time
	Items      []EventDetail
	// Next is the cursor of the next page; empty at the end.
	Next string
}

// EventDetail is an event with its deliveries. In lists the histories are
// left out.
type EventDetail struct {
	Event      Event
	Deliveries []History
}

// History is a delivery with every attempt, oldest first.
type History struct {
	Delivery Delivery
	Attempts []Attempt
}

// DeliveryQuery selects deliveries, newest first by the time of receipt. Zero
// members select everything.
type DeliveryQuery struct {
	State       State
	Reason      DeadReason
	Source      string
	Destination string
	Since       time.Time
	Until       time.Time
	// Due selects pending deliveries by their own next time against DueAt.
	Due   DueFilter
	DueAt time.Time
	// Only restricts to, Except leaves out, the deliveries of these events
	// (those in flight). A nil Only restricts nothing.
	Only   []ID
	Except []ID
	After  string
	Limit  int
}

// DueFilter selects pending deliveries by their own next time.
type DueFilter int

// The filters of [DeliveryQuery].
const (
	DueAny   DueFilter = iota
	DueNow             // next time reached
	DueLater           // next time not reached
)

// DeliveryPage is one page of deliveries.
type DeliveryPage struct {
	Items []Delivery
	Next  string
}

// DueQuery asks for the deliveries of one destination that are due.
type DueQuery struct {
	Destination string
	Now         time.Time
	Limit       int
	// Which selects first sends or retries; the order is longest due first,
	// or latest due first for NewestFirsts.
	Which DueWhich
}

// DueWhich selects among the due deliveries of a destination.
type DueWhich int

// What [DueQuery] may ask for.
const (
	Firsts       DueWhich = iota // never attempted yet, longest due first
	Retries                      // attempted before, longest due first
	NewestFirsts                 // never attempted yet, latest due first
)

// DueList is what is due, longest due first.
type DueList struct {
	Deliveries []Delivery
	// Next is the earliest time after Now at which another delivery of the
	// destination falls due; zero when there is none.
	Next time.Time
}

// ExpireQuery asks to end what has waited too long.
type ExpireQuery struct {
	Destination string
	// AgeBefore selects pending deliveries whose allowance began at or
	// before it; Now is the time to note as their end.
	AgeBefore time.Time
	Now       time.Time
	// Except leaves out what is in flight.
	Except []ID
	// Detail is the sentence to keep with them.
	Detail string
	// Limit bounds how many end in one step.
	Limit int
}

// AdvanceQuery asks to make pending deliveries of a destination due whose own
// next time lies ahead. Each of the three times selects what waits beyond it;
// zero leaves that kind as it is.
type AdvanceQuery struct {
	Destination string
	// Now is the new next time.
	Now time.Time
	// Firsts selects deliveries that were never attempted, Backoffs those that
	// were, and Refused those that are set aside alone.
	Firsts, Backoffs, Refused time.Time
	// Limit bounds how many of each kind are changed in one step.
	Limit int
}

// Expired tells what an [ExpireQuery] did.
type Expired struct {
	// Count of the deliveries that ended.
	Count int
	// Oldest is when the allowance of the oldest delivery that is still
	// pending began; zero without any.
	Oldest time.Time
}

// Redelivery asks to make deliveries pending again.
type Redelivery struct {
	EventID     ID
	Destination string
	// Force also redelivers what was too large or was delivered already.
	Force bool
	// At is when the first attempt may go.
	At time.Time
}
