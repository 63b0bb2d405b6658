package outbound

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/webhook"
)

// receivedForm is RFC 3339 in UTC with milliseconds.
const receivedForm = "2006-01-02T15:04:05.000Z"

// newRequest builds the forwarded request: the same bytes, the sender's
// fields, ours, and last the operator's.
func (c *Client) newRequest(ctx context.Context, job webhook.Job, now time.Time) (*http.Request, error) {
	target := *c.url
	target.User = nil
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), nil)
	if err != nil {
		return nil, errors.New("destination URL is no address for a request")
	}
	request.ContentLength = int64(len(job.Event.Body))
	request.Header = c.header(job, now)
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
		request.Header.Del("Host")
	}
	hideIdempotencyKey(request.Header)
	return request, nil
}

// newBody returns a reader over the whole body. An empty one must be the
// NoBody of net/http, or HTTP/1.1 would send it in chunks.
func newBody(body []byte) io.ReadCloser {
	if len(body) == 0 {
		return http.NoBody
	}
	return io.NopCloser(bytes.NewReader(body))
}

// header puts the fields of a request together.
func (c *Client) header(job webhook.Job, now time.Time) http.Header {
	header := Forwardable(job.Event.Header, nil)
	dropInvalid(header)
	header.Set("User-Agent", "weir/"+c.config.Version)
	header.Set("Weir-Event-Id", job.Event.ID.String())
	header.Set("Weir-Source", fieldValue(job.Event.Source))
	header.Set("Weir-Attempt", strconv.Itoa(job.Number))
	header.Set("Weir-Received-At", job.Event.ReceivedAt.UTC().Format(receivedForm))
	if job.Event.Key != "" {
		header.Set("Weir-Key", fieldValue(job.Event.Key))
	}
	if job.Event.Type != "" {
		header.Set("Weir-Type", fieldValue(job.Event.Type))
	}
	if header.Get("Idempotency-Key") == "" {
		header.Set("Idempotency-Key", job.Event.ID.String())
	}
	if user := c.url.User; user != nil {
		header.Set("Authorization", basic(user))
	}
	c.sign(header, job.Event, now)
	for name, values := range c.static {
		header[name] = values
	}
	return header
}

// hideIdempotencyKey spells the two field names in lower case. Names have no
// case in HTTP, but net/http re-sends any request that bears them in their
// usual spelling when a connection breaks, whether or not the server has got
// it: that would be an attempt that nobody decided on and nothing counted.
func hideIdempotencyKey(header http.Header) {
	for _, name := range [...]string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, there := header[name]; there {
			delete(header, name)
			header[strings.ToLower(name)] = values
		}
	}
}

// basic is the Authorization field for the credentials of a URL.
func basic(user *url.Userinfo) string {
	password, _ := user.Password()
	request := http.Request{Header: http.Header{}}
	request.SetBasicAuth(user.Username(), password)
	return request.Header.Get("Authorization")
}

// staticHeader checks the operator's fields.
func staticHeader(fields map[string]string) (http.Header, error) {
	header := make(http.Header, len(fields))
	for name, value := range fields {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !validName(name):
			return nil, fmt.Errorf("header %q: not a field name", name)
		case !validValue(value):
			return nil, fmt.Errorf("header %q: the value holds control characters", name)
		case Framing(canonical):
			return nil, fmt.Errorf("header %q: belongs to the connection and cannot be set", name)
		case header[canonical] != nil:
			return nil, fmt.Errorf("header %q: given twice in different spellings", name)
		}
		header[canonical] = []string{strings.TrimSpace(value)}
	}
	return header, nil
}

// Framing reports whether a field, by its name in canonical form, belongs to the
// connection: an operator who set it would break the message (RFC 9110 section
// 7.6.1, RFC 9112 section 6). [New] refuses it among the headers.
func Framing(canonical string) bool {
	switch canonical {
	case "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive",
		"Te", "Trailer", "Upgrade", "Expect", "Proxy-Connection", "Http2-Settings":
		return true
	}
	return false
}

// dropInvalid removes fields that HTTP cannot carry; net/http would refuse the
// whole request for one of them.
func dropInvalid(header http.Header) {
	for name, values := range header {
		for _, value := range values {
			if !validName(name) || !validValue(value) {
				delete(header, name)
			}
		}
	}
}

// validName reports whether name is a token (RFC 9110 section 5.6.2).
func validName(name string) bool {
	for i := range len(name) {
		c := name[i] | 0x20
		if !isLower(c) && !isDigit(name[i]) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(name[i])) {
			return false
		}
	}
	return name != ""
}

// validValue reports whether a field value is free of control characters.
func validValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; c == 0x7f || c < ' ' && c != '\t' {
			return false
		}
	}
	return true
}

// fieldValue makes any text a field value: where it holds control characters,
// other than ASCII, white space at its ends, or what looks like a percent
// escape, it is percent-encoded. So no two texts have the same value: what is
// sent as it is has no escape in it.
func fieldValue(text string) string {
	if strings.TrimSpace(text) != text {
		return url.PathEscape(text)
	}
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' || isEscape(text[i:]) {
			return url.PathEscape(text)
		}
	}
	return text
}

// isEscape reports whether text begins with a percent escape (RFC 3986 section
// 2.1).
func isEscape(text string) bool {
	if len(text) < 3 || text[0] != '%' {
		return false
	}
	_, err := hex.DecodeString(text[1:3])
	return err == nil
}
