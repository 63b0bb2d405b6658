package signature

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

func TestBadConfigurationsAreRefused(t *testing.T) {
	hmacOf := func(h HMAC) Config { return Config{Scheme: "hmac", Secrets: []string{"s"}, HMAC: h} }
	with := func(scheme, secret string) Config {
		return Config{Scheme: scheme, Secrets: []string{secret}, PublicURL: "https://weir.example"}
	}
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"unknown scheme":         {with("carrier-pigeon", "s"), "unknown scheme"},
		"no scheme":              {with("", "s"), "unknown scheme"},
		"a secret for none":      {with("none", "s"), "takes no secret"},
		"whsec without base64":   {with("standard", "whsec_***"), "secret 1"},
		"whsec without a key":    {with("standard", "whsec_"), "secret 1"},
		"gitlab's whsec":         {with("gitlab", "whsec_***"), "secret 1"},
		"a short public key":     {with("standard", "whpk_AAAA"), "whpk_"},
		"a short private key":    {with("standard", "whsk_AAAA"), "seed"},
		"a broken private key":   {with("standard", "whsk_*"), "whsk_"},
		"discord's key too long": {with("discord", strings.Repeat("a", 66)), "64 hex digits"},
		"discord's key no hex":   {with("discord", strings.Repeat("g", 64)), "64 hex digits"},
		"discord's seed":         {with("discord", "seed:zz"), "seed"},
		"basic without password": {with("basic", "user"), "user:password"},
		"basic without user":     {with("basic", ":password"), "user:password"},
		"key of no form":         {Config{Scheme: "none", Key: "id"}, "key"},
		"key without a header":   {Config{Scheme: "none", Key: "header:"}, "key"},
		"key with a space":       {Config{Scheme: "none", Key: "header:a b"}, "key"},
		"key without a member":   {Config{Scheme: "none", Key: "json:"}, "key"},
		"key with an empty part": {Config{Scheme: "none", Key: "json:a..b"}, "key"},
		"key is a token":         {Config{Scheme: "telegram", Secrets: []string{"s"}, Key: "header:x-telegram-bot-api-secret-token"}, "holds a secret"},
		"key is a credential":    {Config{Scheme: "none", Key: "header:authorization"}, "holds a secret"},
		"tolerance":              {Config{Scheme: "none", Tolerance: -1}, "tolerance"},
		"max body":               {Config{Scheme: "none", MaxBody: -1}, "max body"},
		"allowed rate":           {Config{Scheme: "none", AllowedRate: -1}, "allowed rate"},
		"signed body":            {Config{Scheme: "none", SignedBody: "both"}, "signed body"},
		"public URL":             {Config{Scheme: "none", PublicURL: "weir.example"}, "public URL"},
		"public URL with query":  {Config{Scheme: "none", PublicURL: "https://weir.example/?a"}, "public URL"},
		"twilio without it":      {Config{Scheme: "twilio", Secrets: []string{"s"}}, "public URL"},
		"square without it":      {Config{Scheme: "square", Secrets: []string{"s"}}, "public URL"},
		"hubspot without it":     {Config{Scheme: "hubspot", Secrets: []string{"s"}}, "public URL"},
		"hmac without it":        {hmacOf(HMAC{Header: "X", Template: "{url}{body}"}), "public URL"},
		"hmac without header":    {hmacOf(HMAC{}), "HMAC header"},
		"hmac header":            {hmacOf(HMAC{Header: "a:b"}), "HMAC header"},
		"hmac algorithm":         {hmacOf(HMAC{Header: "X", Algorithm: "md5"}), "HMAC algorithm"},
		"hmac by ed25519":        {hmacOf(HMAC{Header: "X", Algorithm: "ed25519"}), "HMAC algorithm"},
		"hmac encoding":          {hmacOf(HMAC{Header: "X", Encoding: "base32"}), "HMAC encoding"},
		"template part":          {hmacOf(HMAC{Header: "X", Template: "{form}{body}"}), "template"},
		"template brace":         {hmacOf(HMAC{Header: "X", Template: "{body"}), "template"},
		"template without body":  {hmacOf(HMAC{Header: "X", Template: "{method}"}), "{body}"},
		"template without time":  {hmacOf(HMAC{Header: "X", TimestampHeader: "T"}), "{timestamp}"},
		"time without header":    {hmacOf(HMAC{Header: "X", Template: "{timestamp}{body}"}), "{timestamp}"},
		"timestamp header":       {hmacOf(HMAC{Header: "X", TimestampHeader: " ", Template: "{timestamp}{body}"}), "timestamp header"},
		"timestamp form":         {hmacOf(HMAC{Header: "X", TimestampForm: "days"}), "timestamp form"},
		"items without a sig":    {hmacOf(HMAC{Header: "X", Items: "t={timestamp}", Template: "{timestamp}{body}"}), "lack a {signature}"},
		"items of no form":       {hmacOf(HMAC{Header: "X", Items: "t,v1"}), "HMAC items"},
		"items with two times":   {hmacOf(HMAC{Header: "X", Items: "t={timestamp},u={timestamp},v={signature}", Template: "{timestamp}{body}"}), "one timestamp"},
		"items and a header":     {hmacOf(HMAC{Header: "X", TimestampHeader: "T", Items: "t={timestamp},v={signature}", Template: "{timestamp}{body}"}), "one timestamp"},
		"items and a prefix":     {hmacOf(HMAC{Header: "X", Prefix: "p", Items: "v={signature}"}), "prefix"},
		"items and no template":  {hmacOf(HMAC{Header: "X", Items: "t={timestamp},v={signature}"}), "need each other"},
		"token in a cookie":      {Config{Scheme: "token", Secrets: []string{"s"}, TokenIn: "cookie:a"}, "token in"},
		"token in no header":     {Config{Scheme: "token", Secrets: []string{"s"}, TokenIn: "header:"}, "token in"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestTheTemplatesIDNeedsAHeader(t *testing.T) {
	config := testConfig("hmac")
	config.Key = "json:id"
	if _, err := New(config); err == nil || !strings.Contains(err.Error(), "{id}") {
		t.Errorf("error %v", err)
	}
}

func TestEveryProblemIsToldAtOnceWithoutASecret(t *testing.T) {
	for _, scheme := range Schemes() {
		_, err := New(Config{
			Scheme: scheme, Secrets: []string{"whsec_canary ~", " ", "whpk_canary", "seed:canary", "whsk_canary", "canary"},
			Tolerance: -1, MaxBody: -1, SignedBody: "x", Key: "y", VerifyToken: "canary",
		})
		if err == nil {
			t.Fatalf("%s: taken", scheme)
		}
		if lines := strings.Count(err.Error(), "\n") + 1; lines < 5 || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %d problems: %v", scheme, lines, err)
		}
	}
}

func TestSpaceAroundSecretsIsNotPartOfThem(t *testing.T) {
	config := testConfig("github")
	r := signSample(t, newVerifier(t, config))
	config.Secrets = []string{" " + config.Secrets[0] + "\r\n"}
	if got := newVerifier(t, config).Verify(r, testNow); got.Result != webhook.ResultAccepted {
		t.Errorf("%s", got.Reason)
	}
}

func TestDefaultOnConflict(t *testing.T) {
	for scheme, want := range map[string]webhook.OnConflict{
		"stripe": webhook.IgnoreConflict, "hubspot": webhook.IgnoreConflict, "github": webhook.KeepConflict,
		"none": webhook.RejectConflict, "token": webhook.RejectConflict, "gitlab": webhook.RejectConflict,
		"standard": webhook.KeepConflict, "zoom": webhook.KeepConflict,
	} {
		if got := newVerifier(t, testConfig(scheme)).DefaultOnConflict(); got != want {
			t.Errorf("%s: %s, want %s", scheme, got, want)
		}
	}
	config := testConfig("github")
	config.Key = "header:idempotency-key"
	if got := newVerifier(t, config).DefaultOnConflict(); got != webhook.RejectConflict {
		t.Errorf("github by Idempotency-Key: %s", got)
	}
}

func TestWhatMustNotBeKept(t *testing.T) {
	config := testConfig("token")
	config.TokenIn = "query:key"
	if got := newVerifier(t, config).TokenHeaders(); got != nil {
		t.Errorf("a token in the query is looked for in the headers %v", got)
	}
	for scheme, want := range map[string][]string{
		"gitlab": {"X-Gitlab-Token"}, "telegram": {"X-Telegram-Bot-Api-Secret-Token"}, "basic": {"Authorization"},
		"cloudevents": {"Authorization"}, "token": {"Authorization"}, "github": nil,
	} {
		if diff := cmp.Diff(want, newVerifier(t, testConfig(scheme)).TokenHeaders()); diff != "" {
			t.Errorf("%s: %s", scheme, diff)
		}
	}
	signing := testConfig("gitlab")
	signing.Secrets = []string{testSecret("standard")}
	if got := newVerifier(t, signing).TokenHeaders(); !slices.Contains(got, "X-Gitlab-Token") {
		t.Errorf("a token that is not configured is kept: %v", got)
	}
}

func TestNeedsURL(t *testing.T) {
	var got []string
	for _, scheme := range Schemes() {
		if NeedsURL(scheme) {
			got = append(got, scheme)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"hubspot", "square", "twilio"}, got); diff != "" || NeedsURL("unknown") {
		t.Error(diff)
	}
}
