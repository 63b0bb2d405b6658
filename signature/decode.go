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
	reader, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		return nil, errInflate
	}
	plain, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return nil, errInflate
	}
	if int64(len(plain)) > limit {
		return nil, errTooLarge
	}
	return plain, nil
}

func decodeRefusal(err error) *refusal {
	switch {
	case errors.Is(err, errEncoding):
		return &refusal{webhook.ResultUnsupported, err.Error()}
	case errors.Is(err, errTooLarge):
		return &refusal{webhook.ResultTooLarge, err.Error()}
	}
	return malformed(err.Error())
}

// json returns the body in which keys are looked for: inflated where it is
// compressed. A body that cannot be inflated within the bound has no keys.
func (in *input) json() []byte {
	if !in.plainDone {
		in.plain, _ = decode(in.Request, in.maxBody)
		in.plainDone = true
	}
	return in.plain
}
