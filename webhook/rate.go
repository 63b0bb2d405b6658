package webhook

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is a number of requests in a sliding window: 60 in one minute. The
// zero Rate is no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// The bounds of a [Rate] that [ParseRate] accepts.
const (
	MaxRateN   = 1_000_000_000
	MaxRatePer = 31 * 24 * time.Hour
)

// String returns the form that [ParseRate] reads, "60/1m0s".
func (r Rate) String() string { return fmt.Sprintf("%d/%s", r.N, r.Per) }

// ParseRate reads one rate such as "60/1m": a whole number of at least 1, a
// slash and a duration with a unit, from 1ms to 31 days.
func ParseRate(text string) (Rate, error) {
	count, per, found := strings.Cut(strings.TrimSpace(text), "/")
	if !found {
		return Rate{}, errors.New("must have a form like 60/1m")
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 || n > MaxRateN {
		return Rate{}, fmt.Errorf("must have a whole number from 1 to %d before the slash", MaxRateN)
	}
	window, err := time.ParseDuration(per)
	if err != nil {
		return Rate{}, errors.New("must have a duration with a unit after the slash")
	}
	if window < time.Millisecond || window > MaxRatePer {
		return Rate{}, fmt.Errorf("must have a window from 1ms to %s", MaxRatePer)
	}
	return Rate{N: int(n), Per: window}, nil
}

// ParseRates reads a list of rates, all of which must hold: "60/1m,5000/24h".
func ParseRates(text string) ([]Rate, error) {
	var rates []Rate
	for part := range strings.SplitSeq(text, ",") {
		rate, err := ParseRate(part)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	return rates, nil
}
