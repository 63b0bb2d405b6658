package outbound

import (
	"math"
	"math/bits"
	"time"

	"weir/webhook"
)

// decimal is an exact, unsigned number as it stands in a header or a text:
// digits, then perhaps a point and more digits. Signs, exponents, hexadecimal
// and underscores are not part of the grammar.
type decimal struct {
	// whole saturates at math.MaxUint64.
	whole uint64
	// The fraction is part/scale; more says that non-zero digits beyond it
	// were left out.
	part  uint64
	scale uint64
	more  bool
}

// maxScale keeps the arithmetic of a fraction within 64 bits.
const maxScale = 1_000_000_000_000_000_000

// leadingDecimal reads the number at the start of text and returns what
// follows it.
func leadingDecimal(text string) (number decimal, rest string, ok bool) {
	i := 0
	number.scale = 1
	for i < len(text) && isDigit(text[i]) {
		number.whole = appendDigit(number.whole, text[i])
		i++
	}
	if i == 0 {
		return decimal{}, text, false
	}
	if i+1 < len(text) && text[i] == '.' && isDigit(text[i+1]) {
		for i++; i < len(text) && isDigit(text[i]); i++ {
			number = number.withFractionDigit(text[i])
		}
	}
	return number, text[i:], true
}

// wholeDecimal reads a text that is one number and nothing else.
func wholeDecimal(text string) (decimal, bool) {
	number, rest, ok := leadingDecimal(text)
	return number, ok && rest == ""
}

func (d decimal) withFractionDigit(digit byte) decimal {
	if d.scale < maxScale {
		d.part, d.scale = d.part*10+uint64(digit-'0'), d.scale*10
	} else if digit != '0' {
		d.more = true
	}
	return d
}

// appendDigit multiplies by ten and adds, saturating.
func appendDigit(number uint64, digit byte) uint64 {
	const last = math.MaxUint64/10 - 1
	if number > last {
		return math.MaxUint64
	}
	return number*10 + uint64(digit-'0')
}

// times returns so many units, rounded up to the nanosecond and at most
// [webhook.MaxHint].
func (d decimal) times(unit time.Duration) time.Duration {
	if d.whole > uint64(webhook.MaxHint/unit) {
		return webhook.MaxHint
	}
	return min(time.Duration(d.whole)*unit+d.fractionOf(unit), webhook.MaxHint)
}

// fractionOf returns the part behind the point in units, rounded up to the
// nanosecond.
func (d decimal) fractionOf(unit time.Duration) time.Duration {
	high, low := bits.Mul64(uint64(unit), d.part)
	quotient, remainder := bits.Div64(high, low, d.scale)
	if remainder > 0 || d.more {
		quotient++
	}
	return time.Duration(quotient)
}

// ceilWait rounds a wait up to the millisecond and keeps it within
// [0, webhook.MaxHint]: a wait is never shorter than what was asked.
func ceilWait(wait time.Duration) time.Duration {
	switch {
	case wait <= 0:
		return 0
	case wait >= webhook.MaxHint:
		return webhook.MaxHint
	}
	if rest := wait % time.Millisecond; rest > 0 {
		wait += time.Millisecond - rest
	}
	return wait
}

// isDigit reports whether c is an ASCII digit; the digits of other scripts
// are not numbers in HTTP.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isLower reports whether c is a lower-case ASCII letter.
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
