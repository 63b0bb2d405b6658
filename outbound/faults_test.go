package outbound_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/outbound"
	"weir/webhook"
)

// authority signs the certificates of a test.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = a.sign(template, template, &a.key.PublicKey)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a authority) sign(template, parent *x509.Certificate, public *ecdsa.PublicKey) *x509.Certificate {
	a.t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// pool is what a client trusts.
func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// leaf makes a server's certificate for a name, good for a time from now.
func (a authority) leaf(name string, good time.Duration) tls.Certificate {
	key := newKey(a.t)
	cert := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(good),
	}, a.cert, &key.PublicKey)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func TestCertificateFaultsAreSlowAndNothingIsSent(t *testing.T) {
	trusted, other := newAuthority(t), newAuthority(t)
	for _, c := range []struct {
		name string
		cert tls.Certificate
		rule string
	}{
		{"unknown authority", other.leaf("localhost", time.Hour), outbound.RuleTLSAuthority},
		{"expired", trusted.leaf("localhost", -time.Hour), outbound.RuleTLSExpired},
		{"other name", trusted.leaf("elsewhere.example", time.Hour), outbound.RuleTLSName},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := newTLSServer(t, c.cert)
			answer := client(t, outbound.Config{
				URL: "https://localhost:" + server.port(), RootCAs: trusted.pool(),
			}).Send(context.Background(), job("payload"))
			if answer.Outcome != webhook.OutcomeNetwork || answer.Rule != c.rule || !answer.Slow {
				t.Errorf("answer %+v, want %s", answer, c.rule)
			}
			if server.requests.Load() != 0 {
				t.Error("a request was sent")
			}
		})
	}
	t.Run("a good one", func(t *testing.T) {
		server := newTLSServer(t, trusted.leaf("localhost", time.Hour))
		answer := client(t, outbound.Config{
			URL: "https://localhost:" + server.port(), RootCAs: trusted.pool(),
		}).Send(context.Background(), job("payload"))
		if answer.Outcome != webhook.OutcomeDelivered {
			t.Errorf("answer %+v", answer)
		}
	})
}

// newTLSServer answers 200 behind a certificate.
func newTLSServer(t *testing.T, cert tls.Certificate) *rawServer {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{listener: listener}
	s.start(t, func(conn net.Conn) { s.serve(conn, func(int64) string { return okAnswer }) })
	return s
}

func (s *rawServer) port() string {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	return port
}

func TestFaultsAreNamed(t *testing.T) {
	dnsFault := &net.DNSError{Err: "no such host", Name: "hook.example", IsNotFound: true}
	for _, c := range []struct {
		text string
		err  error
		rule string
		slow bool
	}{
		{"a name", dnsFault, outbound.RuleDNS, true},
		{"a name server", textError("lookup x.example on 192.0.2.1:53: server misbehaving"), outbound.RuleDNS, true},
		{"refused", textError("dial tcp 192.0.2.1:80: connect: connection refused"), outbound.RuleRefused, false},
		{"no route", textError("dial tcp: connect: no route to host"), outbound.RuleUnreachable, false},
		{"connecting", textError("dial tcp 192.0.2.1:443: i/o timeout"), outbound.RuleConnectTimeout, false},
		{"handshake", textError("net/http: TLS handshake timeout"), outbound.RuleTLSTimeout, false},
		{"authority", textError("tls: failed to verify certificate: x509: certificate signed by unknown authority"), outbound.RuleTLSAuthority, true},
		{"expired", textError("x509: certificate has expired or is not yet valid: current time"), outbound.RuleTLSExpired, true},
		{"name", textError("x509: certificate is valid for a.example, not b.example"), outbound.RuleTLSName, true},
		{"certificate", textError("x509: unhandled critical extension"), outbound.RuleTLSCertificate, true},
		{"alert", textError("remote error: tls: handshake failure"), outbound.RuleTLSHandshake, true},
		{"plain", textError("http: server gave HTTP response to HTTPS client"), outbound.RuleTLSHandshake, true},
		{"headers", textError("net/http: timeout awaiting response headers"), outbound.RuleHeaderTimeout, false},
		{"deadline", context.DeadlineExceeded, outbound.RuleHeaderTimeout, false},
		{"reset", textError("read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer"), outbound.RuleReset, false},
		{"pipe", textError("write: broken pipe"), outbound.RuleReset, false},
		{"end", io.ErrUnexpectedEOF, outbound.RuleEOF, false},
		{"end in words", textError("EOF"), outbound.RuleEOF, false},
		{"big headers", textError("net/http: server response headers exceeded 65536 bytes; aborted"), outbound.RuleHeaderTooLarge, false},
		{"noise", textError(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "x"`), outbound.RuleMalformed, false},
		{"anything", textError("something else"), outbound.RuleNetwork, false},
	} {
		t.Run(c.text, func(t *testing.T) {
			got := outbound.Read(outbound.Response{Err: c.err}, noon)
			if got.Outcome != webhook.OutcomeNetwork || got.Rule != c.rule || got.Slow != c.slow || got.Status != 0 || got.Hint.Given() {
				t.Errorf("answer %+v, want %s", got, c.rule)
			}
			checkAnswer(t, got)
		})
	}
}

func TestRealFaultsAreNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	refused := "http://" + listener.Addr().String()
	for name, c := range map[string]struct {
		url    string
		answer string
		rule   string
	}{
		"refused":     {refused, "", outbound.RuleRefused},
		"hangs up":    {"", "", outbound.RuleEOF},
		"noise":       {"", "hello\r\n\r\n", outbound.RuleMalformed},
		"big headers": {"", "HTTP/1.1 500 No\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", outbound.RuleHeaderTooLarge}, // B46 c
		"half a head": {"", "HTTP/1.1 200 OK\r\nContent-Le", outbound.RuleMalformed},
		"half a line": {"", "HTTP/1.1 200", outbound.RuleEOF},
	} {
		t.Run(name, func(t *testing.T) {
			if c.url == "" {
				c.url = newOnceServer(t, c.answer).url()
			}
			got := client(t, outbound.Config{URL: c.url}).Send(context.Background(), job("x"))
			if got.Outcome != webhook.OutcomeNetwork || got.Rule != c.rule || got.Slow {
				t.Errorf("answer %+v, want %s", got, c.rule)
			}
		})
	}
}

// newOnceServer answers one request for each connection and hangs up.
func newOnceServer(t *testing.T, answer string) *rawServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{listener: listener}
	s.start(t, func(conn net.Conn) {
		s.serve(&lastWrite{conn}, func(int64) string { return answer })
	})
	return s
}

// lastWrite closes a connection after the first write.
type lastWrite struct{ net.Conn }

func (c *lastWrite) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.Conn.Close()
	return n, err
}

// stalls are servers that stop in the middle of each phase. They run in a
// bubble of fake time over a pipe, so that no test waits.
func TestEveryPhaseEndsWithinTheTimeout(t *testing.T) {
	const timeout = 15 * time.Second
	for name, c := range map[string]struct {
		scheme string
		dial   func(*testing.T, context.Context) (net.Conn, error)
		rule   string
	}{
		"connect": {"http", func(_ *testing.T, ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, outbound.RuleConnectTimeout},
		"handshake": {"https", func(t *testing.T, _ context.Context) (net.Conn, error) {
			return pipeTo(t, func(net.Conn) {}), nil
		}, outbound.RuleTLSTimeout},
		"write": {"http", func(t *testing.T, _ context.Context) (net.Conn, error) {
			ours, _ := net.Pipe() // nobody reads
			return ours, nil
		}, outbound.RuleWriteTimeout},
		"headers": {"http", func(t *testing.T, _ context.Context) (net.Conn, error) {
			return pipeTo(t, func(net.Conn) {}), nil
		}, outbound.RuleHeaderTimeout},
		"headers by the byte": {"http", func(t *testing.T, _ context.Context) (net.Conn, error) {
			return pipeTo(t, func(conn net.Conn) { trickle(conn, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 100)) }), nil
		}, outbound.RuleHeaderTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				sender, err := outbound.New(outbound.Config{URL: c.scheme + "://x.example", Timeout: timeout,
					Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(t, ctx) }})
				if err != nil {
					t.Fatal(err)
				}
				answer := sender.Send(t.Context(), job(strings.Repeat("x", 1<<20)))
				if answer.Outcome != webhook.OutcomeNetwork || answer.Rule != c.rule || answer.Cut {
					t.Errorf("answer %+v, want %s", answer, c.rule)
				}
				if took := time.Since(start); took != timeout || answer.Duration != took {
					t.Errorf("took %v, says %v, want %v", took, answer.Duration, timeout)
				}
				sender.CloseIdle()
			})
		})
	}
}

// pipeTo returns a connection whose other end reads everything and is given to
// answer once a first byte has arrived.
func pipeTo(t *testing.T, answer func(net.Conn)) net.Conn {
	ours, theirs := net.Pipe()
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	arrived := make(chan struct{})
	group.Go(func() {
		theirs.Read(make([]byte, 1))
		close(arrived)
		io.Copy(io.Discard, theirs)
	})
	group.Go(func() {
		<-arrived
		answer(theirs)
	})
	return &closesBoth{ours, theirs}
}

// closesBoth ends both sides.
type closesBoth struct {
	net.Conn
	other net.Conn
}

func (c *closesBoth) Close() error {
	c.other.Close()
	return c.Conn.Close()
}

// trickle writes a byte each second until the other side has had enough.
func trickle(w io.Writer, text string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := range len(text) {
		<-tick.C
		if _, err := io.WriteString(w, text[i:i+1]); err != nil {
			return
		}
	}
}

// A 2xx is decided by its status: what trickles in behind it is not waited
// for. A refusal is given a little longer to explain itself.
func TestB46ATrickledBodyIsNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		head    string
		outcome webhook.Outcome
		took    time.Duration
	}{
		"accepted": {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nab", webhook.OutcomeDelivered, time.Second},
		"refused":  {"HTTP/1.1 503 No\r\nContent-Length: 1000\r\n\r\nab", webhook.OutcomeTransient, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				sender, err := outbound.New(outbound.Config{URL: "http://x.example",
					Dial: func(context.Context, string, string) (net.Conn, error) {
						return pipeTo(t, func(conn net.Conn) {
							io.WriteString(conn, c.head)
							trickle(conn, strings.Repeat("x", 998))
						}), nil
					}})
				if err != nil {
					t.Fatal(err)
				}
				answer := sender.Send(t.Context(), job("x"))
				if answer.Outcome != c.outcome || !strings.HasPrefix(answer.Evidence.Body, "ab") || answer.Evidence.Note == "" {
					t.Errorf("answer %+v", answer)
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
			})
		})
	}
}

func TestStoppingCutsARequestButNotAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		cut  bool
	}{
		"before the status": {"", true},
		"after it":          {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer stop()
				sender, err := outbound.New(outbound.Config{URL: "http://x.example",
					Dial: func(context.Context, string, string) (net.Conn, error) {
						return pipeTo(t, func(conn net.Conn) { io.WriteString(conn, c.head) }), nil
					}})
				if err != nil {
					t.Fatal(err)
				}
				answer := sender.Send(ctx, job("x"))
				if answer.Cut != c.cut || answer.Cut != (answer.Outcome == webhook.OutcomeNetwork) {
					t.Errorf("answer %+v, want cut %t", answer, c.cut)
				}
			})
		})
	}
}
