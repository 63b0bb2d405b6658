package config

import (
	"regexp"
	"strings"
	"testing"
)

// registered runs weir config for one source of a scheme and returns the lines
// about the sender's page.
func registered(t *testing.T, scheme string, more ...string) string {
	t.Helper()
	environ := append([]string{
		"WEIR_SOURCES=shop", "WEIR_SOURCE_SHOP_SCHEME=" + scheme, "WEIR_SOURCE_SHOP_SECRET=" + rightSecret(scheme),
		"WEIR_FORWARD_URL=http://127.0.0.1:3000/in", "WEIR_PUBLIC_URL=https://h.example/base",
	}, more...)
	printed, _ := configWords(t, environ)
	_, after, found := strings.Cut(printed, "# source shop: register ")
	if !found {
		t.Fatalf("%s: no source in\n%s", scheme, printed)
	}
	about, _, _ := strings.Cut(after, "\nWEIR_")
	return about
}

// TestConfigTellsWhatToRegister: for every scheme the address, the setting of
// the secret and nothing unfilled; never the secret itself.
func TestConfigTellsWhatToRegister(t *testing.T) {
	unfilled := regexp.MustCompile(`\{(url|secret|verify token|rate|hmac|place)\}`)
	for _, scheme := range SchemeNames() {
		var more []string
		if scheme == SchemeHMAC {
			more = []string{"WEIR_SOURCE_SHOP_HMAC_HEADER=X-Sig"}
		}
		about := registered(t, scheme, more...)
		first, lines, _ := strings.Cut(about, "\n")
		if first != "https://h.example/base/hooks/shop" || !strings.Contains(lines, ": "+first) {
			t.Errorf("%s: the address is not in\n%s", scheme, about)
		}
		if strings.Contains(lines, "WEIR_SOURCE_SHOP_SECRET") == (scheme == SchemeNone) {
			t.Errorf("%s: what is said of the secret in\n%s", scheme, about)
		}
		secret := rightSecret(scheme)
		if unfilled.MatchString(about) || secret != "" && strings.Contains(about, secret) {
			t.Errorf("%s: unfilled, or a secret, in\n%s", scheme, about)
		}
		for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
			if !strings.HasPrefix(line, "# ") {
				t.Errorf("%s: %q is no comment", scheme, line)
			}
		}
	}
}

func TestConfigTellsWhatTheSettingsDescribe(t *testing.T) {
	for _, test := range []struct {
		rule, scheme string
		more         []string
		want         string
	}{
		{"content type where the sender offers others", "github", nil, "# Content type: application/json\n"},
		{"the token of Meta's handshake", "meta", []string{"WEIR_SOURCE_SHOP_VERIFY_TOKEN=shown-to-nobody"}, "# Verify token: the value of WEIR_SOURCE_SHOP_VERIFY_TOKEN\n"},
		{"the rate that CloudEvents senders obey", "cloudevents", []string{"WEIR_SOURCE_SHOP_RATE=10/1s,120/1m"}, "an allowed rate of 120 requests a minute"},
		{
			"a signature of the operator's own", "hmac",
			[]string{
				"WEIR_SOURCE_SHOP_HMAC_HEADER=X-Sig", "WEIR_SOURCE_SHOP_HMAC_PREFIX=v1=", "WEIR_SOURCE_SHOP_HMAC_ENCODING=base64",
				"WEIR_SOURCE_SHOP_HMAC_TIMESTAMP_HEADER=X-Time", "WEIR_SOURCE_SHOP_HMAC_TEMPLATE={timestamp}.{body}",
			},
			"# Signature: header X-Sig: v1=HMAC-SHA256 of {timestamp}.{body} in base64; header X-Time: the time\n",
		},
		{"a bearer token", "token", nil, "# Header Authorization: Bearer and the value of WEIR_SOURCE_SHOP_SECRET"},
		{"a token in a header", "token", []string{"WEIR_SOURCE_SHOP_TOKEN_IN=header:X-Key"}, "# Header X-Key: the value of WEIR_SOURCE_SHOP_SECRET"},
		{"a token in the address", "token", []string{"WEIR_SOURCE_SHOP_TOKEN_IN=query:key"}, "# URL: https://h.example/base/hooks/shop?key=<the secret>\n"},
	} {
		if got := registered(t, test.scheme, test.more...); !strings.Contains(got+"\n", test.want) {
			t.Errorf("%s: no %q in\n%s", test.rule, test.want, got)
		}
	}
}
