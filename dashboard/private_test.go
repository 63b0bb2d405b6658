package dashboard

import "testing"

func TestB80CredentialsAndSignaturesAreNotShown(t *testing.T) {
	d := &Dashboard{config: Config{Signatures: map[string]string{"own": "x-sum"}}}
	for name, want := range map[string]bool{
		"X-Hub-Signature-256": true, "Stripe-Signature": true, "X-Shopify-Hmac-Sha256": true, "Webhook-Signature": true,
		"Twitch-Eventsub-Message-Signature": true, "X-Signature-Ed25519": true, "X-Api-Key": true, "X-Apikey": true,
		"X-Gitlab-Token": true, "Set-Cookie": true, "X-Auth-Key": true, "X-Client-Secret": true, "X-Amz-Access-Key": true,
		"X-GitHub-Delivery": false, "Content-Type": false, "Idempotency-Key": false, "X-Event-Key": false, "Webhook-Id": false,
		"X-Shopify-Topic": false, "User-Agent": false, "X-Slack-Request-Timestamp": false, "X-Sum": false,
	} {
		if got := d.private("github", name); got != want {
			t.Errorf("%s: private %t, want %t", name, got, want)
		}
	}
	if !d.private("own", "X-Sum") {
		t.Error("the header of a source's own signature is shown")
	}
}
