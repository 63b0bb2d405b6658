package alert

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"weir/webhook"
)

const (
	// requestTimeout bounds one request to WEIR_ALERT_URL.
	requestTimeout = 10 * time.Second
	// maxWait bounds what the other side may ask for by Retry-After.
	maxWait = time.Minute
	// maxText bounds a message in bytes; chats take about 2000.
	maxText = 1500
)

// waits are the waits before the second request for a message, and so
// on; after the last it is given up.
func waits() []time.Duration {
	return []time.Duration{time.Second, 5 * time.Second, 20 * time.Second}
}

// sender posts messages to WEIR_ALERT_URL, one after the other. Its
// failures are logged without the address, which is a secret, and touch
// nothing else.
type sender struct {
	config Config
	client *http.Client
}

// newSender returns a sender with a client of its own: no redirects, no
// proxy but the environment's, one connection.
func newSender(c Config) *sender {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: c.Dial,
		MaxConnsPerHost: 1, MaxIdleConns: 1, IdleConnTimeout: requestTimeout,
		TLSHandshakeTimeout: requestTimeout, MaxResponseHeaderBytes: 64 << 10,
	}
	return &sender{
		config: c,
		client: &http.Client{
			Transport: transport, Timeout: requestTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Sends reports whether there is anybody to send messages to.
func (d *Alerter) Sends() bool { return d.queue != nil }

// Run sends messages until close is called and all are sent. When ctx ends, what
// is left is counted as failed.
func (d *Alerter) Run(ctx context.Context) { newSender(d.config).run(ctx, d.queue) }

// run sends what is queued until it is closed and empty.
func (a *sender) run(ctx context.Context, outbox <-chan string) {
	defer a.client.CloseIdleConnections()
	for text := range outbox {
		if err := a.send(ctx, text); err != nil {
			a.config.Count(Failed)
			a.config.Log.Warn("alert could not be sent", webhook.LogReason, err.Error())
			continue
		}
		a.config.Count(Sent)
	}
}

// send posts one message, a few times if it must.
func (a *sender) send(ctx context.Context, text string) error {
	body, err := json.Marshal(struct {
		Text string `json:"text"`
	}{"weir: " + a.config.Secrets.Redact(text, maxText)})
	if err != nil {
		return errors.New("it cannot be written as JSON")
	}
	for _, wait := range append(waits(), 0) {
		var again time.Duration
		again, err = a.post(ctx, body)
		if err == nil || again < 0 || wait == 0 || !sleep(ctx, max(wait, again)) {
			return err
		}
	}
	return err
}

// never says that asking again is of no use.
const never = -1

// post makes one request. With an error it returns the least time after which
// the request may be made again, or never.
func (a *sender) post(ctx context.Context, body []byte) (again time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.config.URL, bytes.NewReader(body))
	if err != nil {
		return never, errors.New("the address cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "weir/"+a.config.Version)
	answer, err := a.client.Do(request)
	if err != nil {
		return 0, errors.New(plainFault(err))
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 16<<10))
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		return 0, nil
	case status == http.StatusTooManyRequests || status >= 500:
		return retryAfter(answer.Header), errors.New("answered " + strconv.Itoa(status))
	default:
		return never, errors.New("answered " + strconv.Itoa(status))
	}
}

// retryAfter reads whole seconds (RFC 9110 section 10.2.3), within bounds.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, maxWait)
}

// plainFault says what went wrong without the address that net/http and the
// dialler put into their errors.
func plainFault(err error) string {
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "the service stops"
	case errors.As(err, &name):
		return "its name cannot be resolved"
	case errors.As(err, &certificate):
		return "its certificate is not trusted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.As(err, &network) && network.Timeout():
		return "no answer in time"
	default:
		return "the connection failed"
	}
}

// sleep waits, and reports whether ctx is still active.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
