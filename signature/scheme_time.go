package signature

// standardSchemes sign by Standard Webhooks, or may.
func standardSchemes() []scheme {
	return []scheme{
		{
			name: "standard", secret: standardKey,
			proofs: always(standardProof("webhook"), standardProof("svix")),
			keys:   []keyRule{idThatIsSigned()},
		},
		{
			name: "gitlab", secret: gitlabKey, optionalID: true,
			proofs: always(standardProof("webhook"), token{header: "X-Gitlab-Token"}),
			keys:   []keyRule{idThatIsSigned(), header("Idempotency-Key")},
		},
	}
}

// timeSchemes sign the time with the body.
func timeSchemes() []scheme {
	return []scheme{
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
			name: "slack", secret: literalKey, optionalID: true, challenge: slackChallenge, ping: slackPing,
			proofs: always(&signed{
				header: "X-Slack-Signature", encoding: inHex,
				marks: []mark{{"v0=", sha256MAC}}, stamp: stampRule{header: "X-Slack-Request-Timestamp"},
				content: template{"v0:", partTimestamp, ":", partBody},
			}),
			keys: []keyRule{member("event_id")},
		},
		{
			name: "discord", secret: discordKey, optionalID: true, challenge: discordPing,
			proofs: always(&signed{
				header: "X-Signature-Ed25519", encoding: inHex,
				marks: []mark{{"", ed25519ID}}, stamp: stampRule{header: "X-Signature-Timestamp"},
				content: template{partTimestamp, partBody},
			}),
			keys: []keyRule{member("id")},
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
	}
}

// mailSchemes are those of senders of mail.
func mailSchemes() []scheme {
	return []scheme{
		{
			name: "sendgrid", secret: sendgridKey,
			proofs: always(&signed{
				header: "X-Twilio-Email-Event-Webhook-Signature", encoding: inBase64,
				marks: []mark{{"", ecdsaP256}}, stamp: stampRule{header: "X-Twilio-Email-Event-Webhook-Timestamp"},
				content: template{partTimestamp, partBody},
			}),
			keys: []keyRule{member("sg_event_id")},
		},
		{
			name: "mailgun", secret: literalKey, proofs: always(mailgunProof{}),
			keys: []keyRule{member("event-data.id")},
		},
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
