package outbound

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/webhook"
)

// signingKey decodes a Standard Webhooks secret: base64, with or without the
// prefix that marks it. An empty text is no key and no error.
func signingKey(secret string) ([]byte, error) {
	if secret == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return nil, errors.New("signing secret is not base64")
	}
	if len(key) == 0 {
		return nil, errors.New("signing secret is empty")
	}
	return key, nil
}

// sign replaces the sender's Standard Webhooks fields (and Svix's, their older
// spelling) by our own over the event's id, the time and the body. The id
// stays the same over all attempts, so that receivers can drop repeats.
func (c *Client) sign(header http.Header, event webhook.Event, now time.Time) {
	if c.key == nil {
		return
	}
	for _, part := range [...]string{"Id", "Timestamp", "Signature"} {
		header.Del("Svix-" + part)
	}
	id, timestamp := event.ID.String(), strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(event.Body)
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", timestamp)
	header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// renew gives a job the fresh signature that its source makes in place of an
// aged one, and reports whether it has. What our own signature is going to
// replace is left alone. The job's own fields are not changed: other attempts
// share them.
func (c *Client) renew(job webhook.Job, now time.Time) (webhook.Job, bool) {
	if c.config.Renew == nil {
		return job, false
	}
	fresh := c.config.Renew(job.Event.Source, job.Event.Header, job.Event.Body, now)
	if c.key != nil {
		for _, part := range [...]string{"Id", "Timestamp", "Signature"} {
			fresh.Del("Webhook-" + part)
			fresh.Del("Svix-" + part)
		}
	}
	if len(fresh) == 0 {
		return job, false
	}
	job.Event.Header = maps.Clone(job.Event.Header)
	maps.Copy(job.Event.Header, fresh)
	return job, true
}
