package signature

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"weir/webhook"
)

// vector is a case of the files signatures….json in testdata/vectors.
type vector struct {
	Name         string
	Scheme       string
	Secret       string
	ExtraSecrets []string `json:"extra_secrets"`
	Method, URL  string
	Headers      map[string][]string
	Body         string
	BodyBase64   string `json:"body_base64"`
	Now          int64
	Want, Why    string
	DeliveryID   *string `json:"delivery_id"`
	Config       struct {
		Header, Algorithm, Encoding, Prefix string
		TimestampHeader                     string `json:"timestamp_header"`
		Signed                              string
		ToleranceS                          int    `json:"tolerance_s"`
		IDHeader                            string `json:"id_header"`
		IDJSON                              string `json:"id_json"`
	}
	Respond *struct {
		Status int
		Body   string
	}
}

func vectors(t testing.TB) []vector {
	t.Helper()
	var all []vector
	for _, name := range []string{"signatures.json", "signatures-field.json"} {
		text, err := os.ReadFile("../testdata/vectors/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var some []vector
		if err := json.Unmarshal(text, &some); err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

// public is the part of the address that the operator configures.
func (c vector) public() string {
	path := strings.Index(strings.TrimPrefix(c.URL, "https://"), "/")
	return c.URL[:len("https://")+max(path, 0)]
}

func (c vector) config() Config {
	name, _, _ := strings.Cut(c.Scheme, "/")
	if name == "standard-webhooks" {
		name = "standard"
	}
	config := Config{
		Scheme: name, Source: "test", PublicURL: c.public(), Secrets: append([]string{c.Secret}, c.ExtraSecrets...),
		Tolerance: time.Duration(c.Config.ToleranceS) * time.Second,
		HMAC: HMAC{
			Header: c.Config.Header, Algorithm: c.Config.Algorithm, Encoding: c.Config.Encoding,
			Prefix: c.Config.Prefix, TimestampHeader: c.Config.TimestampHeader, Template: c.Config.Signed,
		},
	}
	if c.Config.IDHeader != "" {
		config.Key = "header:" + c.Config.IDHeader
	}
	if c.Config.IDJSON != "" {
		config.Key = "json:" + c.Config.IDJSON
	}
	return config
}

func (c vector) request(t testing.TB) Request {
	t.Helper()
	header := http.Header{}
	for name, values := range c.Headers {
		for _, value := range values {
			header.Add(name, value)
		}
	}
	body := []byte(c.Body)
	if c.BodyBase64 != "" {
		raw, err := base64.StdEncoding.DecodeString(c.BodyBase64)
		if err != nil {
			t.Fatal(err)
		}
		body = raw
	}
	return Request{Method: c.Method, Target: strings.TrimPrefix(c.URL, c.public()), Header: header, Body: body}
}

func TestVectors(t *testing.T) {
	all := vectors(t)
	if len(all) != 126 {
		t.Fatalf("%d vectors, want 126", len(all))
	}
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			v, err := New(c.config())
			if err != nil {
				if c.Want != "invalid" || c.Secret != "" {
					t.Fatal(err)
				}
				return
			}
			checkVector(t, c, v.Verify(c.request(t), time.Unix(c.Now, 0)))
		})
	}
}

func checkVector(t *testing.T, c vector, got Verdict) {
	t.Helper()
	valid := got.Result == webhook.ResultAccepted || got.Result == webhook.ResultChallenge
	if valid != (c.Want == "valid") {
		t.Fatalf("result %s (%s), want %s: %s", got.Result, got.Reason, c.Want, c.Why)
	}
	if valid != (got.Reason == "") {
		t.Errorf("result %s has the reason %q", got.Result, got.Reason)
	}
	want := ""
	if c.DeliveryID != nil {
		want = *c.DeliveryID
	}
	if got.Key != want {
		t.Errorf("key %q, want %q", got.Key, want)
	}
	if (got.Key == "") != (got.KeyFrom == "") {
		t.Errorf("key %q comes from %q", got.Key, got.KeyFrom)
	}
	if c.Respond == nil {
		if got.Challenge != nil {
			t.Errorf("an answer %q that nobody asked for", got.Challenge.Body)
		}
		return
	}
	if got.Challenge == nil || got.Challenge.Status != c.Respond.Status || string(got.Challenge.Body) != c.Respond.Body {
		t.Errorf("answer %+v, want %+v", got.Challenge, c.Respond)
	}
}
