package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/webhook"
)

// Handshake answers a GET, HEAD or OPTIONS request where the scheme has a
// handshake by that method; the second result is false where it has none. A
// refused handshake has a Result that is not ResultChallenge, and the answer
// to give in Challenge.
func (v *Verifier) Handshake(r Request) (Verdict, bool) {
	if v.scheme.handshake == nil {
		return Verdict{Secret: -1}, false
	}
	return v.scheme.handshake(v, r)
}

// AnswersOptions reports whether [Verifier.Handshake] has an answer to OPTIONS.
func (v *Verifier) AnswersOptions() bool { return v.scheme.options }

// plain is an answer of plain text that no browser takes for anything else.
func plain(status int, text string) *Challenge {
	return answer(status, "text/plain; charset=utf-8", text)
}

func answer(status int, contentType, text string) *Challenge {
	header := http.Header{"X-Content-Type-Options": {"nosniff"}}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	return &Challenge{Status: status, Header: header, Body: []byte(text)}
}

func refusedHandshake(result webhook.Result, status int, reason string) Verdict {
	return Verdict{Result: result, Reason: reason, Secret: -1, Challenge: plain(status, reason+"\n")}
}

// byReading answers GET and HEAD.
func byReading(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// echo answers with the challenge of the query.
func echo(values []string) (Verdict, bool) {
	if len(values) != 1 || values[0] == "" || len(values[0]) > maxChallenge {
		return refusedHandshake(webhook.ResultMalformed, http.StatusBadRequest, "no usable challenge in the query"), true
	}
	return answered(plain(http.StatusOK, values[0])), true
}

// metaHandshake shows the hub.challenge to whoever knows the verify token.
func metaHandshake(v *Verifier, r Request) (Verdict, bool) {
	query := queryOf(r.Target)
	if !byReading(r.Method) || !query.Has("hub.mode") {
		return Verdict{Secret: -1}, false
	}
	shown := sha256.Sum256([]byte(query.Get("hub.verify_token")))
	want := sha256.Sum256([]byte(v.config.VerifyToken))
	right := subtle.ConstantTimeCompare(shown[:], want[:]) == 1
	if v.config.VerifyToken == "" || !right || query.Get("hub.mode") != "subscribe" || len(query["hub.verify_token"]) != 1 {
		return refusedHandshake(webhook.ResultBadSignature, http.StatusForbidden, "wrong verify token"), true
	}
	return echo(query["hub.challenge"])
}

// dropboxHandshake echoes the challenge; Dropbox shows no secret with it.
func dropboxHandshake(_ *Verifier, r Request) (Verdict, bool) {
	query := queryOf(r.Target)
	if !byReading(r.Method) || !query.Has("challenge") {
		return Verdict{Secret: -1}, false
	}
	return echo(query["challenge"])
}

// cloudEventsHandshake is the abuse protection of the CloudEvents webhook
// specification, section 4: the origin that asks is allowed.
func cloudEventsHandshake(v *Verifier, r Request) (Verdict, bool) {
	if r.Method != http.MethodOptions {
		return Verdict{Secret: -1}, false
	}
	origins := r.Header[http.CanonicalHeaderKey("WebHook-Request-Origin")]
	if len(origins) != 1 || !isOrigin(origins[0]) {
		return refusedHandshake(webhook.ResultMalformed, http.StatusBadRequest, "no usable WebHook-Request-Origin"), true
	}
	rate := "*"
	if v.config.AllowedRate > 0 {
		rate = strconv.Itoa(v.config.AllowedRate)
	}
	reply := answer(http.StatusOK, "", "")
	reply.Header.Set("Allow", "GET, HEAD, POST, OPTIONS")
	reply.Header.Set("WebHook-Allowed-Origin", origins[0])
	reply.Header.Set("WebHook-Allowed-Rate", rate)
	return answered(reply), true
}

// isOrigin bounds what is echoed into a header: visible ASCII of a host name's
// length.
func isOrigin(text string) bool {
	hidden := func(c rune) bool { return c <= ' ' || c > '~' }
	return text != "" && len(text) <= 253 && strings.IndexFunc(text, hidden) < 0
}

// slackChallenge answers url_verification.
func slackChallenge(_ *Verifier, in *input, _ int) *Challenge {
	if checked := sslCheck(in); checked != nil {
		return checked
	}
	if jsonText(in.json(), "type") != "url_verification" {
		return nil
	}
	return plainOrNone(jsonText(in.json(), "challenge"))
}

// plainOrNone echoes a challenge within bounds; without one the request is an
// ordinary event.
func plainOrNone(challenge string) *Challenge {
	if challenge == "" || len(challenge) > maxChallenge {
		return nil
	}
	return plain(http.StatusOK, challenge)
}

// zoomChallenge answers endpoint.url_validation with the HMAC of the token
// under the secret that signed the request.
func zoomChallenge(v *Verifier, in *input, place int) *Challenge {
	if jsonText(in.json(), "event") != "endpoint.url_validation" {
		return nil
	}
	token := jsonText(in.json(), "payload.plainToken")
	if token == "" || len(token) > maxChallenge {
		return nil
	}
	mac := hmac.New(sha256.New, v.secretAt(place).key)
	mac.Write([]byte(token))
	body, err := json.Marshal(struct {
		PlainToken     string `json:"plainToken"`
		EncryptedToken string `json:"encryptedToken"`
	}{token, hex.EncodeToString(mac.Sum(nil))})
	if err != nil {
		return nil
	}
	return answer(http.StatusOK, "application/json", string(body))
}

func (v *Verifier) secretAt(place int) secret {
	for _, s := range v.secrets {
		if s.place == place {
			return s
		}
	}
	return secret{}
}

// discordPing answers the two kinds of ping: that of interactions (type 1,
// which for webhook events is an ordinary event) and that of webhook events
// (type 0).
func discordPing(_ *Verifier, in *input, _ int) *Challenge {
	switch jsonText(in.json(), "type") {
	case "0":
		return answer(http.StatusNoContent, "", "")
	case "1":
		if jsonMember(trimBOM(in.json()), "event") == nil {
			return answer(http.StatusOK, "application/json", `{"type":1}`)
		}
	}
	return nil
}

// twitchType says what kind of message it is.
const twitchType = "Twitch-Eventsub-Message-Type"

// twitchChallenge answers webhook_callback_verification.
func twitchChallenge(_ *Verifier, in *input, _ int) *Challenge {
	if in.Header.Get(twitchType) != "webhook_callback_verification" {
		return nil
	}
	return plainOrNone(jsonText(in.json(), "challenge"))
}

// twitchAlert tells that a subscription was revoked.
func twitchAlert(in *input) string {
	if in.Header.Get(twitchType) != "revocation" {
		return ""
	}
	status := jsonText(in.json(), "subscription.status")
	if strings.Trim(status, "abcdefghijklmnopqrstuvwxyz_") != "" || len(status) > 64 || status == "" {
		status = "unknown"
	}
	return "Twitch has revoked a subscription: " + status
}

// graphChallenge answers Microsoft Graph's validation of a notification URL:
// a POST without a body whose query has the token to show.
func graphChallenge(_ *Verifier, in *input, _ int) *Challenge {
	values := queryOf(in.Target)["validationToken"]
	if len(in.Body) > 0 || len(values) != 1 {
		return nil
	}
	return plainOrNone(values[0])
}

// queryOf reads the query of a request target. Parameters that cannot be read
// are left out.
func queryOf(target string) url.Values {
	_, query, _ := strings.Cut(target, "?")
	values, _ := url.ParseQuery(query)
	return values
}

// slackPing answers Slack's check of the certificate, which is not signed.
func slackPing(_ *Verifier, in *input) *Challenge { return sslCheck(in) }

// sslCheck answers a form with ssl_check=1.
func sslCheck(in *input) *Challenge {
	if form, _ := isForm(in); !form {
		return nil
	}
	values, err := url.ParseQuery(string(in.Body))
	if err != nil || values.Get("ssl_check") != "1" {
		return nil
	}
	return plain(http.StatusOK, "")
}

// wooPing answers WooCommerce, which posts the form webhook_id=5 without a
// signature when a webhook is saved, and wants a 200.
func wooPing(v *Verifier, in *input) *Challenge {
	id, found := strings.CutPrefix(string(in.Body), "webhook_id=")
	form, _ := isForm(in)
	if !strings.EqualFold(v.config.HMAC.Header, "X-WC-Webhook-Signature") || !form || !found ||
		id == "" || len(id) > 20 || strings.Trim(id, "0123456789") != "" {
		return nil
	}
	return plain(http.StatusOK, "")
}

// openHandshake answers the GET handshakes of senders without a scheme of
// their own: Strava and others that do as Meta does, where VERIFY_TOKEN is set;
// Okta; Nylas and others that want their challenge back.
func openHandshake(v *Verifier, r Request) (Verdict, bool) {
	if !byReading(r.Method) {
		return Verdict{Secret: -1}, false
	}
	query := queryOf(r.Target)
	switch {
	case query.Has("hub.challenge"):
		verdict, _ := metaHandshake(v, r)
		if verdict.Result != webhook.ResultChallenge || !query.Has("hub.mode") {
			return refusedHandshake(webhook.ResultBadSignature, http.StatusForbidden, "wrong verify token"), true
		}
		// Strava wants JSON, and takes nothing else.
		return answered(jsonAnswer(map[string]string{"hub.challenge": query.Get("hub.challenge")})), true
	case r.Header.Get(oktaChallenge) != "":
		in, refused := v.open(r)
		if refused == nil {
			_, refused = v.prove(in, time.Time{})
		}
		value := r.Header.Get(oktaChallenge)
		if refused != nil || len(value) > maxChallenge {
			return refusedHandshake(webhook.ResultBadSignature, http.StatusUnauthorized, "not verified"), true
		}
		return answered(jsonAnswer(map[string]string{"verification": value})), true
	case query.Has("challenge"):
		return echo(query["challenge"])
	}
	return Verdict{Secret: -1}, false
}

// oktaChallenge is the header of Okta's one-time verification.
const oktaChallenge = "X-Okta-Verification-Challenge"

// openChallenge answers a verified POST that is a handshake: of Microsoft Graph,
// of Azure Event Grid, or a JSON object with nothing but a challenge in it
// (monday and others), which is sent back as it came.
func openChallenge(v *Verifier, in *input, place int) *Challenge {
	if answer := graphChallenge(v, in, place); answer != nil {
		return answer
	}
	if len(in.Body) > 4*maxChallenge {
		return nil
	}
	if code := eventGridCode(in.json()); code != "" {
		return jsonAnswer(map[string]string{"validationResponse": code})
	}
	var members map[string]string
	if json.Unmarshal(trimBOM(in.json()), &members) != nil || len(members) != 1 {
		return nil
	}
	for name, value := range members {
		name = strings.ToLower(name)
		if value != "" && len(value) <= maxChallenge && (strings.Contains(name, "challenge") || strings.HasPrefix(name, "verification")) {
			return jsonAnswer(members)
		}
	}
	return nil
}

// eventGridCode returns the code of a validation event of Azure Event Grid; ""
// of anything else.
func eventGridCode(body []byte) string {
	if !strings.EqualFold(jsonText(body, "0.eventType"), "Microsoft.EventGrid.SubscriptionValidationEvent") {
		return ""
	}
	code := jsonText(body, "0.data.validationCode")
	if len(code) > maxChallenge {
		return ""
	}
	return code
}

// jsonAnswer is an answer 200 of a JSON object.
func jsonAnswer(members map[string]string) *Challenge {
	body, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return answer(http.StatusOK, "application/json", string(body))
}
