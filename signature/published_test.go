package signature

import (
	"net/http"
	"testing"

	"weir/webhook"
)

// TestPublishedExamples checks examples that senders publish for the schemes
// that sign the address.
func TestPublishedExamples(t *testing.T) {
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	for name, c := range map[string]struct {
		config  Config
		header  http.Header
		target  string
		body    string
		headers map[string]string
	}{
		"twilio, documentation": {
			config: Config{Scheme: "twilio", Secrets: []string{"12345"}, PublicURL: "https://mycompany.com"}, header: form,
			target:  "/myapp.php?foo=1&bar=2",
			body:    "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212",
			headers: map[string]string{"X-Twilio-Signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8="},
		},
		"twilio, JSON": {
			config:  Config{Scheme: "twilio", Secrets: []string{"12345"}, PublicURL: "https://mycompany.com"},
			target:  "/myapp.php?foo=1&bar=2&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620",
			body:    `{"property": "value", "boolean": true}`,
			headers: map[string]string{"X-Twilio-Signature": "a9nBmqA0ju/hNViExpshrM61xv4="},
		},
		"square": {
			config:  Config{Scheme: "square", Secrets: []string{"asdf1234"}, PublicURL: "https://example.com"},
			target:  "/webhook",
			body:    `{"hello":"world"}`,
			headers: map[string]string{"X-Square-Hmacsha256-Signature": "2kRE5qRU2tR+tBGlDwMEw2avJ7QM4ikPYD/PJ3bd9Og="},
		},
	} {
		t.Run(name, func(t *testing.T) {
			header := c.header.Clone()
			if header == nil {
				header = http.Header{"Content-Type": {"application/json"}}
			}
			for name, value := range c.headers {
				header.Set(name, value)
			}
			r := Request{Method: "POST", Target: c.target, Header: header, Body: []byte(c.body)}
			if got := newVerifier(t, c.config).Verify(r, testNow); got.Result != webhook.ResultAccepted {
				t.Errorf("%s (%s)", got.Result, got.Reason)
			}
		})
	}
}
