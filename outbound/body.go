package outbound

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// body is the body of an answer as text.
type body struct {
	// text is valid UTF-8; empty where the encoding is not undone.
	text   []byte
	ending ending
	// note says what is not as it was sent.
	note string
}

// decodeBody undoes gzip within a bound and makes the text valid UTF-8. Other
// encodings are left alone: what cannot be read is not kept either.
func decodeBody(r Response) body {
	b := body{text: r.Body}
	if r.Cut != "" {
		b.ending, b.note = cutShort, r.Cut
	}
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header["Content-Encoding"], ","))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		b = inflate(b)
	default:
		return body{ending: cutShort, note: "the body is encoded as " + known(encoding) + " and left undecoded"}
	}
	if len(b.text) > maxBody {
		b.text, b.ending, b.note = b.text[:maxBody], cutShort, "the body goes on"
	}
	b.text = validText(b.text, r.Header.Get("Content-Type"))
	return b
}

// known returns the name of an encoding that may be repeated in a note.
func known(encoding string) string {
	switch encoding {
	case "br", "zstd", "deflate", "compress":
		return encoding
	}
	return "something else"
}

// inflate unpacks gzip: at most one byte more than is kept, and whatever came
// out before it broke.
func inflate(packed body) body {
	if len(packed.text) == 0 {
		return packed
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed.text))
	if err != nil {
		return body{ending: cutShort, note: "the body is not the gzip that it is said to be"}
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxBody+1))
	unpacked := body{text: text, ending: packed.ending, note: packed.note}
	if err != nil {
		unpacked.ending = cutShort
		if unpacked.note == "" {
			unpacked.note = "the gzip of the body broke off"
		}
	}
	return unpacked
}

// validText makes a text valid UTF-8. Latin-1 is converted where it is
// declared; other bytes that are no UTF-8 become the replacement character.
func validText(text []byte, contentType string) []byte {
	if utf8.Valid(text) {
		return text
	}
	contentType = strings.ToLower(contentType)
	if strings.Contains(contentType, "iso-8859-1") || strings.Contains(contentType, "windows-1252") {
		runes := make([]rune, len(text))
		for i, c := range text {
			runes[i] = rune(c)
		}
		return []byte(string(runes))
	}
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// take reads the body of an answer: at most [maxBody], and only for a short
// time, since the status has decided the most already. It ends the connection
// where the body goes on, and gives it back where it does not.
func (c *Client) take(got *http.Response, cancel context.CancelFunc) Response {
	response := Response{Status: got.StatusCode, Header: got.Header, Secrets: c.secrets}
	defer got.Body.Close()
	if got.StatusCode < 200 {
		// The body of a 101 is the connection itself.
		return response
	}
	patience := refusedBody
	if got.StatusCode < 300 {
		patience = acceptedBody
	}
	late := time.AfterFunc(patience, cancel)
	defer late.Stop()
	// One byte more than is kept lets the end of a full body be seen.
	body, err := io.ReadAll(io.LimitReader(got.Body, maxBody+1))
	switch {
	case err != nil:
		response.Cut = "the body broke off"
	case len(body) > maxBody:
		body, response.Cut = body[:maxBody], "the body goes on"
	}
	response.Body = body
	return response
}
