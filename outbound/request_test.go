package outbound_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/outbound"
	"weir/webhook"
)

// recorder keeps the last request that it answers 200.
type recorder struct {
	*httptest.Server
	request *http.Request
	body    string
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.request, r.body = request, string(body)
	}))
	t.Cleanup(r.Close)
	return r
}

// send sends one job and fails unless it was delivered.
func send(t *testing.T, config outbound.Config, work webhook.Job) {
	t.Helper()
	if answer := client(t, config).Send(context.Background(), work); answer.Outcome != webhook.OutcomeDelivered {
		t.Fatalf("answer %+v", answer)
	}
}

func TestB47WhatIsForwarded(t *testing.T) {
	in := http.Header{
		"Host": {"inbound.example"}, "Content-Length": {"3"}, "Transfer-Encoding": {"chunked"},
		"Connection": {"keep-alive, X-Named", "x-second"}, "Keep-Alive": {"timeout=5"}, "Te": {"trailers"},
		"Trailer": {"X-T"}, "Upgrade": {"h2c"}, "Proxy-Connection": {"close"}, "Proxy-Authorization": {"Basic x"},
		"Accept-Encoding": {"br"}, "Expect": {"100-continue"}, "Authorization": {"Bearer a"}, "Cookie": {"a=b"},
		"X-Named": {"1"}, "X-Second": {"2"}, "X-Forwarded-For": {"192.0.2.1"}, "X-Forwarded-Proto": {"https"},
		"Forwarded": {"for=x"}, "Via": {"1.1 x"}, "X-Real-Ip": {"192.0.2.1"}, "True-Client-Ip": {"192.0.2.1"},
		"Fly-Client-Ip": {"192.0.2.1"}, "Fly-Region": {"ams"}, "Cf-Ray": {"1"}, "Cf-Connecting-Ip": {"192.0.2.1"},
		"X-Request-Id": {"1"}, "Weir-Attempt": {"99"}, "X-Gitlab-Token": {"t"},
		"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}, "X-Hub-Signature-256": {"sha256=00"},
		"X-Github-Event": {"push"}, "x-odd-case": {"kept"}, "X-Many": {"c", "a", "b"}, "User-Agent": {"GitHub-Hookshot"},
	}
	want := http.Header{
		"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}, "X-Hub-Signature-256": {"sha256=00"},
		"X-Github-Event": {"push"}, "X-Odd-Case": {"kept"}, "X-Many": {"c", "a", "b"}, "User-Agent": {"GitHub-Hookshot"},
	}
	before := in.Clone()
	if diff := cmp.Diff(want, outbound.Forwardable(in, []string{"x-gitlab-TOKEN"})); diff != "" {
		t.Errorf("forwardable (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
	want["X-Gitlab-Token"] = []string{"t"}
	if diff := cmp.Diff(want, outbound.Forwardable(in, nil)); diff != "" {
		t.Errorf("with nothing to drop (-want +got):\n%s", diff)
	}
}

// TestNamesWithUnderscoresAreComparedAsWithHyphens: CGI and its heirs cannot tell
// them apart.
func TestNamesWithUnderscoresAreComparedAsWithHyphens(t *testing.T) {
	in := http.Header{
		"Weir_Source": {"forged"}, "weir_event_id": {"forged"}, "X_Forwarded_For": {"192.0.2.1"}, "X_Real_Ip": {"192.0.2.1"},
		"Idempotency_Key": {"forged"}, "AUTHORIZATION": {"Bearer x"}, "Proxy_Authorization": {"x"}, "X_gitlab_token": {"t"},
		"Connection": {"x-hop"}, "X_Hop": {"1"}, "X_Custom": {"kept"}, "Idempotency-Key": {"the sender's"},
	}
	want := http.Header{"X_custom": {"kept"}, "Idempotency-Key": {"the sender's"}}
	if diff := cmp.Diff(want, outbound.Forwardable(in, []string{"X-Gitlab-Token"})); diff != "" {
		t.Errorf("forwardable (-want +got):\n%s", diff)
	}
}

func TestB47TheDownstreamSeesItsOwnHostAndOneLength(t *testing.T) {
	server := newRecorder(t)
	work := job("body of 15 byte")
	work.Event.Header = http.Header{
		"Host": {"inbound.example"}, "Content-Length": {"3"}, "X-Many": {"c", "a", "b"},
		"Transfer-Encoding": {"chunked"}, "Idempotency-Key": {"theirs"}, "Weir-Key": {"forged"},
		"X-Bad\nName": {"x"}, "X-Bad-Value": {"a\r\nb"},
	}
	send(t, outbound.Config{URL: server.URL}, work)
	got := server.request
	if got.Host != strings.TrimPrefix(server.URL, "http://") || got.ContentLength != 15 || got.TransferEncoding != nil || server.body != "body of 15 byte" {
		t.Errorf("host %s, length %d, encoding %v, body %q", got.Host, got.ContentLength, got.TransferEncoding, server.body)
	}
	if !slices.Equal(got.Header["X-Many"], []string{"c", "a", "b"}) {
		t.Errorf("values in the order %q", got.Header["X-Many"])
	}
	for name, want := range map[string][]string{
		"Idempotency-Key": {"theirs"}, "Weir-Key": {"72d3162e"}, "Content-Length": {"15"}, "Accept-Encoding": nil,
		"X-Bad-Value": nil,
	} {
		if diff := cmp.Diff(want, got.Header[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnEmptyBodyHasALengthToo(t *testing.T) {
	server := newRecorder(t)
	send(t, outbound.Config{URL: server.URL}, job(""))
	if got := server.request; got.ContentLength != 0 || got.TransferEncoding != nil || got.Header.Get("Content-Length") != "0" {
		t.Errorf("length %d, encoding %v", got.ContentLength, got.TransferEncoding)
	}
}

func TestTheOperatorsHeadersWin(t *testing.T) {
	server := newRecorder(t)
	send(t, outbound.Config{
		URL: strings.Replace(server.URL, "//", "//user:pass@", 1),
		Headers: map[string]string{
			"content-type": "text/x", "User-Agent": "mine", "host": "other.example", "X-Own": "1", "Idempotency-Key": "k",
		},
	}, job("x"))
	want := map[string]string{
		"Content-Type": "text/x", "User-Agent": "mine", "X-Own": "1", "Idempotency-Key": "k",
		"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("user:pass")),
	}
	for name, value := range want {
		if got := server.request.Header[name]; len(got) != 1 || got[0] != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if server.request.Host != "other.example" {
		t.Errorf("host %s", server.request.Host)
	}
}

func TestAKeyThatNoFieldCanCarryIsEncoded(t *testing.T) {
	server := newRecorder(t)
	for key, want := range map[string]string{
		"plain key/1%": "plain key/1%", "line\nbreak": "line%0Abreak", "é": "%C3%A9", "%C3%A9": "%25C3%25A9", "%c3%a9": "%25c3%25a9", "100%": "100%", " edge": "%20edge",
	} {
		work := job("x")
		work.Event.Key = key
		send(t, outbound.Config{URL: server.URL}, work)
		if got := server.request.Header.Get("Weir-Key"); got != want {
			t.Errorf("key %q arrives as %q, want %q", key, got, want)
		}
	}
	work := job("x")
	work.Event.Key = ""
	send(t, outbound.Config{URL: server.URL}, work)
	if _, there := server.request.Header["Weir-Key"]; there {
		t.Error("an event without a key has one")
	}
}

func TestSigningReplacesTheSendersSignature(t *testing.T) {
	key := []byte("0123456789abcdef01234567")
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	server := newRecorder(t)
	work := job(`{"a":1}`)
	work.Event.Header = http.Header{
		"Webhook-Id": {"theirs"}, "Webhook-Signature": {"v1,theirs", "v1,again"}, "Webhook-Timestamp": {"1"},
		"Svix-Id": {"theirs"}, "Svix-Signature": {"theirs"}, "Svix-Timestamp": {"1"}, "Webhook-Topic": {"kept"},
	}
	for _, secret := range []string{secret, strings.TrimPrefix(secret, "whsec_")} {
		send(t, outbound.Config{URL: server.URL, SigningSecret: secret}, work)
		header := server.request.Header
		id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, server.body)
		want := []string{"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))}
		if diff := cmp.Diff(want, header["Webhook-Signature"]); diff != "" || id != work.Event.ID.String() {
			t.Errorf("id %s, signature (-want +got):\n%s", id, diff)
		}
		if header.Get("Svix-Id") != "" || header.Get("Svix-Signature") != "" || header.Get("Webhook-Topic") != "kept" {
			t.Errorf("header %v", header)
		}
	}
	send(t, outbound.Config{URL: server.URL}, work)
	if got := server.request.Header.Get("Webhook-Signature"); got != "v1,theirs" {
		t.Errorf("without a secret the signature is %q", got)
	}
}

func TestNewNamesWhatIsWrongAndNoSecret(t *testing.T) {
	for name, config := range map[string]outbound.Config{
		"no URL":           {},
		"no scheme":        {URL: "s3cret.example/x"},
		"another scheme":   {URL: "ftp://s3cret@x.example"},
		"no host":          {URL: "http:///s3cret"},
		"unparsable":       {URL: "http://u:s3cret@x.example/%zz"},
		"a header's name":  {URL: "http://x.example", Headers: map[string]string{"a b": "s3cret"}},
		"a header's value": {URL: "http://x.example", Headers: map[string]string{"A": "s3cret\n"}},
		"a framing header": {URL: "http://x.example", Headers: map[string]string{"content-length": "s3cret"}},
		"a header twice":   {URL: "http://x.example", Headers: map[string]string{"a": "s3cret", "A": "s3cret"}},
		"a signing secret": {URL: "http://x.example", SigningSecret: "whsec_s3cret!"},
		"an empty one":     {URL: "http://x.example", SigningSecret: "whsec_"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := outbound.New(config); err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestConfiguredSecretsAreNotKept(t *testing.T) {
	signing := base64.StdEncoding.EncodeToString([]byte("signing secret value"))
	basic := base64.StdEncoding.EncodeToString([]byte("who:other-password"))
	secrets := []string{"pass-in-url", "query-value", "header-token", "x-value/+", "other-password", basic, signing, "further-one"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://user:pass-in-url@x.example/further-one?a=query-value")
		w.Header().Set("X-RateLimit-Reason", "header-token")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "%q", secrets)
		fmt.Fprint(w, base64.StdEncoding.EncodeToString([]byte("header-token")), ` x-value\/+ x-value%2F%2B pass-in-u`)
	}))
	defer server.Close()
	answer := client(t, outbound.Config{
		URL: strings.Replace(server.URL, "//", "//me:pass-in-url@", 1) + "/?k=query-value",
		Headers: map[string]string{
			"X-A": "Bearer header-token", "X-B": "x-value/+", "X-C": "Basic " + basic,
		},
		SigningSecret: "whsec_" + signing, Secrets: []string{"further-one"},
	}).Send(context.Background(), job("x"))
	everything := kept(answer)
	if answer.Outcome != webhook.OutcomeRejected || !strings.Contains(everything, "[redacted]") {
		t.Fatalf("answer %+v", answer)
	}
	for _, secret := range append(secrets, "aGVhZGVyLXRva2Vu", `x-value\/+`, "x-value%2F%2B", "pass-in-u") {
		if strings.Contains(everything, secret) {
			t.Errorf("%q is kept: %q", secret, everything)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	var seen atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
	defer target.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(target.URL+"/new?token=x", status))
		answer := client(t, outbound.Config{URL: server.URL}).Send(context.Background(), job("x"))
		server.Close()
		if answer.Outcome != webhook.OutcomeMisdirected || answer.Status != status || answer.Evidence.Headers["Location"] != target.URL+"/new" {
			t.Errorf("answer %+v", answer)
		}
	}
	if seen.Load() != 0 {
		t.Error("the target saw a request")
	}
}

func TestB45EachAttemptCarriesTheWholeBody(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "the whole body" || r.ContentLength != 14 || r.TransferEncoding != nil {
			t.Errorf("body %q of length %d", body, r.ContentLength)
		}
		if requests.Add(1) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	c := client(t, outbound.Config{URL: server.URL})
	for _, want := range []webhook.Outcome{webhook.OutcomeTransient, webhook.OutcomeTransient, webhook.OutcomeDelivered} {
		if answer := c.Send(context.Background(), job("the whole body")); answer.Outcome != want {
			t.Errorf("answer %+v, want %s", answer, want)
		}
	}
}

func TestAnAgedSignatureIsMadeAnew(t *testing.T) {
	server := newRecorder(t)
	work := job(`{"a":1}`)
	work.Event.Header = http.Header{"Stripe-Signature": {"aged"}, "Webhook-Signature": {"aged"}, "X-Other": {"kept"}}
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef01234567"))
	for name, c := range map[string]struct {
		secret string
		fresh  http.Header
		want   bool
		stripe string
	}{
		"renewed":                     {"", http.Header{"Stripe-Signature": {"fresh"}}, true, "fresh"},
		"young":                       {"", nil, false, "aged"},
		"ours replaces it":            {secret, http.Header{"Webhook-Signature": {"fresh"}, "Webhook-Timestamp": {"2"}}, false, "aged"},
		"ours goes with another's":    {secret, http.Header{"Stripe-Signature": {"fresh"}}, true, "fresh"},
		"ours replaces Svix's family": {secret, http.Header{"Svix-Signature": {"fresh"}}, false, "aged"},
	} {
		t.Run(name, func(t *testing.T) {
			before := work.Event.Header.Clone()
			config := outbound.Config{URL: server.URL, SigningSecret: c.secret}
			config.Renew = func(source string, header http.Header, body []byte, now time.Time) http.Header {
				if source != work.Event.Source || header.Get("X-Other") != "kept" || string(body) != `{"a":1}` || now.IsZero() {
					t.Errorf("asked about %s, %v, %q, %v", source, header, body, now)
				}
				return c.fresh
			}
			answer := client(t, config).Send(context.Background(), work)
			if answer.Renewed != c.want {
				t.Errorf("renewed %v, want %v", answer.Renewed, c.want)
			}
			if got := server.request.Header.Get("Stripe-Signature"); got != c.stripe {
				t.Errorf("Stripe-Signature %q, want %q", got, c.stripe)
			}
			if got := server.request.Header.Get("Webhook-Signature"); strings.HasPrefix(got, "v1,") != (c.secret != "") {
				t.Errorf("Webhook-Signature %q", got)
			}
			if diff := cmp.Diff(before, work.Event.Header); diff != "" {
				t.Errorf("the stored fields were changed: %s", diff)
			}
		})
	}
}
