package webhook

import (
	"encoding/hex"
	"errors"
)

// ID names an event: a UUIDv7 (RFC 9562 section 5.7), so that ids sort by the
// time of receipt. The zero ID names nothing.
type ID [16]byte

// ErrBadID says that a text is not a UUID in its 36-character form.
var ErrBadID = errors.New("not an event id")

// hyphens are the places of the four hyphens in the text form of a UUID.
var hyphens = [...]int{8, 13, 18, 23}

// String returns the 36-character form in lower case.
func (id ID) String() string {
	text, _ := id.MarshalText()
	return string(text)
}

// IsZero reports whether id names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText implements encoding.TextMarshaler with the 36-character form.
func (id ID) MarshalText() ([]byte, error) {
	var digits [32]byte
	hex.Encode(digits[:], id[:])
	text := make([]byte, 0, 36)
	from := 0
	for i, hyphen := range hyphens {
		to := hyphen - i
		text = append(text, digits[from:to]...)
		text = append(text, '-')
		from = to
	}
	return append(text, digits[from:]...), nil
}

// UnmarshalText implements encoding.TextUnmarshaler for the 36-character form
// in either case. Any other text is [ErrBadID].
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) != 36 {
		return ErrBadID
	}
	digits := make([]byte, 0, 32)
	from := 0
	for _, hyphen := range hyphens {
		if text[hyphen] != '-' {
			return ErrBadID
		}
		digits = append(digits, text[from:hyphen]...)
		from = hyphen + 1
	}
	digits = append(digits, text[from:]...)
	var parsed ID
	if _, err := hex.Decode(parsed[:], digits); err != nil {
		return ErrBadID
	}
	*id = parsed
	return nil
}

// ParseID reads the 36-character form of an id.
func ParseID(text string) (ID, error) {
	var id ID
	err := id.UnmarshalText([]byte(text))
	return id, err
}
