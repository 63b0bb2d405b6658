package flaky

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"weir/webhook"
)

// Script is what a [Server] does. The zero Script answers everything with 200.
type Script struct {
	// About is a line for the reader.
	About string `json:"about,omitempty"`
	// Seed begins the row of chances; two servers with one seed roll alike.
	Seed uint64 `json:"seed,omitempty"`
	// Latency is added before every answer and every fault.
	Latency Duration `json:"latency,omitzero"`
	// Rules are tried in order; the first that applies answers.
	Rules []Rule `json:"rules"`
}

// Rule is a condition and an answer.
type Rule struct {
	// Name is what the counts and the log call the rule.
	Name string `json:"name,omitempty"`
	When When   `json:"when,omitzero"`
	Answer
}

// When says which requests a rule applies to. All members that are set must
// hold; the zero When applies to every request.
type When struct {
	// From and To bound the time since the start, To exclusive and 0 for
	// ever. With Every they count from the start of each such period.
	From  Duration `json:"from,omitzero"`
	To    Duration `json:"to,omitzero"`
	Every Duration `json:"every,omitzero"`
	// First and Last bound the request's number, from 1, Last inclusive and
	// 0 for ever. With Each the numbers begin again after so many requests.
	First int `json:"first,omitempty"`
	Last  int `json:"last,omitempty"`
	Each  int `json:"each,omitempty"`
	// Tries applies to the first so many requests of each event id.
	Tries int `json:"tries,omitempty"`
	// Path is the request's path, exactly.
	Path string `json:"path,omitempty"`
	// LargerThan is a size of the request's body in bytes.
	LargerThan int64 `json:"larger_than,omitempty"`
	// Chance is the share of requests, from 0 (all of them) to 1.
	Chance float64 `json:"chance,omitempty"`
	// Over applies to what exceeds a rate in a sliding window, "60/1m".
	Over Cap `json:"over,omitzero"`
	// Quota applies while an allowance is used up.
	Quota *Quota `json:"quota,omitempty"`
}

// Quota is an allowance that is given anew at fixed times.
type Quota struct {
	// Limit is the allowance, Used what is gone of it at the start, Cost what
	// one request takes, all in the same unit, such as tokens.
	Limit int64 `json:"limit"`
	Used  int64 `json:"used,omitempty"`
	Cost  int64 `json:"cost"`
	// Reset is when it is given anew for the first time, counted from the
	// start, and Every the time from then on: 24 hours where unset.
	Reset Duration `json:"reset"`
	Every Duration `json:"every,omitzero"`
}

// Answer is what a rule does to a request.
type Answer struct {
	// Status is the HTTP status, 200 where unset.
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Body is the answer's text. Echo answers with the request's body
	// instead, up to 64 KiB of it.
	Body string `json:"body,omitempty"`
	Echo bool   `json:"echo,omitempty"`
	// Pad appends so many bytes to the body.
	Pad int64 `json:"pad,omitempty"`
	// Delay is how long nothing is sent. Trickle is the gap after each
	// single byte of the body.
	Delay   Duration `json:"delay,omitzero"`
	Trickle Duration `json:"trickle,omitzero"`
	// Fault breaks the answer.
	Fault Fault `json:"fault,omitempty"`
}

// Fault is a way in which an answer can break.
type Fault string

// The faults.
const (
	// FaultHang answers nothing until the client leaves.
	FaultHang Fault = "hang"
	// FaultReset resets the connection without an answer.
	FaultReset Fault = "reset"
	// FaultClose closes the connection without an answer.
	FaultClose Fault = "close"
	// FaultHalf promises a longer body than it sends, then closes.
	FaultHalf Fault = "half"
	// FaultSlowHeaders sends the head byte by byte with the gap of Trickle,
	// one second where that is unset.
	FaultSlowHeaders Fault = "slow_headers"
)

// Faults lists every [Fault].
func Faults() []Fault {
	return []Fault{FaultHang, FaultReset, FaultClose, FaultHalf, FaultSlowHeaders}
}

// Duration is a time.Duration that JSON writes as "1m30s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(time.Duration(d).String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. Durations need a unit
// and are not negative.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 {
		return fmt.Errorf("duration %q: want a form like 1m30s", text)
	}
	*d = Duration(parsed)
	return nil
}

// Cap is a [webhook.Rate] that JSON writes as "60/1m".
type Cap webhook.Rate

// MarshalText implements encoding.TextMarshaler.
func (c Cap) MarshalText() ([]byte, error) {
	return []byte(webhook.Rate(c).String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler by [webhook.ParseRate].
func (c *Cap) UnmarshalText(text []byte) error {
	rate, err := webhook.ParseRate(string(text))
	if err != nil {
		return fmt.Errorf("rate %q: %w", text, err)
	}
	*c = Cap(rate)
	return nil
}

// Parse reads a script from JSON. Unknown members, values out of bounds and
// anything behind the script are errors that name the rule.
func Parse(text []byte) (Script, error) {
	var script Script
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&script); err != nil {
		return Script{}, fmt.Errorf("reading the script: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Script{}, errors.New("reading the script: something follows it")
	}
	return script, script.check()
}
