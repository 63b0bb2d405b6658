package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"weir/webhook"
)

// gates is the stored form of a webhook.Destination, without what has columns
// of its own (name, epoch, rev). It is JSON, because only its owner ever reads
// it, as a whole. Times are UTC milliseconds, durations nanoseconds.
type gates struct {
	Fingerprint string        `json:"fingerprint,omitempty"`
	Holds       []holdGate    `json:"holds,omitempty"`
	Breaker     breakerGate   `json:"breaker"`
	Retries     windowGate    `json:"retries"`
	Sent        []windowGate  `json:"sent,omitempty"`
	Pace        paceGate      `json:"pace"`
	RampFrom    unixMillis    `json:"ramp_from"`
	Slots       int           `json:"slots,omitempty"`
	Wins        int           `json:"wins,omitempty"`
	Misdirected int           `json:"misdirected,omitempty"`
	Sizes       webhook.Sizes `json:"sizes"`
	LastSentAt  unixMillis    `json:"last_sent_at"`
	LastSuccess unixMillis    `json:"last_success"`
	LastProbed  webhook.ID    `json:"last_probed"`

	Suspicion *suspicionGate `json:"suspicion,omitempty"`
	Doubted   []webhook.ID   `json:"doubted,omitempty"`
	Refusals  *refusalsGate  `json:"refusals,omitempty"`
}

type suspicionGate struct {
	Reason      webhook.HoldReason `json:"reason"`
	Event       webhook.ID         `json:"event"`
	Destination string             `json:"destination,omitempty"`
	Source      string             `json:"source,omitempty"`
	Body        uint64             `json:"body,omitempty"`
	WitnessFrom unixMillis         `json:"witness_from"`
}

type refusalsGate struct {
	Fingerprint string            `json:"fingerprint,omitempty"`
	Events      []webhook.Refused `json:"events,omitempty"`
	Settled     string            `json:"settled,omitempty"`
}

type holdGate struct {
	Reason        webhook.HoldReason `json:"reason"`
	Basis         webhook.Basis      `json:"basis,omitempty"`
	Since         unixMillis         `json:"since"`
	Until         unixMillis         `json:"until"`
	From          string             `json:"from,omitempty"`
	Probes        int                `json:"probes,omitempty"`
	Step          int                `json:"step,omitempty"`
	NeedsOperator bool               `json:"needs_operator,omitempty"`
	Status        int                `json:"status,omitempty"`
	Rule          string             `json:"rule,omitempty"`
	Evidence      webhook.Evidence   `json:"evidence"`
}

type breakerGate struct {
	OpenSince unixMillis       `json:"open_since"`
	Until     unixMillis       `json:"until"`
	Trials    int              `json:"trials,omitempty"`
	Step      int              `json:"step,omitempty"`
	InARow    int              `json:"in_a_row,omitempty"`
	Recent    []tallyGate      `json:"recent,omitempty"`
	Rule      string           `json:"rule,omitempty"`
	Evidence  webhook.Evidence `json:"evidence"`
}

type tallyGate struct {
	At        unixMillis `json:"at"`
	Failures  int        `json:"failures,omitempty"`
	Successes int        `json:"successes,omitempty"`
}

type windowGate struct {
	Rate  webhook.Rate `json:"rate"`
	Marks []markGate   `json:"marks,omitempty"`
}

type markGate struct {
	First unixMillis `json:"first"`
	Last  unixMillis `json:"last"`
	N     int        `json:"n"`
}

type paceGate struct {
	NotBefore    unixMillis    `json:"not_before"`
	Spacing      time.Duration `json:"spacing,omitempty"`
	SpacingUntil unixMillis    `json:"spacing_until"`
}

// unixMillis is a time as a number of UTC milliseconds, null for the zero time.
type unixMillis struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (s unixMillis) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(millis(s.Time))
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *unixMillis) UnmarshalJSON(text []byte) error {
	var ms *int64
	if err := json.Unmarshal(text, &ms); err != nil {
		return err
	}
	s.Time = time.Time{}
	if ms != nil {
		s.Time = timeAt(*ms)
	}
	return nil
}

// encodeGates returns the stored form of a destination's gates.
func encodeGates(d webhook.Destination) (string, error) {
	text, err := json.Marshal(gates{
		Fingerprint: d.Fingerprint,
		Holds:       mapped(d.Holds, toHold),
		Breaker:     toBreaker(d.Breaker),
		Retries:     toWindow(d.Retries),
		Sent:        mapped(d.Sent, toWindow),
		Pace:        paceGate{unixMillis{d.Pace.NotBefore}, d.Pace.Spacing, unixMillis{d.Pace.SpacingUntil}},
		RampFrom:    unixMillis{d.RampFrom},
		Slots:       d.Slots,
		Wins:        d.Wins,
		Misdirected: d.Misdirected,
		Sizes:       d.Sizes,
		LastSentAt:  unixMillis{d.LastSentAt},
		LastSuccess: unixMillis{d.LastSuccess},
		LastProbed:  d.LastProbed,
		Suspicion:   toSuspicion(d.Suspicion),
		Doubted:     d.Doubted,
		Refusals:    toRefusals(d.Refusals),
	})
	if err != nil {
		return "", fmt.Errorf("encoding gates of %s: %w", d.Name, err)
	}
	return string(text), nil
}

// decodeGates fills a destination from the stored form.
func decodeGates(text string, d webhook.Destination) (webhook.Destination, error) {
	var g gates
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		return d, fmt.Errorf("decoding gates of %s: %w", d.Name, err)
	}
	d.Fingerprint = g.Fingerprint
	d.Holds = mapped(g.Holds, fromHold)
	d.Breaker = fromBreaker(g.Breaker)
	d.Retries = fromWindow(g.Retries)
	d.Sent = mapped(g.Sent, fromWindow)
	d.Pace = webhook.Pace{
		NotBefore: g.Pace.NotBefore.Time, Spacing: g.Pace.Spacing, SpacingUntil: g.Pace.SpacingUntil.Time,
	}
	d.RampFrom = g.RampFrom.Time
	d.Slots, d.Wins, d.Misdirected = g.Slots, g.Wins, g.Misdirected
	d.Sizes = g.Sizes
	d.LastSentAt, d.LastSuccess = g.LastSentAt.Time, g.LastSuccess.Time
	d.LastProbed = g.LastProbed
	d.Doubted = g.Doubted
	if s := g.Suspicion; s != nil {
		d.Suspicion = webhook.Suspicion{
			Reason: s.Reason, Event: s.Event, Destination: s.Destination, Source: s.Source,
			Body: s.Body, WitnessFrom: s.WitnessFrom.Time,
		}
	}
	if r := g.Refusals; r != nil {
		d.Refusals = webhook.Refusals(*r)
	}
	return d, nil
}

// toSuspicion returns nil for none.
func toSuspicion(s webhook.Suspicion) *suspicionGate {
	if s.Reason == "" {
		return nil
	}
	return &suspicionGate{
		Reason: s.Reason, Event: s.Event, Destination: s.Destination, Source: s.Source,
		Body: s.Body, WitnessFrom: unixMillis{s.WitnessFrom},
	}
}

// toRefusals returns nil where nothing is counted.
func toRefusals(r webhook.Refusals) *refusalsGate {
	if r.Fingerprint == "" && r.Settled == "" {
		return nil
	}
	gate := refusalsGate(r)
	return &gate
}

// mapped applies f to every element; nil stays nil.
func mapped[A, B any](in []A, f func(A) B) []B {
	if in == nil {
		return nil
	}
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}

func toHold(h webhook.Hold) holdGate {
	return holdGate{
		Reason: h.Reason, Basis: h.Basis, Since: unixMillis{h.Since}, Until: unixMillis{h.Until}, From: h.From,
		Probes: h.Probes, Step: h.Step, NeedsOperator: h.NeedsOperator,
		Status: h.Status, Rule: h.Rule, Evidence: h.Evidence,
	}
}

func fromHold(h holdGate) webhook.Hold {
	return webhook.Hold{
		Reason: h.Reason, Basis: h.Basis, Since: h.Since.Time, Until: h.Until.Time, From: h.From,
		Probes: h.Probes, Step: h.Step, NeedsOperator: h.NeedsOperator,
		Status: h.Status, Rule: h.Rule, Evidence: h.Evidence,
	}
}

func toBreaker(b webhook.Breaker) breakerGate {
	return breakerGate{
		OpenSince: unixMillis{b.OpenSince}, Until: unixMillis{b.Until},
		Trials: b.Trials, Step: b.Step, InARow: b.InARow,
		Recent: mapped(b.Recent, func(t webhook.Tally) tallyGate {
			return tallyGate{unixMillis{t.At}, t.Failures, t.Successes}
		}),
		Rule: b.Rule, Evidence: b.Evidence,
	}
}

func fromBreaker(b breakerGate) webhook.Breaker {
	return webhook.Breaker{
		OpenSince: b.OpenSince.Time, Until: b.Until.Time,
		Trials: b.Trials, Step: b.Step, InARow: b.InARow,
		Recent: mapped(b.Recent, func(t tallyGate) webhook.Tally {
			return webhook.Tally{At: t.At.Time, Failures: t.Failures, Successes: t.Successes}
		}),
		Rule: b.Rule, Evidence: b.Evidence,
	}
}

func toWindow(w webhook.Window) windowGate {
	return windowGate{Rate: w.Rate, Marks: mapped(w.Marks, func(m webhook.Mark) markGate {
		return markGate{unixMillis{m.First}, unixMillis{m.Last}, m.N}
	})}
}

func fromWindow(w windowGate) webhook.Window {
	return webhook.Window{Rate: w.Rate, Marks: mapped(w.Marks, func(m markGate) webhook.Mark {
		return webhook.Mark{First: m.First.Time, Last: m.Last.Time, N: m.N}
	})}
}
