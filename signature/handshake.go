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
	if len(values) != 1 || values[0] == "" || len(values[0]) > MaxChallenge {
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
	if jsonText(in.json(), "type") != "url_verification" {
		return nil
	}
	return plainOrNone(jsonText(in.json(), "challenge"))
}

// plainOrNone echoes a challenge within bounds; without one the request is an
// ordinary event.
func plainOrNone(challenge string) *Challenge {
	if challenge == "" || len(challenge) > MaxChallenge {
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
	if token == "" || len(token) > MaxChallenge {
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
