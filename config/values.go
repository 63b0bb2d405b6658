package config

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	"weir/webhook"
)

// The types of single values. Each reads itself (Decode, for envconfig), names
// its form for the help (kind), and shows itself without secrets (String). The
// errors of Decode say what is wanted and never repeat the value, which may be
// a secret that was pasted into the wrong variable.

// text is any text.
type text string

func (t *text) Decode(value string) error { *t = text(value); return nil }
func (text) kind() string                 { return "text" }
func (t text) String() string             { return string(t) }

// secret is a text that is never shown.
type secret string

func (s *secret) Decode(value string) error { *s = secret(value); return nil }
func (secret) kind() string                 { return "secret" }

// String says that the secret is there, and how long it is.
func (s secret) String() string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf("set (%d characters)", len([]rune(string(s))))
}

// GoString keeps the secret out of %#v.
func (s secret) GoString() string { return strconv.Quote(s.String()) }

// LogValue keeps the secret out of logs.
func (s secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// choice is a word of a closed set, in lower case.
type choice string

func (c *choice) Decode(value string) error { *c = choice(strings.ToLower(value)); return nil }
func (choice) kind() string                 { return "word" }
func (c choice) String() string             { return string(c) }

// count is a whole number in decimal digits.
type count int

// Decode refuses what envconfig would take for octal or hexadecimal.
func (c *count) Decode(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return errors.New("must be a whole number")
	}
	*c = count(n)
	return nil
}

func (count) kind() string     { return "number" }
func (c count) String() string { return strconv.Itoa(int(c)) }

// Duration is a time span in the notation of [time.ParseDuration], with a unit
// in every case and never negative.
type Duration time.Duration

var (
	bareNumber = regexp.MustCompile(`^[+-]?[0-9.]+$`)
	inDays     = regexp.MustCompile(`[0-9][dw]`)
)

// Decode refuses a bare number, "0" too: nobody can know its unit.
func (d *Duration) Decode(value string) error {
	parsed, err := time.ParseDuration(value)
	switch {
	case bareNumber.MatchString(value):
		return errors.New("must have a unit, such as 30s, 15m or 72h")
	case err != nil && inDays.MatchString(value):
		return errors.New("must be in hours, minutes or seconds: write a day as 24h, a week as 168h")
	case err != nil:
		return errors.New("must be a duration with a unit, such as 30s, 15m or 72h")
	case parsed < 0:
		return errors.New("must not be negative")
	}
	*d = Duration(parsed)
	return nil
}

func (Duration) kind() string { return "duration" }

// String leaves out the zero minutes and seconds of [time.Duration.String].
func (d Duration) String() string { return ShortSpan(time.Duration(d)) }

// ShortSpan writes "72h" where the standard library writes "72h0m0s".
func ShortSpan(d time.Duration) string {
	written := d.String()
	if strings.HasSuffix(written, "m0s") {
		written = strings.TrimSuffix(written, "0s")
	}
	if strings.HasSuffix(written, "h0m") {
		written = strings.TrimSuffix(written, "0m")
	}
	return written
}

// ByteSize is a number of bytes: "64KiB", "1MiB", or a plain number of bytes.
type ByteSize int64

// sizeUnits are the units of a byteSize, largest first.
var sizeUnits = [...]struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

var sizeForm = regexp.MustCompile(`^([0-9]+) ?([A-Za-z]*)$`)

// maxSize bounds every size: 64 TiB.
const maxSize = 64 << 40

// Decode refuses kB and MB, which some mean as 1000 and others as 1024.
func (s *ByteSize) Decode(value string) error {
	parts := sizeForm.FindStringSubmatch(value)
	if parts == nil {
		return errors.New("must be a size such as 64KiB or 1MiB")
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return errors.New("is more than 64TiB")
	}
	for _, unit := range sizeUnits {
		if !strings.EqualFold(parts[2], unit.name) && (parts[2] != "" || unit.bytes != 1) {
			continue
		}
		if n > maxSize/unit.bytes {
			return errors.New("is more than 64TiB")
		}
		*s = ByteSize(n * unit.bytes)
		return nil
	}
	return errors.New("must have the unit KiB, MiB or GiB (steps of 1024), or none for bytes")
}

func (ByteSize) kind() string { return "size" }

// String uses the largest unit that divides the size.
func (s ByteSize) String() string {
	for _, unit := range sizeUnits {
		if s != 0 && int64(s)%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", int64(s)/unit.bytes, unit.name)
		}
	}
	return "0B"
}

// Rate is one [webhook.Rate].
type Rate webhook.Rate

// Decode reads a rate such as 100/1m.
func (r *Rate) Decode(value string) error {
	parsed, err := webhook.ParseRate(value)
	*r = Rate(parsed)
	return err
}

func (Rate) kind() string { return "rate" }

// String writes the rate as it is set.
func (r Rate) String() string {
	if r.N == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%s", r.N, ShortSpan(r.Per))
}

// Rates is a list of rates, all of which must hold.
type Rates []webhook.Rate

// Decode reads a list of rates such as 60/1m,5000/24h.
func (r *Rates) Decode(value string) error {
	parsed, err := webhook.ParseRates(value)
	*r = parsed
	return err
}

func (Rates) kind() string { return "rates" }

// String writes the list as it is set.
func (r Rates) String() string {
	written := make([]string, 0, len(r))
	for _, one := range r {
		written = append(written, Rate(one).String())
	}
	return strings.Join(written, ",")
}

// keyPlace says where a sender's own id of the event is.
type keyPlace string

var pathForm = regexp.MustCompile(`^[^.\s]+(\.[^.\s]+)*$`)

func (k *keyPlace) Decode(value string) error {
	place, name, _ := strings.Cut(value, ":")
	switch {
	case value == "body" || value == "none":
	case place == "header" && tokenForm.MatchString(name):
	case place == "json" && len(name) <= 200 && pathForm.MatchString(name):
	default:
		return errors.New("must be header:NAME, json:path.to.id, body or none")
	}
	*k = keyPlace(value)
	return nil
}

func (keyPlace) kind() string     { return "place" }
func (k keyPlace) String() string { return string(k) }

// typePlace says where the type of the event is.
type typePlace string

func (p *typePlace) Decode(value string) error {
	var place keyPlace
	if err := place.Decode(value); err != nil || value == "body" {
		return errors.New("must be header:NAME, json:path.to.type or none")
	}
	*p = typePlace(value)
	return nil
}

func (typePlace) kind() string     { return "place" }
func (p typePlace) String() string { return string(p) }

// tokenPlace says where a token is sent.
type tokenPlace string

func (t *tokenPlace) Decode(value string) error {
	place, name, _ := strings.Cut(value, ":")
	switch {
	case value == "bearer":
	case (place == "header" || place == "query") && tokenForm.MatchString(name):
	default:
		return errors.New("must be bearer, header:NAME or query:NAME")
	}
	*t = tokenPlace(value)
	return nil
}

func (tokenPlace) kind() string     { return "place" }
func (t tokenPlace) String() string { return string(t) }

// hmacTemplate says what is signed.
type hmacTemplate string

var templatePart = regexp.MustCompile(`\{(timestamp|id|method|url|body)\}`)

// Decode wants {body} in it: a signature that leaves it out proves nothing
// about it.
func (t *hmacTemplate) Decode(value string) error {
	rest := templatePart.ReplaceAllString(value, "")
	if strings.ContainsAny(rest, "{}") {
		return errors.New("must have no other braces than those of {timestamp}, {id}, {method}, {url} and {body}")
	}
	if !strings.Contains(value, "{body}") {
		return errors.New("must contain {body}: a signature proves nothing about what it leaves out")
	}
	*t = hmacTemplate(value)
	return nil
}

func (hmacTemplate) kind() string     { return "template" }
func (t hmacTemplate) String() string { return string(t) }

// has reports whether a part stands in the template.
func (t hmacTemplate) has(part string) bool { return strings.Contains(string(t), "{"+part+"}") }
