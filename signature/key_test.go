package signature

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

// keyOf reads the key of an unsigned request.
func keyOf(t testing.TB, config Config, r Request) Verdict {
	t.Helper()
	config.Scheme, config.Source = "none", "test"
	return newVerifier(t, config).Verify(r, testNow)
}

func TestKeySettings(t *testing.T) {
	r := Request{
		Method: "POST", Header: http.Header{"X-Id": {"from-header"}, "Idempotency-Key": {"default"}},
		Body: []byte(`{"data":{"id":"from-json","list":[{"id":7}]}}`),
	}
	for setting, want := range map[string][2]string{
		"":                    {"default", "header:Idempotency-Key"},
		"header:x-id":         {"from-header", "header:x-id"},
		"header:X-Other":      {"", ""},
		"json:data.id":        {"from-json", "json:data.id"},
		"json:data.list.0":    {"", ""},
		"json:data.list.0.id": {"7", "json:data.list.0.id"},
		"none":                {"", ""},
		// sha256 of "test", a zero byte and the body, computed apart.
		"body": {"sha256:92dc35ff726f6d33f543d1722181875db3c7a104eda24e8656ade96951e59504", "body"},
	} {
		got := keyOf(t, Config{Key: setting}, r)
		if diff := cmp.Diff(want, [2]string{got.Key, got.KeyFrom}); diff != "" {
			t.Errorf("%q: %s", setting, diff)
		}
	}
}

func TestKeyOfTheBodyIsScopedToTheSource(t *testing.T) {
	r := Request{Method: "POST", Header: http.Header{}, Body: []byte("same")}
	a := newVerifier(t, Config{Scheme: "none", Source: "a", Key: "body"}).Verify(r, testNow)
	b := newVerifier(t, Config{Scheme: "none", Source: "b", Key: "body"}).Verify(r, testNow)
	if a.Key == "" || a.Key == b.Key {
		t.Errorf("keys %q and %q", a.Key, b.Key)
	}
}

func TestKeyFallbacks(t *testing.T) {
	form := "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		scheme    string
		header    map[string]string
		body      string
		key, from string
	}{
		"shopify without its webhook id": {
			"shopify", map[string]string{"X-Shopify-Topic": "orders/paid", "X-Shopify-Event-Id": "e-1"}, "{}",
			"orders/paid:e-1", "header:X-Shopify-Topic+X-Shopify-Event-Id",
		},
		"shopify with an event id alone": {"shopify", map[string]string{"X-Shopify-Event-Id": "e-1"}, "{}", "", "body"},
		"gitlab's other ids": {
			"gitlab", map[string]string{"X-Gitlab-Webhook-UUID": "u", "X-Gitlab-Event-UUID": "v", "webhook-id": "w"}, "{}", "", "",
		},
		"twilio's status": {
			"twilio", map[string]string{"Content-Type": form}, "MessageSid=SM1&MessageStatus=sent", "SM1:sent", "form:MessageSid+MessageStatus",
		},
		"twilio's older status": {
			"twilio", map[string]string{"Content-Type": form}, "MessageSid=SM1&SmsStatus=received", "SM1:received", "form:MessageSid+SmsStatus",
		},
		"twilio without a status": {
			"twilio", map[string]string{"Content-Type": form}, "MessageSid=SM1", "SM1", "form:MessageSid",
		},
		"twilio's token first": {
			"twilio", map[string]string{"Content-Type": form, "I-Twilio-Idempotency-Token": "i"}, "MessageSid=SM1", "i", "header:I-Twilio-Idempotency-Token",
		},
		"a batch of hubspot": {
			"hubspot", nil, `[{"eventId":1,"subscriptionId":2,"occurredAt":3},{"eventId":4,"subscriptionId":5,"occurredAt":6}]`,
			"1:2:3,4:5:6", "json:eventId+subscriptionId+occurredAt",
		},
		"a batch with an item without a key": {"hubspot", nil, `[{"eventId":1,"subscriptionId":2,"occurredAt":3},{}]`, "", "body"},
		"a batch behind a byte order mark": {
			"hubspot", nil, "\xef\xbb\xbf[{\"eventId\":1,\"subscriptionId\":2,\"occurredAt\":3}]", "1:2:3", "json:eventId+subscriptionId+occurredAt",
		},
		"an empty batch": {"hubspot", nil, `[]`, "", "body"},
		"shopify's Events": {
			"shopify", map[string]string{"Shopify-Webhook-Id": "w", "Shopify-Event-Id": "e"}, "{}", "w", "header:Shopify-Webhook-Id",
		},
		"shopify's Events without a webhook id": {
			"shopify", map[string]string{"Shopify-Topic": "t", "Shopify-Event-Id": "e"}, "{}", "t:e", "header:Shopify-Topic+Shopify-Event-Id",
		},
		"structured cloud events": {
			"cloudevents", map[string]string{"Content-Type": "application/cloudevents+json"}, `{"id":"a:b","source":"urn:s"}`, "a%3Ab:urn:s", "json:id+source",
		},
		"gitea under its other name": {"gitea", map[string]string{"X-Forgejo-Delivery": "d"}, "{}", "d", "header:X-Forgejo-Delivery"},
		"a slash command":            {"slack", map[string]string{"Content-Type": form}, "command=%2Ftide", "", ""},
		"an event of discord":        {"discord", nil, `{"type":1,"event":{"type":"X"}}`, "", ""},
		"telegram's big number":      {"telegram", nil, `{"update_id":12345678901234567890}`, "12345678901234567890", "json:update_id"},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			for name, value := range c.header {
				header.Set(name, value)
			}
			definition, _ := find(c.scheme)
			v := &Verifier{scheme: definition, keys: definition.keys}
			key, from := v.key(&input{Request: Request{Header: header, Body: []byte(c.body)}, maxBody: defaultMaxBody})
			if c.from == "body" {
				c.key = bodyDigest("", []byte(c.body))
			}
			if key != c.key || from != c.from {
				t.Errorf("key %q from %q, want %q from %q", key, from, c.key, c.from)
			}
		})
	}
}

func TestASignedIDIsTakenAndNotAnotherHeader(t *testing.T) {
	v := newVerifier(t, testConfig("standard"))
	r := signSample(t, v)
	for _, part := range []string{"Id", "Timestamp", "Signature"} {
		r.Header["Svix-"+part] = r.Header["Webhook-"+part]
		delete(r.Header, "Webhook-"+part)
	}
	r.Header.Set("webhook-id", "not-signed")
	got := v.Verify(r, testNow)
	if got.Result != webhook.ResultAccepted || got.Key != testID || got.KeyFrom != "header:svix-id" {
		t.Errorf("%s: key %q from %q", got.Result, got.Key, got.KeyFrom)
	}
}

func TestDoubledAndEmptyIDs(t *testing.T) {
	for scheme, name := range map[string]string{
		"github": "X-Github-Delivery", "shopify": "X-Shopify-Webhook-Id", "cloudevents": "Ce-Id", "token": "Idempotency-Key",
	} {
		v := newVerifier(t, testConfig(scheme))
		for _, values := range [][]string{{"a", "b"}, {"a", "a"}, {"", "a"}} {
			r := signSample(t, v)
			r.Header[name] = values
			if got := v.Verify(r, testNow); got.Result != webhook.ResultMalformed || got.Reason == "" {
				t.Errorf("%s: %s %q is %s", scheme, name, values, got.Result)
			}
		}
		r := signSample(t, v)
		digest := bodyDigest(scheme, r.Body)
		r.Header[name] = []string{""}
		if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted || got.Key != digest || got.KeyFrom != "body" {
			t.Errorf("%s: with an empty %s it is %s with the key %q from %q", scheme, name, got.Result, got.Key, got.KeyFrom)
		}
		delete(r.Header, name)
		if scheme == "token" {
			digest = "" // its senders may well give none
		}
		if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted || got.Key != digest {
			t.Errorf("%s: without %s it is %s with the key %q", scheme, name, got.Result, got.Key)
		}
	}
}

func TestKeysThatAreNoTextStayApart(t *testing.T) {
	keys := map[string]string{}
	for _, id := range []string{"\xff", "\xfe", `\ud800`, `\ud801`, `\ud800x`, "\xffx", "\xc3\xa9", "�"} {
		got := keyOf(t, Config{Key: "json:id"}, Request{Method: "POST", Body: []byte(`{"id":"` + id + `"}`)}).Key
		if other, there := keys[got]; there || got == "" {
			t.Errorf("%q and %q have the same key %q", id, other, got)
		}
		keys[got] = id
	}
}

func TestDoubledSignatureAndTimestampAreMalformed(t *testing.T) {
	for scheme := range wantKeys() {
		v := newVerifier(t, testConfig(scheme))
		for _, name := range signedTexts(v) {
			r := signSample(t, v)
			if len(r.Header[name]) == 0 {
				continue
			}
			r.Header[name] = append(r.Header[name], r.Header[name][0])
			if got := v.Verify(r, testNow); got.Result != webhook.ResultMalformed {
				t.Errorf("%s: doubled %s is %s", scheme, name, got.Result)
			}
			r.Header[name] = []string{""}
			if got := v.Verify(r, testNow); got.Result != webhook.ResultBadSignature {
				t.Errorf("%s: empty %s is %s", scheme, name, got.Result)
			}
			delete(r.Header, name)
			if got := v.Verify(r, testNow); got.Result != webhook.ResultBadSignature {
				t.Errorf("%s: without %s it is %s", scheme, name, got.Result)
			}
		}
	}
	v := newVerifier(t, testConfig("stripe"))
	r := signSample(t, v)
	r.Header.Set("Stripe-Signature", "t=1,"+r.Header.Get("Stripe-Signature"))
	if got := v.Verify(r, testNow); got.Result != webhook.ResultMalformed {
		t.Errorf("two timestamps in one header: %s", got.Result)
	}
}

func TestLongAndOddKeysAreReplacedByADigest(t *testing.T) {
	for key, same := range map[string]bool{
		strings.Repeat("k", maxKey): true, strings.Repeat("k", maxKey+1): false,
		"Grüße": true, "a\nb": false, "a\x00": false, "\xff": false, "a\u0085b": false, "a b/c%": true,
	} {
		got := bounded(key)
		if (got == key) != same || !same && (len(got) != 71 || !strings.HasPrefix(got, "sha256:")) {
			t.Errorf("%q became %q", key, got)
		}
	}
}

func TestJSONKeys(t *testing.T) {
	nested := strings.Repeat("[", 100_000)
	for name, c := range map[string]struct{ body, path, want string }{
		"byte order mark":        {"\xef\xbb\xbf{\"id\":\"bom\"}", "id", "bom"},
		"the last of two":        {`{"id":"first","id":"second"}`, "id", "second"},
		"an escaped name":        {`{"\u0069d":"x"}`, "id", "x"},
		"an escaped value":       {`{"id":"a\u00e9\"\\"}`, "id", `aé"\`},
		"a big number":           {`{"id":820982911946154600123}`, "id", "820982911946154600123"},
		"a fraction":             {`{"id":1.0}`, "id", "1.0"},
		"null":                   {`{"id":null}`, "id", ""},
		"true":                   {`{"id":true}`, "id", ""},
		"an object":              {`{"id":{}}`, "id", ""},
		"an empty text":          {`{"id":""}`, "id", ""},
		"a name inside a text":   {`{"a":"\"id\":\"no\"","id":"yes"}`, "id", "yes"},
		"a deeper member":        {`{"a":{"id":"no"},"b":[{"id":"no"}]}`, "id", ""},
		"half a body":            {`{"id":"a","b":`, "id", ""},
		"not closed":             {`{"id":"a"`, "id", ""},
		"brackets without end":   {`{"id":"a","b":` + nested, "id", ""},
		"brackets with an end":   {`{"b":` + nested + strings.Repeat("]", 100_000) + `,"id":"a"}`, "id", "a"},
		"braces without end":     {strings.Repeat(`{"id":`, 100_000), "id.id", ""},
		"an array by index":      {`{"a":[1,{"id":"x"}]}`, "a.1.id", "x"},
		"an index too far":       {`{"a":[1]}`, "a.5", ""},
		"space everywhere":       {" {\n\t\"a\" : { } ,\r\n \"id\" : \"x\" } ", "id", "x"},
		"an empty object":        {`{}`, "id", ""},
		"no JSON":                {`id=1`, "id", ""},
		"nothing":                {``, "id", ""},
		"a lone quote":           {`{"id":"`, "id", ""},
		"a bad number":           {`{"id":1x}`, "id", ""},
		"a bad escape":           {`{"id":"\q"}`, "id", ""},
		"a bad escape in a name": {`{"\q":1,"id":"a"}`, "id", "a"},
		"a text behind it":       {`{"id":"a"} trailing`, "id", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := jsonText([]byte(c.body), c.path); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// FuzzJSONKey holds the scanner against the parser of the standard library:
// where the text is valid both find the same.
func FuzzJSONKey(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a"}`, `{"id":"a","id":7}`, `{"x":{"id":[1,2]},"id":1e3}`, `[{"id":1}]`, "\xef\xbb\xbf{}",
		`{"i\u0064":"\ud83d\ude00"}`, `{"id":`, `{"a":"\\","id":"b"}`, `{"id":"\\\""}`, "{\"id\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := jsonText(text, "id")
		var fields struct {
			ID json.RawMessage `json:"id"`
		}
		var all map[string]json.RawMessage
		if !json.Valid(text) || json.Unmarshal(text, &all) != nil {
			return
		}
		fields.ID = bytes.TrimSpace(all["id"])
		want := ""
		if len(fields.ID) > 0 && (fields.ID[0] == '"' || fields.ID[0] == '-' || fields.ID[0] >= '0' && fields.ID[0] <= '9') {
			want = string(fields.ID)
			if fields.ID[0] == '"' {
				want = unquote(fields.ID)
			}
		}
		if got != want {
			t.Errorf("%q, the standard library has %q", got, want)
		}
	})
}

// FuzzKey reads keys from any body and header and holds their bounds.
func FuzzKey(f *testing.F) {
	f.Add("header", []byte(`[{"eventId":1}]`), "application/json", "gzip")
	f.Add("", []byte("MessageSid=1&MessageStatus=2"), "application/x-www-form-urlencoded", "")
	f.Fuzz(func(t *testing.T, id string, body []byte, contentType, coding string) {
		in := &input{maxBody: 1000, idHeader: "webhook-id", id: id, Request: Request{Body: body, Header: http.Header{
			"Content-Type": {contentType}, "Content-Encoding": {coding}, "Idempotency-Key": {id}, "Ce-Id": {id}, "Ce-Source": {id},
		}}}
		for _, s := range schemes() {
			v := &Verifier{scheme: s, keys: s.keys}
			key, from := v.key(in)
			if len(key) > maxKey || !utf8.ValidString(key) || (key == "") != (from == "") {
				t.Errorf("%s: key %q from %q", s.name, key, from)
			}
		}
	})
}

func BenchmarkJSONKey(b *testing.B) {
	for name, body := range map[string][]byte{
		"1 MiB of members":  []byte(`{"a":[` + strings.Repeat(`{"name":"value","n":12345},`, 40_000) + `0],"id":"x"}`),
		"1 MiB of brackets": []byte(`{"a":` + strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000) + `,"id":"x"}`),
		"1 MiB of escapes":  []byte(`{"a":"` + strings.Repeat(`\"`, 500_000) + `","id":"x"}`),
		"1 MiB of slashes":  []byte(`{"a":"` + strings.Repeat(`\\`, 500_000) + `","id":"x"}`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if jsonText(body, "id") != "x" {
					b.Fatal("no key")
				}
			}
		})
	}
}
