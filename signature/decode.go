package signature

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"weir/webhook"
)

var (
	errEncoding = errors.New("content encoding is not supported")
	errTooLarge = errors.New("inflated body is too large")
	errInflate  = errors.New("body cannot be inflated")
	// errNoRoom is what a body is refused with that has no room, compressed or not.
	errNoRoom = errors.New("too many bodies at once")
)

// decode returns the body before its content coding (RFC 9110 section 8.4):
// gzip and identity are known. At most limit bytes are inflated.
func decode(r Request, limit int64) ([]byte, error) {
	switch coding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header["Content-Encoding"], ","))); coding {
	case "", "identity":
		return r.Body, nil
	case "gzip", "x-gzip":
	default:
		return nil, errEncoding
	}
	return inflate(r, limit)
}

// inflate measures before it takes memory for exactly what there is: a few
// kilobytes that inflate to megabytes cost a stranger no more memory than it was
// given room for.
func inflate(r Request, limit int64) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		return nil, errInflate
	}
	size, err := io.Copy(io.Discard, io.LimitReader(reader, limit+1))
	switch {
	case err != nil:
		return nil, errInflate
	case size > limit:
		return nil, errTooLarge
	case r.Reserve != nil && !r.Reserve(size):
		return nil, errNoRoom
	}
	if err := reader.Reset(bytes.NewReader(r.Body)); err != nil {
		return nil, errInflate
	}
	plain := make([]byte, size)
	if _, err := io.ReadFull(reader, plain); err != nil {
		return nil, errInflate
	}
	return plain, nil
}

func decodeRefusal(err error) *refusal {
	switch {
	case errors.Is(err, errEncoding):
		return &refusal{webhook.ResultUnsupported, err.Error()}
	case errors.Is(err, errTooLarge):
		return &refusal{webhook.ResultTooLarge, err.Error()}
	case errors.Is(err, errNoRoom):
		return &refusal{webhook.ResultUnavailable, err.Error()}
	}
	return malformed(err.Error())
}

// json returns the body in which keys are looked for: inflated where it is
// compressed. A body that cannot be inflated within the bound has no keys; one
// that has no room now is remembered in noRoom.
func (in *input) json() []byte {
	if !in.plainDone {
		var err error
		in.plain, err = decode(in.Request, in.maxBody)
		in.plainDone, in.noRoom = true, errors.Is(err, errNoRoom)
	}
	return in.plain
}
