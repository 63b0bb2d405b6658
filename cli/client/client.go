// Package client asks a running service, as any client of its operator API
// would.
//
// # Guarantees
//
// One call is one request within two minutes, and at most 64 MiB of its answer
// are read. Redirects are not followed: the token goes nowhere else. No error
// holds the token or the credentials of the service's address.
//
// # Vocabulary
//
// A [Client] asks one service. [Event], [Delivery], [Attempt], [Destination],
// [Source] and [Stats] are the forms in which the API answers; a time that is
// null there is zero here. A [Refusal] is what the service said when it would
// not.
//
// # Example
//
//	c := client.New(client.Config{URL: "http://127.0.0.1:8080", Token: token, Version: "devel"})
//	defer c.Close()
//	var event client.Event
//	err := c.Get(ctx, "/v1/events/"+id, &event)
package client

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
	"weir/webhook/wording"
)

// The bounds of one request of a client command.
const (
	timeout = 2 * time.Minute // as the service bounds its answers
	// maxAnswer is the largest answer that is read, in bytes.
	maxAnswer = 64 << 20
)

// Client asks a running service, as any other client of its API would.
type Client struct {
	Config
	http *http.Client
}

// Config is what a client needs.
type Config struct {
	// URL is that of the service, without a slash at the end; URLFrom names
	// the setting or flag that it is from.
	URL     string
	URLFrom string
	// Token is that of the operator API; without one only send works.
	Token string
	// Version is sent in User-Agent.
	Version string
	// Dial connects to the service.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// New returns a client of one service. Redirects are not followed, because
// the token must not go elsewhere.
func New(c Config) *Client {
	return &Client{Config: c, http: &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{DialContext: c.Dial, Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close gives the connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get asks for a path and reads the JSON answer into a value.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	return c.ask(ctx, http.MethodGet, path, nil, into)
}

// Post sends a value as JSON and reads the JSON answer into another.
func (c *Client) Post(ctx context.Context, path string, body, into any) error {
	return c.ask(ctx, http.MethodPost, path, body, into)
}

// ask makes one request. An answer that is not 2xx is an error with what the
// service said.
func (c *Client) ask(ctx context.Context, method, path string, body, into any) error {
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("ask the service at %s: %w%s", c.URL, withoutURL(err), c.doubt(err))
	}
	defer response.Body.Close()
	answer := io.LimitReader(response.Body, maxAnswer)
	if response.StatusCode/100 != 2 {
		return c.readProblem(response, answer)
	}
	if err := json.NewDecoder(answer).Decode(into); err != nil {
		return fmt.Errorf("the answer of %s to %s is not what weir answers: %w", c.URL, path, err)
	}
	return nil
}

// request makes an authorized request with a JSON body.
func (c *Client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("write the request for %s: %w", path, err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("make a request to WEIR_URL: %w", withoutURL(err))
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("User-Agent", "weir/"+c.Version)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// Send posts what was signed as it is and reads the answer, at most 64 KiB.
func (c *Client) Send(ctx context.Context, signed signature.Request) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, signed.Method, c.URL+signed.Target, bytes.NewReader(signed.Body))
	if err != nil {
		return nil, nil, fmt.Errorf("make a request to %s: %w", c.URL, withoutURL(err))
	}
	request.Header = signed.Header
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "weir/"+c.Version)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("send to the service at %s: %w%s", c.URL, withoutURL(err), c.doubt(err))
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
func (c *Client) doubt(err error) string {
	if at, isNet := errors.AsType[*net.OpError](err); isNet && at.Op == "dial" {
		return c.doubtURL()
	}
	return ""
}

func (c *Client) doubtURL() string {
	return fmt.Sprintf(" (is %s right?)", cmp.Or(c.URLFrom, "the address"))
}

// Refusal is what the service said when it would not: a problem document
// (RFC 9457), or only a status.
type Refusal struct {
	Status int
	// doubt is a question to whoever made the call.
	doubt  string
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

// Error is one line.
func (r *Refusal) Error() string {
	line := fmt.Sprintf("the service answers %d", r.Status)
	if r.Code != "" {
		line += " " + r.Code
	}
	if said := cmp.Or(r.Detail, r.Title); said != "" {
		line += ": " + wording.PlainLine(said)
	}
	return line + r.doubt
}

// readProblem reads why the service refused.
func (c *Client) readProblem(response *http.Response, answer io.Reader) error {
	said := &Refusal{}
	text, _ := io.ReadAll(io.LimitReader(answer, 64<<10))
	if json.Unmarshal(text, said) != nil {
		said = &Refusal{}
	}
	said.Status = response.StatusCode
	switch {
	case said.Status == http.StatusUnauthorized:
		said.doubt = " (is WEIR_API_TOKEN the token that the service runs with?)"
	case said.Status == http.StatusNotFound && said.Code == "":
		said.doubt = c.doubtURL() // weir says more than that
	}
	return said
}

// NotFound reports whether the service does not know what was asked for.
func NotFound(err error) bool {
	said, refused := errors.AsType[*Refusal](err)
	return refused && said.Status == http.StatusNotFound
}
