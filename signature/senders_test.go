package signature

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/webhook"
)

// mac64 is an HMAC in base64, made without the package's own code.
func mac64(algorithm, key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	if algorithm == "sha1" {
		mac = hmac.New(sha1.New, []byte(key))
	}
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func macHex(key, text string) string {
	raw, _ := base64.StdEncoding.DecodeString(mac64("sha256", key, text))
	return hex.EncodeToString(raw)
}

func TestTwilio(t *testing.T) {
	form, object := "application/x-www-form-urlencoded", "application/json"
	digest := sha256.Sum256([]byte(`{"a":1}`))
	hashed := "/t?bodySHA256=" + hex.EncodeToString(digest[:])
	host := "https://weir.example"
	for name, c := range map[string]struct {
		contentType, target, body string
		settings                  string
		signature                 string
		want                      webhook.Result
	}{
		"sorted by name":         {form, "/t", "b=2&a=1", "", mac64("sha1", "k", host+"/ta1b2"), webhook.ResultAccepted},
		"decoded":                {form, "/t", "a=x+y%26%C3%A9", "", mac64("sha1", "k", host+"/tax y&é"), webhook.ResultAccepted},
		"upper case sorts first": {form, "/t", "a=1&B=2", "", mac64("sha1", "k", host+"/tB2a1"), webhook.ResultAccepted},
		"values of one name":     {form, "/t", "a=2&a=1&a=2", "", mac64("sha1", "k", host+"/ta1a2"), webhook.ResultAccepted},
		"an empty value":         {form, "/t", "a=", "", mac64("sha1", "k", host+"/ta"), webhook.ResultAccepted},
		"the query is signed":    {form, "/t?x=1", "a=1", "", mac64("sha1", "k", host+"/t?x=1a1"), webhook.ResultAccepted},
		"with the port":          {form, "/t", "a=1", "", mac64("sha1", "k", host+":443/ta1"), webhook.ResultAccepted},
		"with another port":      {form, "/t", "a=1", "", mac64("sha1", "k", host+":8443/ta1"), webhook.ResultBadSignature},
		"no body":                {"", "/t", "", "", mac64("sha1", "k", host+"/t"), webhook.ResultAccepted},
		"no content type":        {"", "/t", "a=1", "", mac64("sha1", "k", host+"/ta1"), webhook.ResultAccepted},
		"JSON":                   {object, hashed, `{"a":1}`, "", mac64("sha1", "k", host+hashed), webhook.ResultAccepted},
		"JSON, altered":          {object, hashed, `{"a":2}`, "", mac64("sha1", "k", host+hashed), webhook.ResultBadSignature},
		"JSON, two digests":      {object, hashed + "&bodySHA256=0", `{"a":1}`, "", mac64("sha1", "k", host+hashed+"&bodySHA256=0"), webhook.ResultBadSignature},
		"JSON, not covered":      {object, "/t", `{"a":1}`, "", mac64("sha1", "k", host+"/t"), webhook.ResultBadSignature},
		"a form that is none":    {form, "/t", "a=%zz", "", mac64("sha1", "k", host+"/t"), webhook.ResultBadSignature},
		"SHA-256, announced":     {form, "/t", "a=1", "key=SK1,algorithm=HMAC_SHA256", mac64("sha256", "k", host+"/ta1"), webhook.ResultAccepted},
		"SHA-256, not announced": {form, "/t", "a=1", "", mac64("sha256", "k", host+"/ta1"), webhook.ResultBadSignature},
		"SHA-1, other announced": {form, "/t", "a=1", "key=SK1,algorithm=HMAC_SHA256", mac64("sha1", "k", host+"/ta1"), webhook.ResultBadSignature},
		"SHA-1, announced":       {form, "/t", "a=1", "key=SK1, algorithm=HMAC_SHA1", mac64("sha1", "k", host+"/ta1"), webhook.ResultAccepted},
		"unknown, announced":     {form, "/t", "a=1", "algorithm=HMAC_MD5", mac64("sha1", "k", host+"/ta1"), webhook.ResultBadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVerifier(t, Config{Scheme: "twilio", Secrets: []string{"other", "k"}, PublicURL: host + "/"})
			header := http.Header{"X-Twilio-Signature": {c.signature}}
			if c.contentType != "" {
				header.Set("Content-Type", c.contentType)
			}
			if c.settings != "" {
				header.Set("X-Twilio-Webhooks-Signature-Settings", c.settings)
			}
			got := v.Verify(Request{Method: "POST", Target: c.target, Header: header, Body: []byte(c.body)}, testNow)
			if got.Result != c.want {
				t.Errorf("%s (%s), want %s", got.Result, got.Reason, c.want)
			}
		})
	}
}

func TestTwilioAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"https://h.example/p":        "https://h.example:443/p",
		"http://h.example/p?q=1":     "http://h.example:80/p?q=1",
		"https://h.example:8443/p":   "https://h.example/p",
		"https://[2001:db8::1]:99/p": "https://[2001:db8::1]/p",
		"https://[2001:db8::1]/p":    "https://[2001:db8::1]:443/p",
	} {
		if got := twilioURLs(address); len(got) != 2 || got[0] != address || got[1] != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	if got := twilioURLs("::"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestHubSpotDecodesSomeEscapes(t *testing.T) {
	v := newVerifier(t, testConfig("hubspot"))
	target := "/h?a=%3a%2F%3F%40%21%24%27%28%29%2A%2C%3B&b=%20%26%3D%zz%"
	for _, signedURL := range []string{"https://weir.example/h?a=:/?@!$'()*,;&b=%20%26%3D%zz%", "https://weir.example" + target} {
		r := v.Sample(testID, testNow)
		r.Target = target
		r.Header.Set("X-HubSpot-Request-Timestamp", "1790000000000")
		r.Header.Set("X-HubSpot-Signature-v3", mac64("sha256", testSecret("hubspot"), "POST"+signedURL+string(r.Body)+"1790000000000"))
		if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted {
			t.Errorf("%s: %s", signedURL, got.Reason)
		}
	}
}

func TestHubSpotsOlderSignaturesAreRefused(t *testing.T) {
	v := newVerifier(t, testConfig("hubspot"))
	r := v.Sample(testID, testNow)
	for version, source := range map[string]string{
		"v1": testSecret("hubspot") + string(r.Body),
		"v2": testSecret("hubspot") + "POSThttps://weir.example" + r.Target + string(r.Body),
	} {
		sum := sha256.Sum256([]byte(source))
		r.Header.Set("X-HubSpot-Signature", hex.EncodeToString(sum[:]))
		r.Header.Set("X-HubSpot-Signature-Version", version)
		if got := v.Verify(r, testNow); got.Result != webhook.ResultBadSignature {
			t.Errorf("%s: %s", version, got.Result)
		}
	}
}

func TestGiteaSignsTheJSONInFormModeToo(t *testing.T) {
	form := "application/x-www-form-urlencoded"
	right := macHex("secret-of-gitea", `{"a":1}`)
	for name, c := range map[string]struct {
		contentType, body, header, value string
		want                             webhook.Result
	}{
		"JSON":                  {"application/json", `{"a":1}`, "X-Gitea-Signature", right, webhook.ResultAccepted},
		"form":                  {form, "payload=%7B%22a%22%3A1%7D", "X-Gitea-Signature", right, webhook.ResultAccepted},
		"form, raw text signed": {form, "payload=1", "X-Gitea-Signature", macHex("secret-of-gitea", "payload=1"), webhook.ResultBadSignature},
		"form, another field":   {form, "payload=%7B%22a%22%3A1%7D&x=1", "X-Gitea-Signature", right, webhook.ResultBadSignature},
		"form, payload twice":   {form, "payload=%7B%22a%22%3A1%7D&payload=1", "X-Gitea-Signature", right, webhook.ResultBadSignature},
		"form, unreadable":      {form, "payload=%zz", "X-Gitea-Signature", right, webhook.ResultBadSignature},
		"Forgejo":               {"", `{"a":1}`, "X-Forgejo-Signature", right, webhook.ResultAccepted},
		"Gogs":                  {"", `{"a":1}`, "X-Gogs-Signature", right, webhook.ResultAccepted},
		"GitHub's header":       {"", `{"a":1}`, "X-Hub-Signature-256", "sha256=" + right, webhook.ResultAccepted},
		"no header":             {"", `{"a":1}`, "X-Other", right, webhook.ResultBadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{Method: "POST", Header: http.Header{}, Body: []byte(c.body)}
			r.Header.Set(c.header, c.value)
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			if got := newVerifier(t, testConfig("gitea")).Verify(r, testNow); got.Result != c.want {
				t.Errorf("%s (%s), want %s", got.Result, got.Reason, c.want)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	query := testConfig("token")
	query.TokenIn = "query:key"
	basic := testConfig("basic")
	right := base64.StdEncoding.EncodeToString([]byte(testSecret("basic")))
	for name, c := range map[string]struct {
		config         Config
		header, target string
		want           webhook.Result
	}{
		"bearer":                 {testConfig("token"), "Bearer secret-of-token", "/", webhook.ResultAccepted},
		"lower case":             {testConfig("token"), "bearer secret-of-token", "/", webhook.ResultAccepted},
		"another scheme":         {testConfig("token"), "Basic secret-of-token", "/", webhook.ResultBadSignature},
		"no scheme":              {testConfig("token"), "secret-of-token", "/", webhook.ResultBadSignature},
		"a prefix":               {testConfig("token"), "Bearer secret-of-toke", "/", webhook.ResultBadSignature},
		"more":                   {testConfig("token"), "Bearer secret-of-token ", "/", webhook.ResultBadSignature},
		"nothing":                {testConfig("token"), "Bearer ", "/", webhook.ResultBadSignature},
		"in the query instead":   {testConfig("token"), "", "/?access_token=secret-of-token", webhook.ResultBadSignature},
		"query":                  {query, "", "/?a=1&key=secret-of-token", webhook.ResultAccepted},
		"query, escaped":         {query, "", "/?key=secret%2Dof-token", webhook.ResultAccepted},
		"query, wrong":           {query, "", "/?key=x", webhook.ResultBadSignature},
		"query, twice":           {query, "", "/?key=secret-of-token&key=x", webhook.ResultMalformed},
		"query, none":            {query, "Bearer secret-of-token", "/", webhook.ResultBadSignature},
		"cloudevents, bearer":    {testConfig("cloudevents"), "Bearer secret-of-cloudevents", "/", webhook.ResultAccepted},
		"cloudevents, query":     {testConfig("cloudevents"), "", "/?access_token=secret-of-cloudevents", webhook.ResultAccepted},
		"cloudevents, the worse": {testConfig("cloudevents"), "Bearer x", "/?access_token=secret-of-cloudevents", webhook.ResultBadSignature},
		"basic":                  {basic, "Basic " + right, "/", webhook.ResultAccepted},
		"basic, plain text":      {basic, "Basic " + testSecret("basic"), "/", webhook.ResultBadSignature},
		"basic, wrong":           {basic, "Basic " + base64.StdEncoding.EncodeToString([]byte("harbour:low")), "/", webhook.ResultBadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{Method: "POST", Target: c.target, Header: http.Header{}}
			if c.header != "" {
				r.Header.Set("Authorization", c.header)
			}
			if got := newVerifier(t, c.config).Verify(r, testNow); got.Result != c.want {
				t.Errorf("%s (%s), want %s", got.Result, got.Reason, c.want)
			}
		})
	}
}

func TestGitlabWithATokenAndASigningSecret(t *testing.T) {
	both := testConfig("gitlab")
	both.Secrets = []string{testSecret("standard"), "plain-token"}
	v := newVerifier(t, both)
	r := signSample(t, v)
	r.Header.Set("X-Gitlab-Token", "plain-token")
	if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted || got.Secret != 0 {
		t.Errorf("signed: %s by %d", got.Result, got.Secret)
	}
	r.Body = append(r.Body, ' ')
	if got := v.Verify(r, testNow); got.Result != webhook.ResultBadSignature {
		t.Errorf("a wrong signature beside a right token: %s", got.Result)
	}
	r.Header.Del("webhook-signature")
	if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted || got.Secret != 1 {
		t.Errorf("the token alone: %s by %d", got.Result, got.Secret)
	}
	plain := testConfig("gitlab")
	r = signSample(t, newVerifier(t, plain))
	r.Header.Set("webhook-signature", "v1,AAAA")
	if got := newVerifier(t, plain).Verify(r, testNow); got.Result != webhook.ResultAccepted {
		t.Errorf("a signature that the source has no secret for: %s", got.Result)
	}
}

func TestStandardFamiliesAreNotMixed(t *testing.T) {
	v := newVerifier(t, testConfig("standard"))
	r := signSample(t, v)
	for _, part := range []string{"Id", "Timestamp"} {
		r.Header["Svix-"+part] = r.Header["Webhook-"+part]
		delete(r.Header, "Webhook-"+part)
	}
	if got := v.Verify(r, testNow); got.Result != webhook.ResultBadSignature {
		t.Errorf("%s", got.Result)
	}
}

func TestBase64IsStrict(t *testing.T) {
	v := newVerifier(t, testConfig("shopify"))
	r := signSample(t, v)
	right := r.Header.Get("X-Shopify-Hmac-Sha256")
	// The digit before the padding holds two bits that stand for nothing.
	alphabet := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	spare := alphabet[strings.IndexByte(alphabet, right[42])+1]
	for _, wrong := range []string{right[:42] + string(spare) + "=", right[:20] + "\n" + right[20:], right + "=", right[:43], " " + right} {
		r.Header.Set("X-Shopify-Hmac-Sha256", wrong)
		if got := v.Verify(r, testNow); got.Result != webhook.ResultBadSignature {
			t.Errorf("%q: %s", wrong, got.Result)
		}
	}
}

func TestTargetsInAbsoluteForm(t *testing.T) {
	v := newVerifier(t, testConfig("square"))
	r := signSample(t, v)
	r.Target = "http://inside.example" + r.Target
	if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted {
		t.Errorf("%s (%s)", got.Result, got.Reason)
	}
}

// FuzzVerify gives any texts to every scheme: nothing is accepted without a
// right proof, and nothing breaks.
func FuzzVerify(f *testing.F) {
	f.Add("v1,AAAA v1a,AAAA", "1790000000", "/x?bodySHA256=1&key=2", []byte(`payload=%7B%7D`), "application/x-www-form-urlencoded", "gzip")
	f.Add("t=1790000000,v1=00,t=2", "2026-11-30T00:00:00Z", "http://a", []byte("{}"), "application/json", "")
	f.Add("ts=1;h1=aa;;h1", "-1", "%zz?%zz", []byte("\x1f\x8b"), ";", "GZIP")
	f.Add("sha256="+strings.Repeat("0", 64), "99999999999999999999", "?access_token=a", []byte(""), "", "br")
	f.Fuzz(func(t *testing.T, value, stamp, target string, body []byte, contentType, coding string) {
		for _, name := range Schemes() {
			if name == "none" {
				continue
			}
			config := testConfig(name)
			config.SignedBody = []string{SignedWire, SignedDecoded}[len(body)%2]
			v := newVerifier(t, config)
			r := Request{Method: "POST", Target: target, Body: body, Header: http.Header{
				"Content-Type": {contentType}, "Content-Encoding": {coding},
			}}
			for _, header := range proofHeaders(v) {
				r.Header[header] = []string{value}
			}
			for _, p := range v.proofs {
				if s, isSigned := p.(*signed); isSigned && s.stamp.header != "" {
					r.Header[s.stamp.header] = []string{stamp}
				}
			}
			if got := v.Verify(r, testNow); got.Result == webhook.ResultAccepted || got.Reason == "" {
				t.Errorf("%s: %s (%s)", name, got.Result, got.Reason)
			}
		}
	})
}

func TestTwilioSettingsHeader(t *testing.T) {
	v := newVerifier(t, testConfig("twilio"))
	sha1, sha256 := signSample(t, v), signSample(t, v)
	sha256.Header.Set("X-Twilio-Webhooks-Signature-Settings", "algorithm=HMAC_SHA256")
	sha256 = signWith(t, testConfig("twilio"), sha256, testNow)
	for value, want := range map[string]Request{
		"": sha1, "version=1": sha1, "Algorithm = hmac_sha1": sha1, "version=1, algorithm=HMAC_SHA1": sha1,
		"algorithm=HMAC_SHA256": sha256, "ALGORITHM=hmac_sha256": sha256, " algorithm = HMAC_SHA256 ; version=2": sha256,
		"algorithm=HMAC_MD5": {},
	} {
		for _, r := range []Request{sha1, sha256} {
			header := r.Header.Clone()
			header.Set("X-Twilio-Webhooks-Signature-Settings", value)
			right := want.Header != nil && r.Header.Get("X-Twilio-Signature") == want.Header.Get("X-Twilio-Signature")
			r.Header = header
			if got := v.Verify(r, testNow); (got.Result == webhook.ResultAccepted) != right {
				t.Errorf("%q: %s (%s)", value, got.Result, got.Reason)
			}
		}
	}
}

func TestTwilioSortsNamesByUTF16(t *testing.T) {
	astral, private := "\U0001F30A", "\uE000"
	if got := sortedPairs(url.Values{astral: {"1"}, private: {"2"}, "a": {"3"}}); got != "a3"+astral+"1"+private+"2" {
		t.Errorf("%q", got)
	}
}

func TestTwilioEscapesApostrophesInTheAddress(t *testing.T) {
	v := newVerifier(t, testConfig("twilio"))
	r := v.Sample(testID, testNow)
	r.Target += "?name=O%27Hara"
	r, err := v.Sign(r, testID, testNow)
	if err != nil {
		t.Fatal(err)
	}
	r.Target = strings.ReplaceAll(r.Target, "%27", "'")
	if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted {
		t.Errorf("%s (%s)", got.Result, got.Reason)
	}
}

func TestAnAddressInTheQueryIsSignedToo(t *testing.T) {
	for _, scheme := range []string{"twilio", "square", "hubspot", "hmac"} {
		v := newVerifier(t, testConfig(scheme))
		r := v.Sample(testID, testNow)
		r.Target += "?next=https://other.example/path"
		r, err := v.Sign(r, testID, testNow)
		if err != nil {
			t.Fatal(err)
		}
		if want := "https://weir.example" + r.Target; v.publicURL(r.Target) != want {
			t.Errorf("address %s, want %s", v.publicURL(r.Target), want)
		}
		if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted {
			t.Errorf("%s: %s (%s)", scheme, got.Result, got.Reason)
		}
		r.Target = "/hooks/" + scheme + "?next=https://other.example/elsewhere"
		if got := v.Verify(r, testNow); got.Result != webhook.ResultBadSignature {
			t.Errorf("%s with another query: %s", scheme, got.Result)
		}
	}
}

func TestATimeExactlyAtTheToleranceIsAccepted(t *testing.T) {
	v := newVerifier(t, testConfig("stripe"))
	r := signSample(t, v)
	for off, want := range map[time.Duration]webhook.Result{
		defaultTolerance: webhook.ResultAccepted, -defaultTolerance: webhook.ResultAccepted,
		defaultTolerance + 1: webhook.ResultStale, -defaultTolerance - 1: webhook.ResultStale,
	} {
		if got := v.Verify(r, testNow.Add(off)); got.Result != want {
			t.Errorf("%v off: %s, want %s", off, got.Result, want)
		}
	}
}

// testSendgridKey is the public half of the tests' private key.
const testSendgridKey = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8+O2XGeCzQ6b4LL1rVpOnGwQaM2+Tj9ppS74uJzCy4Zg8Smbhh8ruFFydDwZRaDaH/JLUlILJgi3C8Xf3uh/nQ=="

func TestSendGridVerifiesByThePublicKeyAlone(t *testing.T) {
	r := signSample(t, newVerifier(t, testConfig("sendgrid")))
	config := testConfig("sendgrid")
	config.Secrets = []string{testSendgridKey}
	v := newVerifier(t, config)
	if got := v.Verify(r, testNow); got.Result != webhook.ResultAccepted || got.Key != testID {
		t.Errorf("%s (%s), key %q", got.Result, got.Reason, got.Key)
	}
	if got := v.Verify(r, testNow.Add(time.Hour)); got.Result != webhook.ResultStale {
		t.Errorf("an hour later: %s", got.Result)
	}
	if _, err := v.Sign(v.Sample(testID, testNow), testID, testNow); !errors.Is(err, ErrPublicKey) {
		t.Errorf("signing: %v", err)
	}
}

func TestMailgunSignsTimeAndToken(t *testing.T) {
	config := testConfig("mailgun")
	v := newVerifier(t, config)
	stamp := fmt.Sprint(testNow.Unix())
	body := func(stamp, token, signature string) Request {
		return Request{Method: "POST", Body: []byte(`{"signature":{"timestamp":"` + stamp + `","token":"` + token +
			`","signature":"` + signature + `"},"event-data":{"id":"e-1"}}`)}
	}
	right := macOf("secret-of-mailgun", stamp+"token")
	for name, c := range map[string]struct {
		r    Request
		want webhook.Result
	}{
		"as Mailgun writes it": {body(stamp, "token", right), webhook.ResultAccepted},
		"another token":        {body(stamp, "other", right), webhook.ResultBadSignature},
		"another time":         {body(fmt.Sprint(testNow.Unix()+1), "token", right), webhook.ResultBadSignature},
		"no signature":         {body(stamp, "token", ""), webhook.ResultBadSignature},
		"no token":             {body(stamp, "", macOf("secret-of-mailgun", stamp)), webhook.ResultBadSignature},
		"no hex":               {body(stamp, "token", "zz"), webhook.ResultBadSignature},
		"no JSON":              {Request{Method: "POST", Body: []byte("x")}, webhook.ResultBadSignature},
	} {
		if got := v.Verify(c.r, testNow); got.Result != c.want || c.want == webhook.ResultAccepted && got.Key != "e-1" {
			t.Errorf("%s: %s (%s), key %q", name, got.Result, got.Reason, got.Key)
		}
	}
	if got := v.Verify(body(stamp, "token", right), testNow.Add(time.Hour)); got.Result != webhook.ResultStale {
		t.Errorf("an hour later: %s", got.Result)
	}
}
