package handler

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"weir/signature"
	"weir/webhook"
)

// Config is all that [New] needs. The zero value of every field is usable:
// limits default to those named here, and a missing part answers 503 or is
// left out.
type Config struct {
	// Sources by name.
	Sources map[string]Source
	// Intake stores what was received.
	Intake Intake
	// Wake tells the owners of destinations that something new is due.
	Wake func(destinations ...string)

	// ClientAddress is the middleware that finds the client's address, and
	// Client reads what it found.
	ClientAddress func(http.Handler) http.Handler
	Client        func(context.Context) netip.Addr
	Failures      Failures
	Allowance     Allowance
	// Room returns the memory that the body of a request may take.
	Room func(context.Context) Room

	// BodyTimeout is how long one body may take, 30 s by default.
	BodyTimeout time.Duration
	// AcceptTimeout is how long storing may take, 10 s by default.
	AcceptTimeout time.Duration

	// Tokens open the operator API and the metrics.
	Tokens Tokens
	// Events, Bodies, Deliveries, Queues and History read for the operator.
	Events     Events
	Bodies     Bodies
	Deliveries Deliveries
	Queues     Queues
	History    History
	// Operator changes deliveries.
	Operator Operator
	// Destinations shows and changes destinations; Downstreams lists them in
	// the order in which they are shown.
	Destinations Destinations
	Downstreams  []Downstream
	// Former names destinations that are not configured any more, and that
	// deliveries may still wait for.
	Former []string
	// Waiting says what a pending delivery waits for and the earliest time of
	// its next attempt, zero when only a person can release it. Nil looks at
	// the destination's gate alone.
	Waiting func(webhook.Status, webhook.Delivery, time.Time) (webhook.WaitingFor, time.Time)
	// Stats counts for /v1/stats and /v1/sources. Whoever sends must report
	// to [Stats.Attempted].
	Stats *Stats
	// Refusals keeps the last refused requests for /v1/refusals.
	Refusals *Refusals

	// Ready returns nil while events can be accepted. Flow returns the
	// reasons why work is not flowing.
	Ready func(context.Context) error
	Flow  func(context.Context) []string

	// Observe is called for every request to a receive path.
	Observe func(Observation)
	// Metrics is served at /metrics behind the token; Dashboard gets every
	// request that no route here takes.
	Metrics   http.Handler
	Dashboard http.Handler
	// Log takes one line for each event and refusal. Refusals are sampled in
	// a flood.
	Log *slog.Logger
}

// Source is a configured sender.
type Source struct {
	// Scheme is shown to the operator.
	Scheme string
	// Verifier judges its requests.
	Verifier Verifier
	// MaxBody in bytes, 1 MiB by default.
	MaxBody int64
	// Status of an accepted event or a duplicate, 200 by default.
	Status int
	// To names the destinations; OnConflict is as in [webhook.Arrival].
	To         []string
	OnConflict webhook.OnConflict
	// AllowFrom are the only networks that may send, when there are any.
	AllowFrom []netip.Prefix
	// Forward returns the header fields that will be forwarded, which are
	// the only ones that are stored. It must not return the map it is given.
	// Nil stores none.
	Forward func(http.Header) http.Header
	// Trust says whether an accepted event proves anything about its sender.
	Trust Trust
	// Options says what an OPTIONS request is answered.
	Options Options
}

// Trust says what an accepted event proves.
type Trust int

const (
	// Signed events prove that the sender knows a secret.
	Signed Trust = iota
	// Unsigned events prove nothing: source scheme none.
	Unsigned
)

// Options says how a source treats the method OPTIONS.
type Options int

const (
	// OptionsRefused answers 405.
	OptionsRefused Options = iota
	// OptionsHandshake asks the Verifier: the abuse protection of CloudEvents
	// webhooks.
	OptionsHandshake
)

// Intake stores events.
type Intake interface {
	// Accept commits an arrival before it returns. An error means that the
	// sender must be told to try again.
	Accept(context.Context, webhook.Arrival) (webhook.Receipt, error)
}

// Verifier judges requests of one source. It does no I/O. A
// [signature.Verifier] is one.
type Verifier interface {
	// Verify judges a POST with its whole body.
	Verify(request signature.Request, now time.Time) signature.Verdict
	// Handshake judges GET, HEAD and OPTIONS; false means that there is
	// nothing to answer.
	Handshake(request signature.Request) (signature.Verdict, bool)
}

// Failures bounds the refused requests of a client, which it knows from the
// context that Config.ClientAddress has made.
type Failures interface {
	// Over returns nil, or the header fields of a 429 when the client has made
	// too many refused requests.
	Over(context.Context) http.Header
	// Known reports whether the client sent a verified event lately: then its
	// receive paths have no such limit.
	Known(context.Context) bool
	// MayVerify reports whether a client over the limit is still read, because
	// a real sender may be behind its address: what fails is answered 429.
	MayVerify(context.Context) bool
	// Refused counts an answer 400, 401 or 404.
	Refused(context.Context)
	// Verified remembers that the client has sent a verified event.
	Verified(context.Context)
}

// Allowance bounds what a verified source may bring in.
type Allowance interface {
	// Take takes a place for a new event and one for a repeat. Each refusal
	// is nil or the header fields of a 429. Settle gives back what was not
	// used up and must be called once.
	Take(ctx context.Context, source string) (settle func(webhook.Result), fresh, repeat http.Header)
}

// Room is the memory that one body may take.
type Room interface {
	// Acquire reserves n more bytes, or reports false when there is no room.
	Acquire(n int64) bool
	// Release gives everything back.
	Release()
}

// Events reads events with their deliveries. Errors are webhook.ErrNotFound,
// webhook.ErrCursor or faults.
type Events interface {
	Event(context.Context, webhook.ID) (webhook.EventDetail, error)
	EventByKey(ctx context.Context, source, key string) (webhook.EventDetail, error)
	Events(context.Context, webhook.EventQuery) (webhook.EventPage, error)
}

// Bodies reads the raw bytes of an event.
type Bodies interface {
	Body(context.Context, webhook.ID) ([]byte, error)
}

// Deliveries lists deliveries.
type Deliveries interface {
	Deliveries(context.Context, webhook.DeliveryQuery) (webhook.DeliveryPage, error)
}

// Queues counts what waits for a destination.
type Queues interface {
	Queue(ctx context.Context, destination string, now time.Time) (webhook.Queue, error)
}

// History knows when each source was last accepted from.
type History interface {
	LastAccepted(ctx context.Context, sources []string) (map[string]time.Time, error)
}

// Operator changes single deliveries. Errors are webhook.ErrNotFound,
// webhook.ErrState or faults.
type Operator interface {
	Redeliver(context.Context, webhook.Redelivery) error
	Cancel(ctx context.Context, event webhook.ID, destination string, now time.Time) error
}

// Destinations shows and changes the gates of destinations. An unknown name is
// webhook.ErrNotFound.
type Destinations interface {
	Status(name string, now time.Time) (webhook.Status, error)
	Pause(ctx context.Context, name string) error
	// Resume ends the pause and every other hold.
	Resume(ctx context.Context, name string) error
}

// Downstream is a destination's name and its URL without credentials.
type Downstream struct {
	Name string
	URL  string
}

// Observation is what became of one request to a receive path.
type Observation struct {
	// Source is a configured name, or [UnknownSource].
	Source string
	Result webhook.Result
	Reason string
	// Secret is the position of the secret that matched, -1 when none did.
	Secret int
	// Event is the id of what was stored or repeated.
	Event webhook.ID
	// Bytes of the body that were read.
	Bytes    int64
	At       time.Time
	Duration time.Duration
	// Alert is a sentence for a person, where the event itself needs one: see
	// [signature.Verdict]. Empty for all others.
	Alert string
}

// UnknownSource stands for every source that is not configured.
const UnknownSource = "unknown"

// withDefaults fills what was left out.
func (c Config) withDefaults() Config {
	if c.BodyTimeout <= 0 {
		c.BodyTimeout = 30 * time.Second
	}
	if c.AcceptTimeout <= 0 {
		c.AcceptTimeout = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if c.Refusals == nil {
		c.Refusals = new(Refusals)
	}
	if c.Stats == nil {
		c.Stats = NewStats()
	}
	if c.Wake == nil {
		c.Wake = func(...string) {}
	}
	if c.Observe == nil {
		c.Observe = func(Observation) {}
	}
	if c.Client == nil {
		c.Client = func(context.Context) netip.Addr { return netip.Addr{} }
	}
	if c.Failures == nil {
		c.Failures = unlimited{}
	}
	if c.Allowance == nil {
		c.Allowance = unlimited{}
	}
	if c.Room == nil {
		c.Room = func(context.Context) Room { return unlimited{} }
	}
	return c
}

// unlimited is the absence of every bound.
type unlimited struct{}

func (unlimited) Over(context.Context) http.Header { return nil }
func (unlimited) Refused(context.Context)          {}
func (unlimited) Verified(context.Context)         {}
func (unlimited) Acquire(int64) bool               { return true }
func (unlimited) Release()                         {}
func (unlimited) Known(context.Context) bool       { return false }
func (unlimited) MayVerify(context.Context) bool   { return false }

func (unlimited) Take(context.Context, string) (settle func(webhook.Result), fresh, repeat http.Header) {
	return func(webhook.Result) {}, nil, nil
}
