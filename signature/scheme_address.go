package signature

import (
	"net/http"
	"strings"
)

// addressSchemes sign the address that they call.
func addressSchemes() []scheme {
	return []scheme{
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
			name: "square", secret: literalKey,
			proofs: always(&signed{
				header: "x-square-hmacsha256-signature", encoding: inBase64,
				marks: []mark{{"", sha256MAC}}, content: template{partURL, partBody},
			}),
			keys: []keyRule{member("event_id")},
		},
		{
			name: "hubspot", secret: literalKey, unstable: true,
			proofs: always(&signed{
				header: "X-HubSpot-Signature-v3", encoding: inBase64,
				marks:   []mark{{"", sha256MAC}},
				stamp:   stampRule{header: "X-HubSpot-Request-Timestamp", form: millis},
				content: template{partMethod, partURL, partBody, partTimestamp}, urls: hubspotURLs,
			}),
			keys: []keyRule{member("eventId", "subscriptionId", "occurredAt")},
		},
	}
}

// twilioMarks picks the algorithm that the settings header announces, in any
// case and with spaces; where it announces none it is SHA-1.
func twilioMarks(header http.Header, marks []mark) []mark {
	settings := strings.ReplaceAll(header.Get("X-Twilio-Webhooks-Signature-Settings"), ";", ",")
	for item := range strings.SplitSeq(settings, ",") {
		name, value, _ := strings.Cut(item, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "algorithm") {
			continue
		}
		switch strings.ToUpper(strings.TrimSpace(value)) {
		case "HMAC_SHA256":
			return marks[1:]
		case "HMAC_SHA1":
			return marks[:1]
		}
		return nil
	}
	return marks[:1]
}
