package signature

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

// renewable are the schemes whose signatures can be made anew.
var renewable = []string{
	"standard", "stripe", "slack", "zoom", "twitch", "paddle", "hubspot", "hmac",
}

// renewed returns the request with what Renew replaces, and whether it does.
func renewed(t testing.TB, v *Verifier, r Request, now time.Time) (Request, bool) {
	t.Helper()
	before := r.Header.Clone()
	fresh := v.Renew(r.Header, r.Body, now)
	if diff := cmp.Diff(before, r.Header); diff != "" {
		t.Errorf("Renew has changed what it was given: %s", diff)
	}
	r.Header = before
	maps.Copy(r.Header, fresh)
	return r, len(fresh) > 0
}

func TestRenewedSignaturesVerifyHoweverLate(t *testing.T) {
	configs := variants()
	for _, scheme := range renewable {
		configs[scheme] = testConfig(scheme)
	}
	for _, name := range append(renewable, "gitlab signing", "standard v1a", "twitch long secret", "stripe whsec secret") {
		t.Run(name, func(t *testing.T) {
			v := newVerifier(t, configs[name])
			if v.Renewal() != RenewalPossible {
				t.Errorf("renewal %v", v.Renewal())
			}
			original := signSample(t, v)
			key := v.Verify(original, testNow).Key
			for _, late := range []time.Duration{SignAge, 6 * time.Minute, time.Hour, 72 * time.Hour} {
				now := testNow.Add(late)
				r, changed := renewed(t, v, original, now)
				got := v.Verify(r, now)
				if !changed || got.Result != webhook.ResultAccepted || got.Key != key {
					t.Errorf("%v late: changed %v, %s (%s), key %q", late, changed, got.Result, got.Reason, got.Key)
				}
				if diff := cmp.Diff(slices.Sorted(maps.Keys(original.Header)), slices.Sorted(maps.Keys(r.Header))); diff != "" {
					t.Errorf("other fields than those that came: %s", diff)
				}
			}
		})
	}
}

func TestAYoungSignatureIsPassedThrough(t *testing.T) {
	for _, scheme := range renewable {
		v := newVerifier(t, testConfig(scheme))
		r := signSample(t, v)
		for _, age := range []time.Duration{-time.Hour, -time.Second, 0, time.Second, SignAge - time.Millisecond} {
			if fresh := v.Renew(r.Header, r.Body, testNow.Add(age)); fresh != nil {
				t.Errorf("%s, signed %v ago: %v replaced", scheme, age, slices.Sorted(maps.Keys(fresh)))
			}
		}
		if fresh := v.Renew(r.Header, r.Body, testNow.Add(SignAge)); fresh == nil {
			t.Errorf("%s, signed %v ago: nothing replaced", scheme, SignAge)
		}
	}
}

func TestRenewalUsesTheCurrentSecret(t *testing.T) {
	for _, scheme := range renewable {
		sender := testConfig(scheme)
		r := signSample(t, newVerifier(t, sender))
		current := "another secret"
		if scheme == "standard" {
			current = "whsec_c2Vjb25kLXNlY3JldA=="
		}
		weir := sender
		weir.Secrets = []string{current, sender.Secrets[0]}
		now := testNow.Add(time.Hour)
		late, _ := renewed(t, newVerifier(t, weir), r, now)
		application := sender
		application.Secrets = []string{current}
		if got := newVerifier(t, application).Verify(late, now); got.Result != webhook.ResultAccepted {
			t.Errorf("%s: %s (%s)", scheme, got.Result, got.Reason)
		}
	}
}

func TestWhatNoSecretVerifiesIsNeverSigned(t *testing.T) {
	for _, scheme := range renewable {
		config := testConfig(scheme)
		v := newVerifier(t, config)
		r := signSample(t, v)
		now := testNow.Add(time.Hour)
		if fresh := v.Renew(r.Header, append([]byte("x"), r.Body...), now); fresh != nil {
			t.Errorf("%s: a changed body was signed", scheme)
		}
		for name := range v.Renew(r.Header, r.Body, now) {
			bare := r.Header.Clone()
			bare.Del(name)
			if fresh := v.Renew(bare, r.Body, now); fresh != nil {
				t.Errorf("%s without %s: signed", scheme, name)
			}
		}
		config.Secrets = []string{"c2Vjb25kLXNlY3JldA=="}
		if fresh := newVerifier(t, config).Renew(r.Header, r.Body, now); fresh != nil {
			t.Errorf("%s: signed by a secret that is withdrawn, and signed anew", scheme)
		}
	}
}

func TestBothFamiliesOfStandardWebhooksAreRenewed(t *testing.T) {
	v := newVerifier(t, testConfig("standard"))
	r := signSample(t, v)
	for _, part := range []string{"Id", "Timestamp", "Signature"} {
		r.Header.Set("Svix-"+part, r.Header.Get("Webhook-"+part))
	}
	fresh := v.Renew(r.Header, r.Body, testNow.Add(time.Hour))
	want := []string{"Svix-Signature", "Svix-Timestamp", "Webhook-Signature", "Webhook-Timestamp"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(fresh))); diff != "" {
		t.Error(diff)
	}
	if fresh.Get("Svix-Signature") != fresh.Get("Webhook-Signature") {
		t.Error("the same id, time and body have two signatures")
	}
}

func TestRenewalOfASignedAddress(t *testing.T) {
	v := newVerifier(t, testConfig("hubspot"))
	for target, want := range map[string]bool{"": true, "/": true, "?tenant=1": false} {
		r := v.Sample(testID, testNow)
		r.Target += target
		r, err := v.Sign(r, testID, testNow)
		if err != nil {
			t.Fatal(err)
		}
		now := testNow.Add(time.Hour)
		late, changed := renewed(t, v, r, now)
		if changed != want {
			t.Errorf("called at %q: changed %v", target, changed)
		}
		if got := v.Verify(late, now); changed && got.Result != webhook.ResultAccepted {
			t.Errorf("called at %q: %s (%s)", target, got.Result, got.Reason)
		}
	}
}

func TestWhatCannotBeRenewedIsLeftAlone(t *testing.T) {
	public := func(scheme string) Config {
		owner := testConfig(scheme)
		owner.Secrets = []string{"seed:" + hex.EncodeToString(testSeed)}
		if scheme == "standard" {
			owner.Secrets = []string{"whsk_" + base64.StdEncoding.EncodeToString(testSeed)}
		}
		key := newVerifier(t, owner).secrets[0].key
		owner.Secrets = []string{hex.EncodeToString(key)}
		if scheme == "standard" {
			owner.Secrets = []string{"whpk_" + base64.StdEncoding.EncodeToString(key)}
		}
		return owner
	}
	configs := map[string]Config{"standard": public("standard"), "discord": public("discord")}
	key := testConfig("sendgrid")
	key.Secrets = []string{testSendgridKey}
	configs["sendgrid"] = key
	want := map[string]Renewal{"standard": RenewalImpossible, "discord": RenewalImpossible, "linear": RenewalImpossible, "sendgrid": RenewalImpossible, "mailgun": RenewalImpossible}
	for _, scheme := range Schemes() {
		if _, own := configs[scheme]; !own && !slices.Contains(renewable, scheme) {
			configs[scheme] = testConfig(scheme)
		}
	}
	for scheme, config := range configs {
		v := newVerifier(t, config)
		if got := v.Renewal(); got != want[scheme] {
			t.Errorf("%s: renewal %v, want %v", scheme, got, want[scheme])
		}
		r, err := v.Sign(v.Sample(testID, testNow), testID, testNow)
		if err != nil {
			r = v.Sample(testID, testNow)
			r.Header = http.Header{
				"X-Signature-Ed25519": {fmt.Sprintf("%0128x", 1)}, "X-Signature-Timestamp": {fmt.Sprint(testNow.Unix())},
				"Webhook-Id": {"a"}, "Webhook-Timestamp": {fmt.Sprint(testNow.Unix())}, "Webhook-Signature": {"v1a,AAAA"},
			}
		}
		if fresh := v.Renew(r.Header, r.Body, testNow.Add(time.Hour)); fresh != nil {
			t.Errorf("%s: %v", scheme, fresh)
		}
	}
}
