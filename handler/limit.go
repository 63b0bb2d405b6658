package handler

import "weir/webhook"

// Limit names a bound that a request to a receive path has met. The strings
// are metric labels.
type Limit string

// The limits.
const (
	LimitClient   Limit = "refused_rate" // WEIR_REFUSED_RATE, by the client's address
	LimitSource   Limit = "source_rate"  // the source's RATE
	LimitBody     Limit = "max_body"     // MAX_BODY
	LimitInflight Limit = "max_inflight" // WEIR_MAX_INFLIGHT
	LimitDatabase Limit = "max_database" // WEIR_MAX_DATABASE
)

// Limits lists every [Limit].
func Limits() []Limit {
	return []Limit{LimitClient, LimitSource, LimitBody, LimitInflight, LimitDatabase}
}

// The reasons of refusals that are those of a limit.
const (
	reasonFailures = "too many refused requests from this address"
	reasonRate     = "source is over its rate"
	reasonFull     = "store is full"
)

// Limit returns the limit that the request has met, "" for none.
func (o Observation) Limit() Limit {
	switch {
	case o.Result == webhook.ResultTooLarge:
		return LimitBody
	case o.Reason == reasonFailures:
		return LimitClient
	case o.Reason == reasonRate:
		return LimitSource
	case o.Reason == reasonFull:
		return LimitDatabase
	case o.Reason == errNoRoom.Error():
		return LimitInflight
	default:
		return ""
	}
}
