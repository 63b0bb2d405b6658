package dashboard

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"weir/webhook"
)

// Config is all that [New] needs. What is missing is shown as missing: without
// Tokens every page is answered 401 with an explanation.
type Config struct {
	// Tokens opens the pages. Nil: no token is configured.
	Tokens Tokens
	// Failures bounds failed logins like every other refused request.
	Failures Failures
	// Origin is the origin under which browsers see the pages
	// ("https://hooks.example.com") where a proxy changes the Host field;
	// empty otherwise.
	Origin string

	Events       Events
	Bodies       Bodies
	Deliveries   Deliveries
	Queues       Queues
	Destinations Destinations
	Operator     Operator
	// Wake tells the owners of destinations that something new is due.
	Wake func(destinations ...string)

	// Downstreams are shown in this order; Sources are the names that the
	// filters offer.
	Downstreams []Downstream
	Sources     []string
	// Signatures names by source the header that it is signed by, where the
	// name does not tell that by itself. Its values are not shown.
	Signatures map[string]string

	// Waiting says what a pending delivery waits for and when it may go; the
	// zero time when only a person can release it.
	Waiting func(webhook.Status, webhook.Delivery, time.Time) (webhook.WaitingFor, time.Time)
	// Minutes returns the traffic of the last n minutes, oldest first.
	Minutes func(now time.Time, n int) []webhook.Minute
	// Since is when the counting of Minutes began; zero where it is not known.
	Since time.Time
	// Stuck names the destinations whose dispatch loops do not turn.
	Stuck func(now time.Time) []string
	// StallAfter is the age of the oldest due delivery from which on
	// something is wrong, 10 min by default.
	StallAfter time.Duration

	// Version is shown at the foot of every page.
	Version string
	// Log takes the faults of pages that could not be made.
	Log *slog.Logger
}

// Tokens knows the operators' tokens.
type Tokens interface {
	// Valid takes a time that does not depend on how much of a wrong token
	// is right.
	Valid(token string) bool
}

// Failures bounds the refused requests of a client, which it knows from the
// context.
type Failures interface {
	// Over returns nil, or the header fields of a 429 when the client is to
	// be refused without being read.
	Over(context.Context) http.Header
	// Refused counts an answer 401 or 404.
	Refused(context.Context)
}

// Events reads events with their deliveries. Errors are webhook.ErrNotFound,
// webhook.ErrCursor or faults.
type Events interface {
	Event(context.Context, webhook.ID) (webhook.EventDetail, error)
	Events(context.Context, webhook.EventQuery) (webhook.EventPage, error)
}

// Bodies reads the raw bytes of an event.
type Bodies interface {
	Body(context.Context, webhook.ID) ([]byte, error)
}

// Deliveries lists deliveries, newest first.
type Deliveries interface {
	Deliveries(context.Context, webhook.DeliveryQuery) (webhook.DeliveryPage, error)
}

// Queues counts what waits for a destination.
type Queues interface {
	Queue(ctx context.Context, destination string, now time.Time) (webhook.Queue, error)
}

// Destinations shows and changes the gates of destinations. An unknown name is
// webhook.ErrNotFound.
type Destinations interface {
	Status(name string, now time.Time) (webhook.Status, error)
	Pause(ctx context.Context, name string) error
	// Resume ends the pause and every other hold.
	Resume(ctx context.Context, name string) error
}

// Operator changes single deliveries. Errors are webhook.ErrNotFound,
// webhook.ErrState or faults.
type Operator interface {
	Redeliver(context.Context, webhook.Redelivery) error
	Cancel(ctx context.Context, event webhook.ID, destination string, now time.Time) error
}

// Downstream is a destination's name and its URL without credentials.
type Downstream struct {
	Name string
	URL  string
}

// withDefaults fills what was left out.
func (c Config) withDefaults() Config {
	if c.Failures == nil {
		c.Failures = unlimited{}
	}
	if c.Wake == nil {
		c.Wake = func(...string) {}
	}
	if c.Minutes == nil {
		c.Minutes = func(time.Time, int) []webhook.Minute { return nil }
	}
	if c.Stuck == nil {
		c.Stuck = func(time.Time) []string { return nil }
	}
	if c.Waiting == nil {
		c.Waiting = func(s webhook.Status, d webhook.Delivery, _ time.Time) (webhook.WaitingFor, time.Time) {
			return s.Gate.WaitingFor, webhook.Later(s.Gate.Until, d.NextAttemptAt)
		}
	}
	if c.StallAfter <= 0 {
		c.StallAfter = 10 * time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return c
}

// unlimited is the absence of a bound.
type unlimited struct{}

func (unlimited) Over(context.Context) http.Header { return nil }
func (unlimited) Refused(context.Context)          {}
