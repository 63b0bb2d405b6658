package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"weir/webhook"
)

// Sender sends one request and reads its answer. It returns when the answer is
// read, when its own timeout has passed, or when ctx ends: then the answer is
// marked as cut. It never panics on purpose, and a panic is survived.
type Sender interface {
	Send(ctx context.Context, job webhook.Job) webhook.Answer
}

// Queue lists what is to be sent. See package store for what it guarantees.
type Queue interface {
	Due(ctx context.Context, query webhook.DueQuery) (webhook.DueList, error)
	Load(ctx context.Context, event webhook.ID, destination string) (webhook.Event, webhook.Delivery, error)
	Expire(ctx context.Context, query webhook.ExpireQuery) (webhook.Expired, error)
	Advance(ctx context.Context, query webhook.AdvanceQuery) (int, error)
}

// Ledger keeps what happened. See package store for what it guarantees.
type Ledger interface {
	Own(ctx context.Context, name string) (webhook.Destination, error)
	Save(ctx context.Context, destination webhook.Destination) error
	Record(ctx context.Context, record webhook.Record) error
}

// Config is what a Dispatcher needs.
type Config struct {
	Queue  Queue
	Ledger Ledger
	// Routes are the destinations. At least one.
	Routes []Route
	// Start says how the process before this one ended: only after a clean
	// stop every request that it sent has been counted.
	Start Start
	// InFlightLog notes the attempts that are out; nil keeps no log.
	InFlightLog InFlightLog
	// MaxBytes bounds the bodies that are in flight at once, in all
	// destinations together. A single larger body still goes, alone.
	MaxBytes int64
	// Chance spreads waits; it is called by several goroutines at once.
	Chance Chance
	Log    *slog.Logger
	// Observe is called after each recorded step, by several goroutines at
	// once. It must not block.
	Observe func(Observation)
}

// lostAttempts counts the attempts that were out at a crash and may have gone to
// a destination: its own, and those of the destinations that fall back on it. It
// reports false where the in-flight log cannot tell.
func (c Config) lostAttempts(destination string) (lost int, known bool) {
	known = true
	for _, route := range c.Routes {
		if route.Policy.Name == destination || route.Policy.Fallback == destination {
			attempts, all := c.InFlightLog.Left(route.Policy.Name)
			lost += attempts
			known = known && all
		}
	}
	return lost, known
}

// Start says how the process before this one ended.
type Start int

const (
	// AfterCrash is the safe assumption: requests may be uncounted.
	AfterCrash Start = iota
	// AfterStop is a clean stop, or the first start of all.
	AfterStop
)

// Route is a destination with the sender that reaches it.
type Route struct {
	Policy webhook.Policy
	Sender Sender
}

// Observation tells what a recorded step did.
type Observation struct {
	Record webhook.Record
	// Cut reports that weir itself ended the request, because it stops.
	Cut bool
	// Before is the state of the gates before the answer: a hold that began
	// or ended is the difference to Record.Gates.
	Before webhook.Destination
	// ReceivedAt is when the event came in.
	ReceivedAt time.Time
}

// Dispatcher serves all destinations, each by an owner of its own.
type Dispatcher struct {
	owners []*owner
	byName map[string]*owner
}

// New takes all destinations over and returns the dispatcher that will serve
// them once Run is called.
func New(ctx context.Context, c Config) (*Dispatcher, error) {
	d := &Dispatcher{byName: map[string]*owner{}}
	if c.InFlightLog == nil {
		c.InFlightLog = noLog{}
	}
	bytes := &byteBudget{limit: c.MaxBytes}
	for _, route := range c.Routes {
		o, err := newOwner(ctx, c, route)
		if err != nil {
			return nil, fmt.Errorf("take over destination %s: %w", route.Policy.Name, err)
		}
		o.bytes = bytes
		d.owners = append(d.owners, o)
		d.byName[route.Policy.Name] = o
	}
	for _, o := range d.owners {
		if fallback, ok := d.byName[o.policy.Fallback]; ok {
			fallback.backlogs = append(fallback.backlogs, newBacklog(o))
			o.fallback = fallback
		}
	}
	return d, nil
}

// Run serves until ctx ends; then nothing more is sent, and it waits for the
// requests that are out and their records. When hard ends, it cuts those that
// are still out: they are recorded as cut, spend nothing, and their deliveries
// stay due. It returns nil after a stop, or the error of an owner that could
// not go on.
func (d *Dispatcher) Run(ctx, hard context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(d.owners))
	var loops sync.WaitGroup
	for i, o := range d.owners {
		loops.Go(func() {
			if errs[i] = o.run(ctx, hard); errs[i] != nil {
				stop()
			}
		})
	}
	loops.Wait()
	return errors.Join(errs...)
}

// Wake tells the owners of the named destinations that something may be due.
// It never blocks; for names that do not exist it does nothing.
func (d *Dispatcher) Wake(names ...string) {
	for _, name := range names {
		if o, ok := d.byName[name]; ok {
			o.wakeUp()
		}
	}
}

// Status returns a destination as it applies at now.
func (d *Dispatcher) Status(name string, now time.Time) (webhook.Status, error) {
	o, ok := d.byName[name]
	if !ok {
		return webhook.Status{}, webhook.ErrNotFound
	}
	return o.status(now), nil
}

// Names returns the destinations in the order of the configuration.
func (d *Dispatcher) Names() []string {
	names := make([]string, 0, len(d.owners))
	for _, o := range d.owners {
		names = append(names, o.policy.Name)
	}
	return names
}

// Pause holds a destination until Resume. What is in flight ends by itself.
func (d *Dispatcher) Pause(ctx context.Context, name string) error {
	now := time.Now()
	return d.change(ctx, name, func(dest webhook.Destination) webhook.Destination {
		if _, paused := dest.Hold(webhook.HoldPaused); paused {
			return dest
		}
		return dest.WithHold(webhook.Hold{Reason: webhook.HoldPaused, Since: webhook.Ceil(now), NeedsOperator: true, From: "operator"})
	})
}

// Resume clears every hold of a destination, its breaker, and the pace that its
// headers have set: a header that is wrong must not stop it for days. What waits
// in backoff is due. Windows stay: they bound requests whatever the operator
// wishes.
func (d *Dispatcher) Resume(ctx context.Context, name string) error {
	now := time.Now()
	err := d.change(ctx, name, func(dest webhook.Destination) webhook.Destination {
		dest.Holds, dest.Breaker, dest.Misdirected = nil, webhook.Breaker{}, 0
		dest.Suspicion, dest.Doubted, dest.Refusals = webhook.Suspicion{}, nil, webhook.Refusals{}
		dest.Pace, dest.RampFrom = webhook.Pace{}, webhook.Ceil(now)
		return dest
	})
	if err == nil {
		d.byName[name].release(ask{backoffs: true, firsts: true})
	}
	return err
}

// change applies an operator's change and commits it before it returns.
func (d *Dispatcher) change(ctx context.Context, name string, to func(webhook.Destination) webhook.Destination) error {
	o, ok := d.byName[name]
	if !ok {
		return webhook.ErrNotFound
	}
	if err := o.ledger.Save(ctx, o.update(to)); err != nil {
		return fmt.Errorf("save destination %s: %w", name, err)
	}
	o.wakeUp()
	return nil
}

// stuckAfter is how long a loop may take for one turn. It turns at least every
// longestSleep, so that this tells a dead loop from an idle one.
const stuckAfter = 45 * time.Second

// Stuck names the destinations whose loops have not turned for 45 s: blocked
// or gone.
func (d *Dispatcher) Stuck() []string {
	var names []string
	for _, o := range d.owners {
		if o.stuck() {
			names = append(names, o.policy.Name)
		}
	}
	return names
}
