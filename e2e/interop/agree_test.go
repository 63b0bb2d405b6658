//go:build interop

package interop

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/signature"
	"weir/webhook"
)

// pair is a library and the source that signs for it.
type pair struct {
	library string
	config  signature.Config
	// shown is what the library is given; the source's secret where empty.
	shown string
	// signs says that the library can sign, too; ages that it refuses what is old.
	signs, ages bool
}

// pairs are the libraries with the schemes that they verify.
func pairs() []pair {
	of := func(scheme string) signature.Config {
		return signature.Config{Scheme: scheme, Source: scheme, Secrets: []string{"secret-of-" + scheme}, PublicURL: publicURL}
	}
	seed := make([]byte, ed25519.SeedSize)
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	discord, razorpay, standard := of("discord"), of("hmac"), of("standard")
	discord.Secrets = []string{"seed:" + hex.EncodeToString(seed)}
	razorpay.HMAC = signature.HMAC{Header: "X-Razorpay-Signature"}
	razorpay.Key = "header:X-Razorpay-Event-Id"
	standard.Secrets = []string{whsec}
	return []pair{
		{library: "stripe", config: of("stripe"), signs: true, ages: true},
		{library: "standardwebhooks", config: standard, signs: true, ages: true},
		{library: "svix", config: standard, signs: true, ages: true},
		{library: "openai", config: standard, ages: true},
		{library: "slack", config: of("slack"), ages: true},
		{library: "hubspot", config: of("hubspot"), signs: true, ages: true},
		{library: "paddle", config: of("paddle"), ages: true},
		{library: "octokit", config: of("github"), signs: true},
		{library: "twilio", config: of("twilio"), signs: true},
		{library: "shopify", config: of("shopify")},
		{library: "square", config: of("square")},
		{library: "linear", config: of("linear"), ages: true},
		{library: "razorpay", config: razorpay},
		{library: "discord", config: discord, shown: hex.EncodeToString(public)},
	}
}

func (p pair) secret() string {
	if p.shown != "" {
		return p.shown
	}
	return p.config.Secrets[0]
}

func (p pair) verifier(t *testing.T) *signature.Verifier {
	t.Helper()
	v, err := signature.New(p.config)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// signed is a sample of the source with an id, signed at a time.
func (p pair) signed(t *testing.T, id string, at time.Time) signature.Request {
	t.Helper()
	v := p.verifier(t)
	r := v.Sample(id, at)
	if p.library == "shopify" {
		r.Header.Set("X-Shopify-Shop-Domain", "harbour.myshopify.com")
		r.Header.Set("X-Shopify-API-Version", "2025-07")
	}
	r, err := v.Sign(r, id, at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (p pair) accepts(r signature.Request) error {
	return accepts(p.library, p.secret(), publicURL+r.Target, r.Header, r.Body)
}

func TestWeirSignsAndTheLibraryVerifies(t *testing.T) {
	t.Parallel()
	for _, p := range pairs() {
		t.Run(p.library, func(t *testing.T) {
			now := time.Now()
			for _, id := range []string{"evt-1", strings.Repeat("x", 200), "0193-AbC"} {
				if err := p.accepts(p.signed(t, id, now)); err != nil {
					t.Errorf("id %.20s: %v", id, err)
				}
			}
			r := p.signed(t, "evt-1", now)
			changed := r
			changed.Body = append([]byte(nil), append(r.Body, ' ')...)
			if err := p.accepts(changed); err == nil {
				t.Error("a changed body is accepted")
			}
			other := p
			other.shown = strings.Map(func(c rune) rune { return map[rune]rune{'e': 'f', 'a': 'b', '3': '4'}[c] | c }, p.secret())
			if err := other.accepts(r); err == nil {
				t.Error("another secret is accepted")
			}
			if err := p.accepts(p.signed(t, "evt-1", now.Add(-time.Hour))); (err != nil) != p.ages {
				t.Errorf("an hour old: %v", err)
			}
		})
	}
}

func TestTheLibrarySignsAndWeirVerifies(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	bodies := []string{`{"id":"evt-1","text":"höchst\u001b[0m 🌊"}`, "{}", "{\r\n}\n", strings.Repeat(`{"a":1}`, 100_000)}
	for _, p := range pairs() {
		if !p.signs {
			continue
		}
		t.Run(p.library, func(t *testing.T) {
			v := p.verifier(t)
			for i, body := range bodies {
				header := http.Header{"Content-Type": {"application/json"}}
				if p.library == "twilio" {
					body = fmt.Sprint("MessageSid=SM", i, "&Body=h%C3%B6chst+%26+it%27s&%F0%9F%8C%8A=1&%EE%80%80=2")
					header.Set("Content-Type", "application/x-www-form-urlencoded")
				}
				r := signature.Request{Method: "POST", Target: "/hooks/" + p.config.Source, Header: header, Body: []byte(body)}
				q := question{
					Library: p.library, Op: "sign", Secret: p.secret(), Headers: lower(header), Body: r.Body,
					URL: publicURL + r.Target, ID: fmt.Sprint("id-", i), Time: now.Unix(),
				}
				answer, err := libraries.ask(q)
				if err != nil || !answer.OK {
					t.Fatalf("signing: %v %s", err, answer.Error)
				}
				for name, value := range answer.Headers {
					r.Header.Set(name, value)
				}
				if got := v.Verify(r, now); got.Result != webhook.ResultAccepted {
					t.Errorf("%.40q: %s (%s)", body, got.Result, got.Reason)
				}
				rotated := p.config
				rotated.Secrets = []string{whsec[:len(whsec)-4] + "AAA=", p.secret()}
				if u, err := signature.New(rotated); err != nil || u.Verify(r, now).Secret != 1 {
					t.Errorf("the previous secret: %v", err)
				}
				r.Body = append([]byte("a=b&"), r.Body...)
				if got := v.Verify(r, now); got.Result != webhook.ResultBadSignature {
					t.Errorf("a changed body is %s", got.Result)
				}
				r.Body = []byte(body)
				for _, off := range []time.Duration{time.Hour, -time.Hour} {
					if got := v.Verify(r, now.Add(off)); (got.Result == webhook.ResultStale) != p.ages {
						t.Errorf("%v later: %s", off, got.Result)
					}
				}
			}
		})
	}
}
