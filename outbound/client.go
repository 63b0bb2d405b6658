package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"weir/webhook"
)

// Config says where and how a [Client] sends. Only URL is required.
type Config struct {
	// URL of the destination: http or https. User information in it is sent
	// as Basic credentials (RFC 7617) and appears nowhere else.
	URL string
	// Headers are set on every request, in the place of what the sender or
	// weir itself would have set. Their values are secrets.
	Headers map[string]string
	// SigningSecret makes the client sign what it sends by Standard
	// Webhooks: base64, with or without the prefix "whsec_".
	SigningSecret string
	// Renew returns the fields that give the request of a source a fresh
	// signature, where the sender's own has aged at the time now; none where it
	// has not, or cannot be made anew. It changes nothing that it is given. Nil
	// sends every signature on as it came.
	Renew func(source string, header http.Header, body []byte, now time.Time) http.Header
	// Timeout bounds one attempt with all its phases; 0 is 15 s.
	Timeout time.Duration
	// Version of weir for the User-Agent; empty is "dev".
	Version string
	// Secrets are further values to redact from what is kept of answers.
	Secrets []string
	// Dial opens connections; nil is the network's own.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Concurrency bounds the connections that are open; 0 is 4.
	Concurrency int
	// RootCAs are trusted in the place of the system's; nil is the system's.
	RootCAs *x509.CertPool
}

// The defaults of a [Config], as the settings of the same names have them.
const (
	defaultTimeout     = 15 * time.Second
	defaultConcurrency = 4
)

// The bounds of an answer and of idle connections.
const (
	// maxBody is the most that is read of a body, and of what it unpacks to.
	maxBody = 16 << 10
	// maxHeader bounds the header section of an answer in bytes.
	maxHeader = 64 << 10
	// maxSecureHeader is the same within TLS.
	maxSecureHeader = 1 << 20
	// idleTimeout is below the keep-alive time of common servers (nginx and
	// AWS load balancers: 60 s and more), so that we close before they do.
	idleTimeout = 45 * time.Second
	// acceptedBody and refusedBody are how long after the status a body is
	// read: a 2xx is decided already, a refusal is worth its explanation.
	acceptedBody = time.Second
	refusedBody  = 5 * time.Second
	// maxRefusals is how often a request goes out again within an attempt
	// after the server said over HTTP/2 that it has not processed it.
	maxRefusals = 3
)

// Client sends to one destination. Its methods may be called from several
// goroutines at once.
type Client struct {
	config  Config
	url     *url.URL
	static  http.Header
	key     []byte
	secrets Secrets
	pool    pool
}

// New checks the configuration. Its errors name what is wrong and never a
// secret's value.
func New(config Config) (*Client, error) {
	c := &Client{config: config}
	var err error
	if c.url, err = parseURL(config.URL); err != nil {
		return nil, err
	}
	if c.static, err = staticHeader(config.Headers); err != nil {
		return nil, err
	}
	if c.key, err = signingKey(config.SigningSecret); err != nil {
		return nil, err
	}
	if config.Timeout <= 0 {
		c.config.Timeout = defaultTimeout
	}
	if config.Concurrency <= 0 {
		c.config.Concurrency = defaultConcurrency
	}
	if config.Version == "" {
		c.config.Version = "dev"
	}
	c.secrets = NewSecrets(secretValues(c.config, c.url)...)
	return c, nil
}

// parseURL checks the destination's address. The text itself is in no error,
// since it may hold credentials.
func parseURL(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("destination URL cannot be parsed")
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, errors.New("destination URL is neither http nor https")
	}
	if parsed.Hostname() == "" {
		return nil, errors.New("destination URL has no host")
	}
	parsed.Fragment, parsed.RawFragment = "", ""
	return parsed, nil
}

// newTransport makes the pool of connections. No proxy is taken from the
// environment: nothing but the configured address is ever dialled. Bodies are
// not unpacked on the way, because what they unpack to must be bounded.
func (c *Client) newTransport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	transport := &http.Transport{
		DialContext:            c.dial,
		TLSHandshakeTimeout:    c.config.Timeout,
		DisableCompression:     true,
		MaxIdleConns:           c.config.Concurrency,
		MaxIdleConnsPerHost:    c.config.Concurrency,
		MaxConnsPerHost:        c.config.Concurrency,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: c.headerBound(),
		Protocols:              protocols,
	}
	if c.config.RootCAs != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: c.config.RootCAs}
	}
	return transport
}

// headerBound returns the bound of a header section. Within TLS the status of an
// answer that passes it cannot be seen, so more is read there.
func (c *Client) headerBound() int64 {
	if c.url.Scheme == "https" {
		return maxSecureHeader
	}
	return maxHeader
}

// dial opens a connection within the timeout of an attempt, also where the
// attempt that asked for it is long over.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	open := c.config.Dial
	if open == nil {
		open = (&net.Dialer{}).DialContext
	}
	conn, err := open(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: conn}, nil
}

// Send makes one attempt and reads what comes back. Faults are outcomes. When
// ctx ends before an answer has come, the answer is marked as cut: the request
// may or may not have arrived.
func (c *Client) Send(ctx context.Context, job webhook.Job) webhook.Answer {
	start := time.Now()
	job, renewed := c.renew(job, start)
	response := c.exchange(ctx, job, start)
	response.Sent = job.Event.Body
	answer := Read(response, time.Now())
	answer.Duration, answer.Renewed = time.Since(start), renewed
	if response.Err != nil && ctx.Err() != nil {
		answer.Cut = true
	}
	answer.Unsent = response.unsent
	if answer.Status == http.StatusMisdirectedRequest {
		// The connection was made for another authority (RFC 9110
		// section 15.5.20): the next attempt begins with a new one.
		c.CloseIdle()
	}
	return answer
}

// CloseIdle closes the connections that carry no request.
func (c *Client) CloseIdle() {
	if transport := c.pool.peek(); transport != nil {
		transport.CloseIdleConnections()
	}
}

// maxPoolAge is how long the connections of one pool are given to requests. A
// downstream that moves is found at its new address after that: each pool looks
// names up anew.
const maxPoolAge = time.Minute

// pool holds the connections that are in use, and since when.
type pool struct {
	mu        sync.Mutex
	transport *http.Transport
	since     time.Time
}

// get returns the present pool, or a new one where that is too old. What the
// old one has out goes on to its end.
func (p *pool) get(now time.Time, open func() *http.Transport) *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.transport == nil || now.Sub(p.since) >= maxPoolAge {
		if p.transport != nil {
			p.transport.CloseIdleConnections()
		}
		p.transport, p.since = open(), now
	}
	return p.transport
}

// peek returns the present pool; nil before the first request.
func (p *pool) peek() *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.transport
}

// exchange sends one request within the timeout and takes in its answer. It
// sends once more, on another connection, only where the request cannot have
// been processed: that is still the same attempt.
func (c *Client) exchange(ctx context.Context, job webhook.Job, now time.Time) Response {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	request, err := c.newRequest(ctx, job, now)
	if err != nil {
		return Response{Err: fmt.Errorf("building the request: %w", err), Secrets: c.secrets}
	}
	for resends := 0; ; resends++ {
		got, progress, err := c.roundTrip(request, job)
		if err == nil {
			return c.take(got, cancel)
		}
		if progress.forbidden.Load() {
			return Response{Err: errForbidden, unsent: true, Secrets: c.secrets}
		}
		again := progress.untouched() && resends < c.config.Concurrency ||
			unprocessed(err) && resends < maxRefusals
		if !again || ctx.Err() != nil {
			if status := progress.accepted(err); status != 0 {
				return Response{Status: status, Cut: "the header section is over its bound", Secrets: c.secrets}
			}
			return Response{Err: progress.explain(err), raced: progress.raced(err), Secrets: c.secrets}
		}
	}
}

// roundTrip sends the request once. The body cannot be rewound by net/http
// (GetBody is nil), because it would re-send what may have been processed. An
// empty body needs no rewinding, so there a second connection ends the attempt,
// even where HTTP/2 promises that the first did not count.
func (c *Client) roundTrip(request *http.Request, job webhook.Job) (*http.Response, *progress, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	body := job.Event.Body
	p := &progress{again: func() {}, mayLeave: job.MayLeave, forbid: func() { cancel(errForbidden) }}
	if len(body) == 0 {
		p.again = func() { cancel(errNotResent) }
	}
	request = request.WithContext(p.watch(ctx))
	request.Body, request.GetBody = newBody(body), nil
	got, err := c.pool.get(time.Now(), c.newTransport).RoundTrip(request)
	if err != nil {
		if context.Cause(ctx) == errNotResent {
			err = errNotResent
		}
		cancel(nil)
		return nil, p, err
	}
	got.Body = cancelBody{got.Body, cancel}
	return got, p, nil
}

// errNotResent ends a request that net/http was about to send again.
var errNotResent = errors.New("http2: the connection gave the request back, and it may have arrived")

// cancelBody frees what belongs to a request when its answer is closed.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close closes the body and ends the request.
func (b cancelBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
