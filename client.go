package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
	"weir/signature"
)

// The bounds of one request of a client command.
const (
	clientTimeout = 2 * time.Minute // as the service bounds its answers
	// maxClientAnswer is the largest answer that is read, in bytes.
	maxClientAnswer = 64 << 20
)

// client asks a running service, as any other client of its API would.
type client struct {
	base     string // without a slash at the end
	baseFrom string // the setting or flag that it is from
	token    string
	version  string
	http     *http.Client
}

// clientConfig is what a client needs.
type clientConfig struct {
	// url is that of the service, without a slash at the end; urlFrom names
	// the setting or flag that it is from.
	url     string
	urlFrom string
	// token is that of the operator API; without one only send works.
	token string
	// version is told in User-Agent.
	version string
	// dial connects to the service.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// newClient returns a client of one service. Redirects are not followed, because
// the token must not go elsewhere.
func newClient(c clientConfig) *client {
	return &client{base: c.url, baseFrom: c.urlFrom, token: c.token, version: c.version, http: &http.Client{
		Timeout:       clientTimeout,
		Transport:     &http.Transport{DialContext: c.dial, Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16},
		CheckRedirect: refuseRedirect,
	}}
}

// refuseRedirect is for [http.Client]: a redirect is an answer like any other.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// close gives the connections back.
func (c *client) close() { c.http.CloseIdleConnections() }

// get asks for a path and reads the JSON answer into a value.
func (c *client) get(ctx context.Context, path string, into any) error {
	return c.ask(ctx, http.MethodGet, path, exchange{into: into})
}

// post sends a value as JSON and reads the JSON answer into another.
func (c *client) post(ctx context.Context, path string, e exchange) error {
	return c.ask(ctx, http.MethodPost, path, e)
}

// exchange is what goes out and where the answer goes.
type exchange struct {
	body any
	into any
}

// ask makes one request. An answer that is not 2xx is an error with what the
// service said.
func (c *client) ask(ctx context.Context, method, path string, e exchange) error {
	request, err := c.request(ctx, method, path, e.body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("ask the service at %s: %w%s", c.base, withoutURL(err), c.doubt(err))
	}
	defer response.Body.Close()
	answer := io.LimitReader(response.Body, maxClientAnswer)
	if response.StatusCode/100 != 2 {
		return c.readProblem(response, answer)
	}
	if err := json.NewDecoder(answer).Decode(e.into); err != nil {
		return fmt.Errorf("the answer of %s to %s is not what weir answers: %w", c.base, path, err)
	}
	return nil
}

// request makes an authorized request with a JSON body.
func (c *client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("write the request for %s: %w", path, err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("make a request to WEIR_URL: %w", withoutURL(err))
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("User-Agent", "weir/"+c.version)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// send posts what was signed as it is and reads the answer, at most 64 KiB.
func (c *client) send(ctx context.Context, signed signature.Request) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, signed.Method, c.base+signed.Target, bytes.NewReader(signed.Body))
	if err != nil {
		return nil, nil, fmt.Errorf("make a request to %s: %w", c.base, withoutURL(err))
	}
	request.Header = signed.Header
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "weir/"+c.version)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("send to the service at %s: %w%s", c.base, withoutURL(err), c.doubt(err))
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return nil, nil, fmt.Errorf("read the answer of the service: %w", err)
	}
	return response, answer, nil
}

// withoutURL returns what went wrong without the address, which may have
// credentials in it and is told apart.
func withoutURL(err error) error {
	if of, wrapped := errors.AsType[*url.Error](err); wrapped {
		return of.Err
	}
	return err
}

// doubt asks after the address where nothing was reached: the service may listen
// elsewhere, by WEIR_ADDR or PORT, which say nothing to a client.
func (c *client) doubt(err error) string {
	if at, isNet := errors.AsType[*net.OpError](err); isNet && at.Op == "dial" {
		return c.doubtURL()
	}
	return ""
}

func (c *client) doubtURL() string {
	return fmt.Sprintf(" (is %s right?)", cmp.Or(c.baseFrom, "the address"))
}

// refusal is what the service said when it would not: a problem document
// (RFC 9457), or only a status.
type refusal struct {
	status int
	// doubt is a question to whoever made the call.
	doubt  string
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

// Error is one line.
func (r *refusal) Error() string {
	line := fmt.Sprintf("the service answers %d", r.status)
	if r.Code != "" {
		line += " " + r.Code
	}
	if said := cmp.Or(r.Detail, r.Title); said != "" {
		line += ": " + plainLine(said)
	}
	return line + r.doubt
}

// readProblem reads why the service refused.
func (c *client) readProblem(response *http.Response, answer io.Reader) error {
	said := &refusal{}
	text, _ := io.ReadAll(io.LimitReader(answer, 64<<10))
	if json.Unmarshal(text, said) != nil {
		said = &refusal{}
	}
	said.status = response.StatusCode
	switch {
	case said.status == http.StatusUnauthorized:
		said.doubt = " (is WEIR_API_TOKEN the token that the service runs with?)"
	case said.status == http.StatusNotFound && said.Code == "":
		said.doubt = c.doubtURL() // weir says more than that
	}
	return said
}

// notFound reports whether the service does not know what was asked for.
func notFound(err error) bool {
	said, refused := errors.AsType[*refusal](err)
	return refused && said.status == http.StatusNotFound
}
