package outbound_test

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"weir/outbound"
	"weir/webhook"
)

// leaveServer counts the requests that reach it over a protocol.
func leaveServer(t *testing.T, protocol string) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var arrived atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		if r.Proto != protocol && protocol != "TLS" {
			t.Errorf("came over %s", r.Proto)
		}
	}))
	server.EnableHTTP2 = protocol == "HTTP/2.0"
	if protocol == "HTTP/1.1" {
		server.Start()
	} else {
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	return server, &arrived
}

// TestARequestThatMayNotLeaveReachesNobody: on a new connection and on a kept one,
// with and without a body; and once allowed, it is asked only once.
func TestARequestThatMayNotLeaveReachesNobody(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "TLS", "HTTP/2.0"} {
		for _, body := range []string{"x", ""} {
			t.Run(protocol+" "+body, func(t *testing.T) {
				server, arrived := leaveServer(t, protocol)
				config := outbound.Config{URL: server.URL}
				if server.Certificate() != nil {
					config.RootCAs = x509.NewCertPool()
					config.RootCAs.AddCert(server.Certificate())
				}
				c := client(t, config)
				for i, allowed := range []bool{false, true, false, true} {
					var asked atomic.Int64
					j := job(body)
					j.MayLeave = func() bool {
						return asked.Add(1) == 1 && allowed
					}
					before := arrived.Load()
					answer := c.Send(t.Context(), j)
					if answer.Unsent == allowed || (answer.Outcome == webhook.OutcomeDelivered) != allowed || arrived.Load()-before == 1 != allowed {
						t.Errorf("request %d: %+v, %d arrived", i, answer, arrived.Load()-before)
					}
					if asked.Load() != 1 {
						t.Errorf("request %d: asked %d times", i, asked.Load())
					}
				}
			})
		}
	}
}
