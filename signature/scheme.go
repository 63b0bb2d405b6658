package signature

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"weir/webhook"
)

// scheme says how one kind of sender signs, where its key is, and how it makes
// sure that a receiver is there.
type scheme struct {
	name string
	// secret reads a configured secret; nil where there is none.
	secret func(text string) (secret, error)
	// proofs are the ways to show who sent it; the first that a request takes
	// counts.
	proofs func(c Config) ([]proof, error)
	keys   []keyRule
	// unstable senders change bytes when they repeat an event.
	unstable bool
	// handshake answers GET, HEAD or OPTIONS; nil is none.
	handshake func(v *Verifier, r Request) (Verdict, bool)
	// challenge answers a verified POST that is a handshake; nil is an event.
	challenge func(v *Verifier, in *input, place int) *Challenge
	// alert is a sentence for the operator about a verified event, or empty.
	alert func(in *input) string
}

// Schemes names every scheme, in the order of the contract.
func Schemes() []string {
	var names []string
	for _, s := range schemes() {
		names = append(names, s.name)
	}
	return names
}

func find(name string) (scheme, bool) {
	for _, s := range schemes() {
		if s.name == name {
			return s, true
		}
	}
	return scheme{}, false
}

// NeedsURL reports whether a scheme signs the address and so needs
// [Config.PublicURL] whatever its other settings are.
func NeedsURL(name string) bool {
	s, found := find(name)
	if !found || s.name == "hmac" {
		return false
	}
	proofs, err := s.proofs(Config{})
	return err == nil && len(proofs) > 0 && proofs[0].needsURL()
}

// always returns the same ways for every configuration.
func always(proofs ...proof) func(Config) ([]proof, error) {
	return func(Config) ([]proof, error) { return proofs, nil }
}

// simple is an HMAC-SHA256 over the body.
func simple(name, prefix string, e encoding) *signed {
	return &signed{
		header: name, encoding: e, content: template{partBody},
		marks: []mark{{prefix, sha256MAC}},
	}
}

// standardProof is a signature by Standard Webhooks, with the given beginning
// of its three header names.
func standardProof(family string) *signed {
	return &signed{
		header: family + "-signature", separator: " ", encoding: inBase64,
		marks:    []mark{{"v1,", sha256MAC}, {"v1a,", ed25519ID}},
		idHeader: family + "-id", stamp: stampRule{header: family + "-timestamp"},
		content: template{partID, ".", partTimestamp, ".", partBody},
	}
}

// schemes is the table of all senders. The facts are those of each sender's
// own documentation.
func schemes() []scheme {
	return append(commonSchemes(), append(otherSchemes(), openSchemes()...)...)
}

func commonSchemes() []scheme {
	return []scheme{
		{
			name: "standard", secret: standardKey,
			proofs: always(standardProof("webhook"), standardProof("svix")),
			keys:   []keyRule{idThatIsSigned()},
		},
		{
			name: "github", secret: literalKey,
			proofs: always(simple("X-Hub-Signature-256", "sha256=", inHex)),
			keys:   []keyRule{header("X-GitHub-Delivery")},
		},
		{
			name: "gitlab", secret: gitlabKey,
			proofs: always(standardProof("webhook"), token{header: "X-Gitlab-Token"}),
			keys:   []keyRule{idThatIsSigned(), header("Idempotency-Key")},
		},
		{
			name: "stripe", secret: literalKey, unstable: true,
			proofs: always(&signed{
				header: "Stripe-Signature", separator: ",", encoding: inHex,
				marks: []mark{{"v1=", sha256MAC}}, stamp: stampRule{item: "t="},
				content: template{partTimestamp, ".", partBody},
			}),
			keys: []keyRule{member("id")},
		},
		{
			name: "shopify", secret: literalKey,
			proofs: always(simple("X-Shopify-Hmac-Sha256", "", inBase64)),
			keys:   []keyRule{header("X-Shopify-Webhook-Id"), header("X-Shopify-Topic", "X-Shopify-Event-Id")},
		},
		{
			name: "slack", secret: literalKey, challenge: slackChallenge,
			proofs: always(&signed{
				header: "X-Slack-Signature", encoding: inHex,
				marks: []mark{{"v0=", sha256MAC}}, stamp: stampRule{header: "X-Slack-Request-Timestamp"},
				content: template{"v0:", partTimestamp, ":", partBody},
			}),
			keys: []keyRule{member("event_id")},
		},
		{
			name: "twilio", secret: literalKey,
			proofs: always(&signed{
				header: "X-Twilio-Signature", encoding: inBase64,
				marks:   []mark{{"", sha1MAC}, {"", sha256MAC}},
				content: template{partURL, partForm}, urls: twilioURLs,
				choose: twilioMarks, chooser: "X-Twilio-Webhooks-Signature-Settings",
			}),
			keys: []keyRule{
				header("I-Twilio-Idempotency-Token"), field("MessageSid", "MessageStatus"),
				field("MessageSid", "SmsStatus"), field("MessageSid"),
			},
		},
		{
			name: "discord", secret: discordKey, challenge: discordPing,
			proofs: always(&signed{
				header: "X-Signature-Ed25519", encoding: inHex,
				marks: []mark{{"", ed25519ID}}, stamp: stampRule{header: "X-Signature-Timestamp"},
				content: template{partTimestamp, partBody},
			}),
			keys: []keyRule{member("id")},
		},
		{
			name: "meta", secret: literalKey, handshake: metaHandshake,
			proofs: always(simple("X-Hub-Signature-256", "sha256=", inHex)),
		},
		{
			name: "zoom", secret: literalKey, challenge: zoomChallenge,
			proofs: always(&signed{
				header: "x-zm-signature", encoding: inHex,
				marks: []mark{{"v0=", sha256MAC}}, stamp: stampRule{header: "x-zm-request-timestamp"},
				content: template{"v0:", partTimestamp, ":", partBody},
			}),
		},
		{
			name: "twitch", secret: literalKey, challenge: twitchChallenge, alert: twitchAlert,
			proofs: always(&signed{
				header: "Twitch-Eventsub-Message-Signature", encoding: inHex,
				marks:    []mark{{"sha256=", sha256MAC}},
				idHeader: "Twitch-Eventsub-Message-Id",
				stamp:    stampRule{header: "Twitch-Eventsub-Message-Timestamp", form: rfc3339},
				content:  template{partID, partTimestamp, partBody},
			}),
			keys: []keyRule{idThatIsSigned()},
		},
	}
}

func otherSchemes() []scheme {
	return []scheme{
		{
			name: "square", secret: literalKey,
			proofs: always(&signed{
				header: "x-square-hmacsha256-signature", encoding: inBase64,
				marks: []mark{{"", sha256MAC}}, content: template{partURL, partBody},
			}),
			keys: []keyRule{member("event_id")},
		},
		{
			name: "paddle", secret: literalKey,
			proofs: always(&signed{
				header: "Paddle-Signature", separator: ";", encoding: inHex,
				marks: []mark{{"h1=", sha256MAC}}, stamp: stampRule{item: "ts="},
				content: template{partTimestamp, ":", partBody},
			}),
			keys: []keyRule{member("event_id")},
		},
		{
			name: "linear", secret: literalKey,
			proofs: always(&signed{
				header: "Linear-Signature", encoding: inHex,
				marks: []mark{{"", sha256MAC}}, content: template{partBody},
				stamp: stampRule{member: "webhookTimestamp", form: millis},
			}),
			keys: []keyRule{header("Linear-Delivery")},
		},
		{
			name: "hubspot", secret: literalKey, unstable: true,
			proofs: always(&signed{
				header: "X-HubSpot-Signature-v3", encoding: inBase64,
				marks:   []mark{{"", sha256MAC}},
				stamp:   stampRule{header: "X-HubSpot-Request-Timestamp", form: millis},
				content: template{partMethod, partURI, partBody, partTimestamp},
			}),
			keys: []keyRule{member("eventId", "subscriptionId", "occurredAt")},
		},
		{
			name: "pagerduty", secret: literalKey,
			proofs: always(&signed{
				header: "X-PagerDuty-Signature", separator: ",", encoding: inHex,
				marks: []mark{{"v1=", sha256MAC}}, content: template{partBody},
			}),
			keys: []keyRule{member("event.id")},
		},
		{
			name: "bitbucket", secret: literalKey,
			proofs: always(simple("X-Hub-Signature", "sha256=", inHex)),
			keys:   []keyRule{header("X-Request-UUID")},
		},
		{
			name: "gitea", secret: literalKey, proofs: giteaProofs,
			keys: []keyRule{
				header("X-Gitea-Delivery"), header("X-Forgejo-Delivery"),
				header("X-Gogs-Delivery"), header("X-GitHub-Delivery"),
			},
		},
		{
			name: "dropbox", secret: literalKey, handshake: dropboxHandshake,
			proofs: always(simple("X-Dropbox-Signature", "", inHex)),
		},
		{
			name: "typeform", secret: literalKey,
			proofs: always(simple("Typeform-Signature", "sha256=", inBase64)),
			keys:   []keyRule{member("event_id")},
		},
		{
			name: "intercom", secret: literalKey,
			proofs: always(&signed{
				header: "X-Hub-Signature", encoding: inHex,
				marks: []mark{{"sha1=", sha1MAC}}, content: template{partBody},
			}),
			keys: []keyRule{member("id")},
		},
		{
			name: "telegram", secret: sharedText,
			proofs: always(token{header: "X-Telegram-Bot-Api-Secret-Token"}),
			keys:   []keyRule{member("update_id")},
		},
		{
			name: "lemonsqueezy", secret: literalKey,
			proofs: always(simple("X-Signature", "", inHex)),
		},
		{
			name: "cloudevents", secret: sharedText, handshake: cloudEventsHandshake,
			proofs: always(token{header: "Authorization", auth: "Bearer"}, token{query: "access_token"}),
			keys:   []keyRule{header("ce-id", "ce-source"), member("id", "source")},
		},
	}
}

// openSchemes are those that belong to no sender. Their senders may give an
// Idempotency-Key.
func openSchemes() []scheme {
	keys := []keyRule{header("Idempotency-Key")}
	return []scheme{
		{name: "hmac", secret: literalKey, proofs: hmacProofs, keys: keys},
		{name: "token", secret: sharedText, proofs: tokenProofs, keys: keys, challenge: graphChallenge},
		{name: "basic", secret: credentials, proofs: always(token{header: "Authorization", auth: "Basic"}), keys: keys},
		{name: "none", proofs: always(open{}), keys: keys},
	}
}

// giteaProofs: the first of the headers that a request has counts. All of
// them hold the same signature.
func giteaProofs(Config) ([]proof, error) {
	var proofs []proof
	for _, m := range [][2]string{
		{"X-Gitea-Signature"}, {"X-Forgejo-Signature"}, {"X-Gogs-Signature"},
		{"X-Hub-Signature-256", "sha256="},
	} {
		s := simple(m[0], m[1], inHex)
		s.content = template{partPayload}
		proofs = append(proofs, s)
	}
	return proofs, nil
}

// twilioMarks picks the algorithm that the settings header announces; without
// the header it is SHA-1.
func twilioMarks(header http.Header, marks []mark) []mark {
	settings := header.Get("X-Twilio-Webhooks-Signature-Settings")
	if settings == "" {
		return marks[:1]
	}
	for item := range strings.SplitSeq(settings, ",") {
		switch strings.TrimSpace(item) {
		case "algorithm=HMAC_SHA256":
			return marks[1:]
		case "algorithm=HMAC_SHA1":
			return marks[:1]
		}
	}
	return nil
}

// hmacProofs builds the configurable signature.
func hmacProofs(c Config) ([]proof, error) {
	var problems []error
	if !isHeaderName(c.HMAC.Header) {
		problems = append(problems, errors.New("the HMAC header is missing or not a header name"))
	}
	if c.HMAC.TimestampHeader != "" && !isHeaderName(c.HMAC.TimestampHeader) {
		problems = append(problems, errors.New("the HMAC timestamp header is not a header name"))
	}
	a := algorithm(orElse(c.HMAC.Algorithm, string(sha256MAC)))
	if a.newHash() == nil {
		problems = append(problems, errors.New("the HMAC algorithm is not sha1, sha256, sha384 or sha512"))
	}
	e := encoding(orElse(c.HMAC.Encoding, string(inHex)))
	if e != inHex && e != inBase64 {
		problems = append(problems, errors.New("the HMAC encoding is neither hex nor base64"))
	}
	content, err := parseTemplate(c.HMAC.Template)
	problems = append(problems, err)
	s := &signed{
		header: c.HMAC.Header, encoding: e, content: content,
		marks: []mark{{c.HMAC.Prefix, a}}, stamp: stampRule{header: c.HMAC.TimestampHeader},
	}
	problems = append(problems, s.checkParts(c))
	return []proof{s}, errors.Join(problems...)
}

// checkParts holds the template and the headers that it needs together.
func (s *signed) checkParts(c Config) error {
	if s.content.uses(partTimestamp) != (s.stamp.header != "") {
		return errors.New("the HMAC template's {timestamp} and the timestamp header need each other")
	}
	if !s.content.uses(partID) {
		return nil
	}
	name, found := strings.CutPrefix(c.Key, string(inHeader)+":")
	if !found || !isHeaderName(name) {
		return errors.New("the HMAC template's {id} needs a key of the form header:NAME")
	}
	s.idHeader = name
	return nil
}

// tokenProofs reads the setting TOKEN_IN.
func tokenProofs(c Config) ([]proof, error) {
	kind, name, _ := strings.Cut(orElse(c.TokenIn, "bearer"), ":")
	switch {
	case kind == "bearer" && name == "":
		return []proof{token{header: "Authorization", auth: "Bearer"}}, nil
	case kind == "header" && isHeaderName(name):
		return []proof{token{header: http.CanonicalHeaderKey(name)}}, nil
	case kind == "query" && name != "":
		return []proof{token{query: name}}, nil
	}
	return nil, fmt.Errorf("token in %q is not bearer, header:NAME or query:NAME", c.TokenIn)
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// accepted is the verdict on a handshake that is answered.
func accepted(answer *Challenge) Verdict {
	return Verdict{Result: webhook.ResultChallenge, Secret: -1, Challenge: answer}
}
