package signature

// bodySchemes sign the bytes of the body and nothing else.
func bodySchemes() []scheme {
	return []scheme{
		{
			name: "github", secret: literalKey,
			proofs: always(simple("X-Hub-Signature-256", "sha256=", inHex)),
			keys:   []keyRule{header("X-GitHub-Delivery")},
		},
		{
			name: "shopify", secret: literalKey,
			// Shopify's Events have the same headers without "X-".
			proofs: always(
				simple("X-Shopify-Hmac-Sha256", "", inBase64),
				simple("Shopify-Hmac-Sha256", "", inBase64),
			),
			keys: []keyRule{
				header("X-Shopify-Webhook-Id"), header("Shopify-Webhook-Id"),
				header("X-Shopify-Topic", "X-Shopify-Event-Id"), header("Shopify-Topic", "Shopify-Event-Id"),
			},
		},
		{
			name: "meta", secret: literalKey, handshake: metaHandshake,
			proofs: always(simple("X-Hub-Signature-256", "sha256=", inHex)),
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
			name: "lemonsqueezy", secret: literalKey,
			proofs: always(simple("X-Signature", "", inHex)),
		},
	}
}

// simple is an HMAC-SHA256 over the body.
func simple(name, prefix string, e encoding) *signed {
	return &signed{
		header: name, encoding: e, content: template{partBody},
		marks: []mark{{prefix, sha256MAC}},
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
