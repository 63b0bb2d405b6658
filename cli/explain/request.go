// Package explain answers "what would weir make of this?" for requests of
// senders, answers of destinations, and single waits.
//
// # Guarantees
//
// It runs the code that serves, not a copy. It does no I/O but to read its input
// and to write its output: one line of JSON for each case. What it cannot read
// is an [ErrInput] that names the case.
//
// # Example
//
//	err := explain.Wait(strings.NewReader(`{"id":"a","header":"Retry-After","value":"1.5"}`), os.Stdout)
//	// prints {"id":"a","ms":1500}
package explain

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strings"
	"time"

	"weir/signature"
	"weir/webhook"
)

// requestCase is a request as testdata/vectors/signatures.json describes it.
type requestCase struct {
	Name         string       `json:"name"`
	Scheme       string       `json:"scheme"`
	Secret       string       `json:"secret"`
	ExtraSecrets []string     `json:"extra_secrets"`
	Method       string       `json:"method"`
	URL          string       `json:"url"`
	Headers      headerLines  `json:"headers"`
	Body         string       `json:"body"`
	BodyBase64   string       `json:"body_base64"`
	Now          float64      `json:"now"`
	Config       schemeConfig `json:"config"`
}

// schemeConfig configures the schemes hmac and token.
type schemeConfig struct {
	Header          string  `json:"header"`
	Algorithm       string  `json:"algorithm"`
	Encoding        string  `json:"encoding"`
	Prefix          string  `json:"prefix"`
	TimestampHeader string  `json:"timestamp_header"`
	Signed          string  `json:"signed"`
	ToleranceS      float64 `json:"tolerance_s"`
	IDHeader        string  `json:"id_header"`
	IDJSON          string  `json:"id_json"`
	SignedBody      string  `json:"signed_body"`
	TokenIn         string  `json:"token_in"`
}

// headerLines are header lines by name; one line may be given as a text.
type headerLines http.Header

// UnmarshalJSON reads an object of texts or lists of texts.
func (h *headerLines) UnmarshalJSON(text []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	lines := http.Header{}
	for name, value := range raw {
		var several []string
		var one string
		if json.Unmarshal(value, &one) == nil {
			several = []string{one}
		} else if err := json.Unmarshal(value, &several); err != nil {
			return fmt.Errorf("header %q: %w", name, err)
		}
		for _, line := range several {
			lines.Add(name, line)
		}
	}
	*h = headerLines(lines)
	return nil
}

// requestExplanation is what weir makes of a request.
type requestExplanation struct {
	Name       string         `json:"name"`
	Verdict    string         `json:"verdict"`
	Reason     string         `json:"reason"`
	DeliveryID *string        `json:"delivery_id"`
	Respond    *explainAnswer `json:"respond,omitempty"`
}

// explainAnswer is the answer to a handshake.
type explainAnswer struct {
	Status  int               `json:"status"`
	Body    string            `json:"body"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Request reads requests, in the forms of [explainResponse], and writes
// one line of JSON for each.
func Request(in io.Reader, out io.Writer) error {
	return explainEach(in, out, requestCase.explain)
}

// explain runs the verifier that serves.
func (c requestCase) explain() (requestExplanation, error) {
	request, err := c.request()
	if err != nil {
		return requestExplanation{}, err
	}
	verifier, err := signature.New(c.verifierConfig())
	if err != nil {
		return requestExplanation{Name: c.Name, Verdict: "invalid", Reason: strings.ReplaceAll(err.Error(), "\n", "; ")}, nil
	}
	if request.Method == http.MethodPost {
		whole, part := math.Modf(c.Now)
		return explained(c.Name, verifier.Verify(request, time.Unix(int64(whole), int64(part*1e9)))), nil
	}
	verdict, answered := verifier.Handshake(request)
	if !answered {
		return requestExplanation{Name: c.Name, Verdict: "invalid", Reason: "the scheme has no handshake of this form"}, nil
	}
	return explained(c.Name, verdict), nil
}

// request returns the request as it would have been received.
func (c requestCase) request() (signature.Request, error) {
	body := []byte(c.Body)
	if c.BodyBase64 != "" {
		raw, err := base64.StdEncoding.DecodeString(c.BodyBase64)
		if err != nil {
			return signature.Request{}, fmt.Errorf("decoding body_base64: %w", err)
		}
		body = raw
	}
	_, target := divideURL(c.URL)
	header := http.Header{}
	maps.Copy(header, http.Header(c.Headers))
	return signature.Request{Method: c.method(), Target: target, Header: header, Body: body}, nil
}

// divideURL splits an address into what the operator would configure as the
// public URL, and the request target.
func divideURL(address string) (public, target string) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return "", address
	}
	rest, _, _ = strings.Cut(rest, "#")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	return scheme + "://" + rest[:end], rest[end:]
}

// verifierConfig returns the settings of the source that the case describes.
func (c requestCase) verifierConfig() signature.Config {
	public, _ := divideURL(c.URL)
	config := signature.Config{
		Scheme: schemeName(c.Scheme), Source: "explain",
		Secrets: c.ExtraSecrets, VerifyToken: c.Secret, PublicURL: public,
		Tolerance:  time.Duration(c.Config.ToleranceS * float64(time.Second)),
		SignedBody: c.Config.SignedBody, TokenIn: c.Config.TokenIn,
		HMAC: signature.HMAC{
			Header: c.Config.Header, Algorithm: c.Config.Algorithm,
			Encoding: c.Config.Encoding, Prefix: c.Config.Prefix,
			TimestampHeader: c.Config.TimestampHeader, Template: c.Config.Signed,
		},
	}
	if c.Secret != "" {
		config.Secrets = append([]string{c.Secret}, c.ExtraSecrets...)
	}
	switch {
	case c.Config.IDHeader != "":
		config.Key = "header:" + c.Config.IDHeader
	case c.Config.IDJSON != "":
		config.Key = "json:" + c.Config.IDJSON
	}
	if len(config.Secrets) == 0 && c.method() != http.MethodPost && config.Scheme != "none" {
		config.Secrets = []string{"handshakes by these methods look at no signature"}
	}
	if config.Scheme == "token" && config.TokenIn == "" && c.Config.Header != "" {
		config.TokenIn = "header:" + c.Config.Header
	}
	return config
}

// method is POST unless the case says otherwise: a handshake.
func (c requestCase) method() string { return strings.ToUpper(cmp.Or(c.Method, http.MethodPost)) }

// schemeName drops the variant and knows the other names of two schemes.
func schemeName(text string) string {
	name, _, _ := strings.Cut(text, "/")
	switch name {
	case "svix", "standard-webhooks":
		return "standard"
	case "generic":
		return "hmac"
	}
	return name
}

func explained(name string, verdict signature.Verdict) requestExplanation {
	out := requestExplanation{Name: name, Verdict: "invalid", Reason: verdict.Reason}
	switch verdict.Result {
	case webhook.ResultAccepted:
		out.Verdict, out.Reason = "valid", matched(verdict.Secret)
		if verdict.Key != "" {
			out.DeliveryID = &verdict.Key
		}
	case webhook.ResultChallenge:
		out.Verdict, out.Reason = "valid", "a handshake: it is answered and not stored"
	}
	if verdict.Challenge != nil {
		out.Respond = respond(*verdict.Challenge)
	}
	return out
}

func matched(place int) string {
	if place < 0 {
		return "the scheme asks for no proof"
	}
	return fmt.Sprintf("secret %d matches", place+1)
}

func respond(challenge signature.Challenge) *explainAnswer {
	out := &explainAnswer{Status: challenge.Status, Body: string(challenge.Body)}
	for name := range challenge.Header {
		if strings.HasPrefix(name, "Webhook-Allowed-") {
			if out.Headers == nil {
				out.Headers = map[string]string{}
			}
			out.Headers[name] = challenge.Header.Get(name)
		}
	}
	return out
}
