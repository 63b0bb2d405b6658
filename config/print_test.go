package config

import (
	"bytes"
	"strings"
	"testing"
)

// configWords returns the lines that Print writes, with single spaces, and the
// warnings.
func configWords(t *testing.T, environ []string) (string, string) {
	t.Helper()
	var out, warnings bytes.Buffer
	err := Print(environ, &out, &warnings)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for line := range strings.SplitSeq(out.String(), "\n") {
		lines.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return lines.String(), warnings.String()
}

func TestConfigShowsWhatHolds(t *testing.T) {
	for _, test := range []struct {
		rule    string
		changes []string
		line    string
	}{
		{"a default", nil, "WEIR_DATABASE weir.db default"},
		{"what is set", []string{"WEIR_MAX_BODY=2MiB"}, "WEIR_MAX_BODY 2MiB set"},
		{"what a source takes over", []string{"WEIR_MAX_BODY=2MiB"}, "WEIR_SOURCE_GITHUB_MAX_BODY 2MiB default"},
		{"the scheme that follows from the name", nil, "WEIR_SOURCE_GITHUB_SCHEME github default"},
		{"the key of the scheme", nil, "WEIR_SOURCE_GITHUB_KEY header:X-GitHub-Delivery (by scheme) default"},
		{"the keys of a scheme that has two", []string{"WEIR_SOURCE_GITHUB_SCHEME=gitlab"}, "WEIR_SOURCE_GITHUB_KEY header:Idempotency-Key (by scheme) default"},
		{"the key that the signature covers", []string{"WEIR_SOURCE_GITHUB_SCHEME=standard", "WEIR_SOURCE_GITHUB_SECRET=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"}, "WEIR_SOURCE_GITHUB_KEY header:webhook-id, else header:svix-id (by scheme) default"},
		{"a scheme without a key", []string{"WEIR_SOURCE_GITHUB_SCHEME=zoom"}, "WEIR_SOURCE_GITHUB_KEY none (by scheme) default"},
		{"a key that is set", []string{"WEIR_SOURCE_GITHUB_KEY=json:id"}, "WEIR_SOURCE_GITHUB_KEY json:id set"},
		{"what the scheme does with a conflict", []string{"WEIR_SOURCE_GITHUB_SCHEME=stripe"}, "WEIR_SOURCE_GITHUB_ON_CONFLICT ignore (by scheme) default"},
		{"a secret by its length", nil, "WEIR_SOURCE_GITHUB_SECRET set (21 characters) set"},
		{"the short form of the URL", nil, "WEIR_DESTINATION_DEFAULT_URL http://127.0.0.1:3000/in from WEIR_FORWARD_URL"},
		{"credentials masked", []string{"WEIR_FORWARD_URL=http://u:p@a/x?k=v"}, "WEIR_DESTINATION_DEFAULT_URL http://***@a/x?*** from WEIR_FORWARD_URL"},
		{"of where alerts go the host", []string{"WEIR_ALERT_URL=https://u:p@hooks.example/services/T0/secret?k=v"}, "WEIR_ALERT_URL https://hooks.example/*** set"},
		{"headers by their number", []string{`WEIR_DESTINATION_DEFAULT_HEADERS={"A":"b"}`}, "WEIR_DESTINATION_DEFAULT_HEADERS set (1 headers) set"},
		{"what holds in words", nil, "WEIR_MAX_DATABASE 80 % of the volume default"},
		{"the port of the host", []string{"PORT=9999"}, "WEIR_ADDR :9999 from PORT"},
		{"WEIR_ADDR before PORT", []string{"PORT=9999", "WEIR_ADDR=:7"}, "WEIR_ADDR :7 set"},
		{"the URL to register", []string{"WEIR_PUBLIC_URL=https://h.example/base/"}, "# source github: register https://h.example/base/hooks/github"},
		{"the URL without a public one", []string{"WEIR_ADDR=0.0.0.0:90"}, "# source github: register http://127.0.0.1:90/hooks/github (WEIR_PUBLIC_URL is not set)"},
		{"the URL of a token in the query", []string{"WEIR_PUBLIC_URL=https://h", "WEIR_SOURCE_GITHUB_SCHEME=token", "WEIR_SOURCE_GITHUB_TOKEN_IN=query:key"}, "# source github: register https://h/hooks/github?key=<the secret>"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if got, _ := configWords(t, houseWith(test.changes...)); !strings.Contains(got, test.line+"\n") {
				t.Errorf("no line %q in\n%s", test.line, got)
			}
		})
	}
}

func TestConfigLeavesOutWhatTheSchemeDoesNotRead(t *testing.T) {
	got, _ := configWords(t, houseWith())
	if strings.Contains(got, "HMAC_") || strings.Contains(got, "TOKEN_IN") {
		t.Errorf("settings of other schemes are shown:\n%s", got)
	}
	got, _ = configWords(t, houseWith("WEIR_SOURCE_GITHUB_SCHEME=hmac", "WEIR_SOURCE_GITHUB_HMAC_HEADER=X-Sig"))
	if !strings.Contains(got, "WEIR_SOURCE_GITHUB_HMAC_HEADER X-Sig set") {
		t.Errorf("the settings of hmac are not shown:\n%s", got)
	}
}

func TestConfigKeepsControlCharactersFromTheTerminal(t *testing.T) {
	got, _ := configWords(t, houseWith("WEIR_DATABASE=a\x1b[2Jb"))
	if strings.Contains(got, "\x1b") || !strings.Contains(got, "a?[2Jb") {
		t.Errorf("got %q", got)
	}
}

// TestWarnings: what works, and may not be meant.
func TestWarnings(t *testing.T) {
	for _, test := range []struct {
		rule    string
		changes []string
		want    string
	}{
		{"unsigned requests", []string{"WEIR_SOURCE_GITHUB_SCHEME=none", "WEIR_SOURCE_GITHUB_SECRET="}, "WEIR_SOURCE_GITHUB_SCHEME: none accepts unsigned"},
		{"no API token", nil, "WEIR_API_TOKEN: is not set"},
		{"white space around a secret", []string{"WEIR_SOURCE_GITHUB_SECRET= x\n"}, "WEIR_SOURCE_GITHUB_SECRET: the white space"},
		{"a secret with a line break", []string{"WEIR_SOURCE_GITHUB_SECRET=abcdefgh\nijk"}, "WEIR_SOURCE_GITHUB_SECRET: contains a line break"},
		{"a secret in quotation marks", []string{`WEIR_SOURCE_GITHUB_SECRET_PREVIOUS="abcdefghijk"`}, "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS: is in quotation marks"},
		{"a secret to guess", []string{"WEIR_SOURCE_GITHUB_SECRET=abc"}, "WEIR_SOURCE_GITHUB_SECRET: is so short"},
		{"Stripe's API key", []string{"WEIR_SOURCE_GITHUB_SCHEME=stripe", "WEIR_SOURCE_GITHUB_SECRET=sk_test_0123456789"}, "WEIR_SOURCE_GITHUB_SECRET: looks like an API key"},
		{"the address of a source as the public one", []string{"WEIR_PUBLIC_URL=https://h/hooks/github"}, "WEIR_PUBLIC_URL: contains /hooks/"},
		{"weir as its own destination", []string{"WEIR_ADDR=:8080", "WEIR_FORWARD_URL=http://localhost:8080/hooks/github"}, "WEIR_DESTINATION_DEFAULT_URL: is weir's own"},
		{"weir as its own destination, from outside", []string{"WEIR_PUBLIC_URL=https://h", "WEIR_FORWARD_URL=https://h/hooks/github"}, "WEIR_DESTINATION_DEFAULT_URL: is weir's own"},
		{"an ephemeral host: Render", []string{"RENDER=true"}, "Render deletes files"},
		{"an ephemeral host: Cloud Run", []string{"K_SERVICE=weir"}, "Cloud Run deletes files"},
		{"an ephemeral host: Koyeb", []string{"KOYEB_APP_NAME=weir"}, "Koyeb deletes files"},
		{"a long tolerance", []string{"WEIR_SOURCE_GITHUB_SCHEME=stripe", "WEIR_SOURCE_GITHUB_TOLERANCE=2h"}, "WEIR_SOURCE_GITHUB_TOLERANCE: lets anybody"},
		{"a tolerance without a timestamp", []string{"WEIR_SOURCE_GITHUB_TOLERANCE=1m"}, "WEIR_SOURCE_GITHUB_TOLERANCE: has no effect"},
		{"a destination that nothing goes to", []string{"WEIR_DESTINATIONS=default,b", "WEIR_DESTINATION_B_URL=http://b"}, "no source sends to b"},
		{"bodies that do not fit in", []string{"WEIR_MAX_INFLIGHT=1KiB"}, "WEIR_MAX_INFLIGHT: is less"},
		{"a short signing secret", []string{"WEIR_DESTINATION_DEFAULT_SIGNING_SECRET=c2hvcnQ="}, "SIGNING_SECRET: is shorter"},
		{"a client's address from anybody", []string{"WEIR_CLIENT_IP_HEADER=Fly-Client-IP"}, "WEIR_CLIENT_IP_HEADER: is believed from every client"},
		{"everybody as a proxy", []string{"WEIR_TRUSTED_PROXIES=10.0.0.0/8,0.0.0.0/0"}, "WEIR_TRUSTED_PROXIES: contains addresses of other people"},
		{"half of everybody as a proxy", []string{"WEIR_TRUSTED_PROXIES=128.0.0.0/1"}, "WEIR_TRUSTED_PROXIES: contains"},
		{"everybody as a proxy, by IPv6", []string{"WEIR_TRUSTED_PROXIES=2000::/3"}, "WEIR_TRUSTED_PROXIES: contains"},
		{"a time that cannot be renewed", []string{"WEIR_SOURCE_GITHUB_SCHEME=linear"}, "WEIR_SOURCE_GITHUB_RENEW: cannot be done"},
		{"a renewal without a timestamp", []string{"WEIR_SOURCE_GITHUB_RENEW=auto"}, "WEIR_SOURCE_GITHUB_RENEW: has no effect"},
		{"meta without a verify token", []string{"WEIR_SOURCE_GITHUB_SCHEME=meta"}, "VERIFY_TOKEN: is not set"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, err := Load(houseWith(test.changes...))
			if err != nil {
				t.Fatal(err)
			}
			if !anyContains(got.Warnings, test.want) {
				t.Errorf("no warning %q in %q", test.want, got.Warnings)
			}
		})
	}
	got, err := Load(houseWith("WEIR_API_TOKEN=a-token-of-the-tests", "WEIR_CLIENT_IP_HEADER=Fly-Client-IP", "WEIR_TRUSTED_PROXIES=10.0.0.0/8,fc00::/7"))
	if err != nil || len(got.Warnings) > 0 {
		t.Errorf("a plain house: %v, warnings %q", err, got.Warnings)
	}
}

func TestNoWarningOfAgedSignaturesWhereNoneIsNeeded(t *testing.T) {
	linear := "WEIR_SOURCE_GITHUB_SCHEME=linear"
	for name, changes := range map[string][]string{
		"switched off":     {linear, "WEIR_SOURCE_GITHUB_RENEW=never"},
		"weir's signature": {linear, "WEIR_DESTINATION_DEFAULT_SIGNING_SECRET=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"},
		"can be renewed":   {"WEIR_SOURCE_GITHUB_SCHEME=stripe"},
	} {
		got, err := Load(houseWith(changes...))
		if err != nil || anyContains(got.Warnings, "_RENEW") {
			t.Errorf("%s: %v, warnings %q", name, err, got.Warnings)
		}
	}
}

func TestConfigWarnsOfAMissingFolder(t *testing.T) {
	_, warnings := configWords(t, houseWith("WEIR_DATABASE=/no such folder/weir.db"))
	if !strings.Contains(warnings, "WEIR_DATABASE: the folder /no such folder does not exist") {
		t.Errorf("warnings: %q", warnings)
	}
}
