package flaky

import (
	"strconv"
	"time"
)

// The bounds of what a [Server] remembers.
const (
	// keptRequests is how many requests [Server.Requests] can list: the last.
	keptRequests = 10_000
	// keptEvents is how many event ids [Server.Events] can list: the first.
	keptEvents = 100_000
)

// Seen is one request as the server saw it.
type Seen struct {
	// Number counts all requests from 1, in the order of their arrival.
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Path   string    `json:"path"`
	// EventID and Attempt are the headers Weir-Event-Id and Weir-Attempt.
	EventID string `json:"event_id,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Size of the body in bytes and the SHA-256 of it in hex.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Status is what it was answered, 0 where a fault stood in for an
	// answer.
	Status int    `json:"status"`
	Fault  Fault  `json:"fault,omitempty"`
	Rule   string `json:"rule,omitempty"`
	// Answered says that the answer was written whole; false also while it
	// is still being written.
	Answered bool `json:"answered"`
	// Took is the time from the whole request to the end of the answer.
	Took Duration `json:"took"`
}

// Event is what was seen of one Weir-Event-Id.
type Event struct {
	ID string `json:"id"`
	// Requests counts all of them, Accepted those answered 2xx.
	Requests int       `json:"requests"`
	Accepted int       `json:"accepted"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	// SHA256 is that of the first body; Changed says that a later one had
	// other bytes.
	SHA256  string `json:"sha256"`
	Changed bool   `json:"changed"`
	// MostAtOnce is how many requests for it were open at the same time.
	MostAtOnce int `json:"most_at_once"`
	open       int
}

// Stats counts everything since [New].
type Stats struct {
	// Requests are those that arrived, Accepted those answered 2xx, Bytes
	// the sum of their bodies.
	Requests int   `json:"requests"`
	Accepted int   `json:"accepted"`
	Bytes    int64 `json:"bytes"`
	// Statuses counts by what is answered: "200", "429", "reset", "hang", ….
	// Rules counts by the name of the rule; "" is none.
	Statuses map[string]int `json:"statuses"`
	Rules    map[string]int `json:"rules"`
	// LastMinute and LastSecond are the requests in the window that ends
	// now; WorstMinute and WorstSecond the most that any such window held.
	LastMinute  int `json:"last_minute"`
	LastSecond  int `json:"last_second"`
	WorstMinute int `json:"worst_minute"`
	WorstSecond int `json:"worst_second"`
	// Events counts the different event ids, EventsAccepted those of them
	// that were answered 2xx, Repeats the further requests for these that
	// were answered 2xx again. Untracked counts requests with an id beyond
	// KeptEvents.
	Events         int `json:"events"`
	EventsAccepted int `json:"events_accepted"`
	Repeats        int `json:"repeats"`
	Untracked      int `json:"untracked"`
	// Open are the requests being answered now, MostOpen the most at once.
	Open     int `json:"open"`
	MostOpen int `json:"most_open"`
}

// book is everything a server has counted. Callers hold the server's lock.
type book struct {
	stats  Stats
	minute sliding
	second sliding
	// ring has request n at n % KeptRequests.
	ring   []Seen
	events map[string]*Event
	order  []*Event
}

func newBook() book {
	return book{
		stats:  Stats{Statuses: map[string]int{}, Rules: map[string]int{}},
		minute: sliding{per: time.Minute},
		second: sliding{per: time.Second},
		events: map[string]*Event{},
	}
}

// begin counts an arrival. It returns the request's number, and its number
// among those of its event id, 0 where that is not known.
func (b *book) begin(seen Seen) (number, try int) {
	b.stats.Requests++
	b.stats.Bytes += seen.Size
	b.stats.Open++
	b.stats.MostOpen = max(b.stats.MostOpen, b.stats.Open)
	b.minute.add(seen.At)
	b.second.add(seen.At)
	event := b.event(seen)
	if event == nil {
		return b.stats.Requests, 0
	}
	event.Requests++
	event.Last = seen.At
	event.Changed = event.Changed || event.SHA256 != seen.SHA256
	event.open++
	event.MostAtOnce = max(event.MostAtOnce, event.open)
	return b.stats.Requests, event.Requests
}

// event finds or adds what is known of a request's event id.
func (b *book) event(seen Seen) *Event {
	if seen.EventID == "" {
		return nil
	}
	if event, known := b.events[seen.EventID]; known {
		return event
	}
	if len(b.order) == keptEvents {
		b.stats.Untracked++
		return nil
	}
	event := &Event{ID: seen.EventID, First: seen.At, SHA256: seen.SHA256}
	b.events[seen.EventID] = event
	b.order = append(b.order, event)
	return event
}

// planned notes what a request will be answered.
func (b *book) planned(seen Seen) {
	answer := strconv.Itoa(seen.Status)
	if seen.Fault != "" {
		answer = string(seen.Fault)
	}
	b.stats.Statuses[answer]++
	b.stats.Rules[seen.Rule]++
	if len(b.ring) < keptRequests {
		b.ring = append(b.ring, seen)
		return
	}
	b.ring[(seen.Number-1)%keptRequests] = seen
}

// end notes that the answer is over.
func (b *book) end(seen Seen) {
	b.stats.Open--
	if slot := &b.ring[(seen.Number-1)%keptRequests]; slot.Number == seen.Number {
		*slot = seen
	}
	taken := seen.Answered && seen.Status/100 == 2
	if taken {
		b.stats.Accepted++
	}
	event := b.events[seen.EventID]
	if event == nil {
		return
	}
	event.open--
	if !taken {
		return
	}
	event.Accepted++
	if event.Accepted > 1 {
		b.stats.Repeats++
	} else {
		b.stats.EventsAccepted++
	}
}
