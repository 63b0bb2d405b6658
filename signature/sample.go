package signature

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// sample is a small event as a sender makes it. In its texts {id} stands for
// the event's id, {number} for a number made from it, {ms} for the time in
// Unix milliseconds and {time} for it in RFC 3339.
type sample struct {
	headers     map[string]string
	contentType string
	body        string
}

// filler returns the function that fills the parts of a sample's text.
func filler(id string, now time.Time) func(string) string {
	sum := sha256.Sum256([]byte(id))
	number := binary.BigEndian.Uint32(sum[:]) >> 1
	return strings.NewReplacer(
		"{id}", id,
		"{number}", strconv.FormatUint(uint64(number), 10),
		"{ms}", strconv.FormatInt(now.UnixMilli(), 10),
		"{time}", now.UTC().Format(time.RFC3339),
	).Replace
}

// Sample returns a small event as the sender would make it, with the given id
// in the place where its key is read, and without a signature: see
// [Verifier.Sign]. The id should be of letters, digits and hyphens. The target
// is the receive path of the source.
func (v *Verifier) Sample(id string, now time.Time) Request {
	made := sampleOf(v.scheme.name)
	fill := filler(id, now)
	header := http.Header{"Content-Type": {cmp.Or(made.contentType, "application/json")}}
	for name, value := range made.headers {
		header.Set(name, fill(value))
	}
	body := fill(cmp.Or(made.body, `{"id":"{id}","type":"sample","created_at":"{time}"}`))
	return Request{
		Method: http.MethodPost, Target: "/hooks/" + v.config.Source,
		Header: header, Body: v.withKey([]byte(body), id),
	}
}

// withKey returns another body where the configured key is a member that this
// one does not have.
func (v *Verifier) withKey(body []byte, id string) []byte {
	if len(v.keys) != 1 || v.keys[0].kind != inJSON || v.keys[0].inBody(body) != "" {
		return body
	}
	return nested(v.keys[0].names[0], id)
}

// nested returns a JSON object with a text at a path.
func nested(path, text string) []byte {
	var value any = text
	parts := strings.Split(path, ".")
	for i := len(parts) - 1; i >= 0; i-- {
		value = map[string]any{parts[i]: value}
	}
	body, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return body
}

// sampleOf returns the sample of a scheme; the zero sample stands for a plain
// JSON event with an id.
func sampleOf(name string) sample {
	return map[string]sample{
		"github": {
			headers: map[string]string{"X-GitHub-Event": "ping", "X-GitHub-Delivery": "{id}"},
			body:    `{"zen":"Mind the gap between request and reply.","hook_id":{number}}`,
		},
		"gitlab": {
			headers: map[string]string{"X-Gitlab-Event": "Push Hook", "Idempotency-Key": "{id}"},
			body:    `{"object_kind":"push","project_id":{number}}`,
		},
		"stripe": {body: `{"id":"{id}","object":"event","type":"ping","livemode":false}`},
		"shopify": {
			headers: map[string]string{"X-Shopify-Topic": "orders/create", "X-Shopify-Webhook-Id": "{id}"},
			body:    `{"id":{number}}`,
		},
		"slack": {body: `{"type":"event_callback","event_id":"{id}","event":{"type":"app_mention"}}`},
		"twilio": {
			headers:     map[string]string{"I-Twilio-Idempotency-Token": "{id}"},
			contentType: "application/x-www-form-urlencoded",
			body:        "MessageSid=SM{number}&MessageStatus=delivered&Body=high+water",
		},
		"discord": {body: `{"id":"{id}","type":2,"version":1}`},
		"meta":    {body: `{"object":"page","entry":[{"id":"{number}","time":{ms}}]}`},
		"zoom":    {body: `{"event":"meeting.started","event_ts":{ms},"payload":{"object":{"uuid":"{id}"}}}`},
		"twitch": {
			headers: map[string]string{twitchType: "notification", "Twitch-Eventsub-Message-Id": "{id}"},
			body:    `{"subscription":{"type":"stream.online"},"event":{"id":"{number}"}}`,
		},
		"square":    {body: `{"event_id":"{id}","type":"payment.created"}`},
		"paddle":    {body: `{"event_id":"{id}","event_type":"transaction.paid"}`},
		"typeform":  {body: `{"event_id":"{id}","event_type":"form_response"}`},
		"pagerduty": {body: `{"event":{"id":"{id}","event_type":"incident.triggered"}}`},
		"sendgrid":  {body: `[{"sg_event_id":"{id}","event":"delivered","timestamp":1}]`},
		"mailgun":   {body: `{"event-data":{"id":"{id}","event":"delivered"}}`},
		"linear": {
			headers: map[string]string{"Linear-Event": "Issue", "Linear-Delivery": "{id}"},
			body:    `{"action":"create","type":"Issue","webhookTimestamp":{ms}}`,
		},
		"hubspot": {body: `[{"eventId":{number},"subscriptionId":1,"subscriptionType":"contact.creation","occurredAt":{ms},"attemptNumber":0}]`},
		"bitbucket": {
			headers: map[string]string{"X-Event-Key": "repo:push", "X-Request-UUID": "{id}"},
			body:    `{"push":{"changes":[]}}`,
		},
		"gitea": {
			headers: map[string]string{"X-Gitea-Event": "push", "X-Gitea-Delivery": "{id}"},
			body:    `{"ref":"refs/heads/main","total_commits":{number}}`,
		},
		"dropbox":  {body: `{"list_folder":{"accounts":["{id}"]}}`},
		"intercom": {body: `{"type":"notification_event","id":"{id}","topic":"ping"}`},
		"telegram": {body: `{"update_id":{number},"message":{"message_id":1,"text":"high water"}}`},
		"lemonsqueezy": {
			headers: map[string]string{"X-Event-Name": "order_created"},
			body:    `{"meta":{"event_name":"order_created"},"data":{"id":"{number}"}}`,
		},
		"cloudevents": {
			headers: map[string]string{"ce-specversion": "1.0", "ce-type": "sample", "ce-source": "/weir", "ce-id": "{id}"},
			body:    `{"level":{number}}`,
		},
	}[name]
}
