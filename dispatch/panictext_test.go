package dispatch

import (
	"errors"
	"strings"
	"testing"
)

func TestAPanicIsToldWithoutWhatItQuotes(t *testing.T) {
	const body = `{"card":"4111"}`
	for _, value := range []any{body, errors.New(body), []byte(body), 7} {
		if got := panicText(value); strings.Contains(got, "4111") || got == "" {
			t.Errorf("%T is told as %q", value, got)
		}
	}
	defer func() {
		if got := panicText(recover()); !strings.Contains(got, "index out of range") {
			t.Errorf("a fault of the runtime is told as %q", got)
		}
	}()
	var none []int
	_ = none[len(body)]
}
