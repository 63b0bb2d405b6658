package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// house is an environment that works; each test changes what it is about.
func houseWith(changes ...string) []string {
	return append([]string{
		"WEIR_SOURCES=github",
		"WEIR_SOURCE_GITHUB_SECRET=a secret of the tests",
		"WEIR_FORWARD_URL=http://127.0.0.1:3000/in",
	}, changes...)
}

// faultsOf returns the faults of an environment by variable.
func faultsOf(environ []string) map[string]string {
	faults := make(map[string]string)
	for _, fault := range readAll(environ).faults {
		faults[fault.key] = fault.reason
	}
	return faults
}

func TestLeastHouse(t *testing.T) {
	got, err := Load(houseWith())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Sources) != 1 || len(got.Destinations) != 1 {
		t.Fatalf("sources %d, destinations %d", len(got.Sources), len(got.Destinations))
	}
	if got.Sources[0].Scheme != "github" || got.Sources[0].MaxBody != 1<<20 {
		t.Errorf("scheme %q, max body %d", got.Sources[0].Scheme, got.Sources[0].MaxBody)
	}
	if d := got.Destinations[0]; d.Name != "default" || string(d.URL) != "http://127.0.0.1:3000/in" {
		t.Errorf("destination %s to %v", d.Name, d.URL)
	}
}

// TestFaults: each setting is held to its rule, and the fault names the
// variable.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		rule    string
		changes []string
		key     string
		reason  string
	}{
		{"items without a signature", []string{"WEIR_SOURCE_GITHUB_SCHEME=hmac", "WEIR_SOURCE_GITHUB_HMAC_HEADER=X-Sig", "WEIR_SOURCE_GITHUB_HMAC_ITEMS=v1"}, "WEIR_SOURCE_GITHUB_HMAC_ITEMS", "t={timestamp},v1={signature}"},
		{"a time in the items that is not signed", []string{"WEIR_SOURCE_GITHUB_SCHEME=hmac", "WEIR_SOURCE_GITHUB_HMAC_HEADER=X-Sig", "WEIR_SOURCE_GITHUB_HMAC_ITEMS=t={timestamp},v1={signature}"}, "WEIR_SOURCE_GITHUB_HMAC_TEMPLATE", "does not contain {timestamp}"},
		{"a key that is not in its encoding", []string{"WEIR_SOURCE_GITHUB_SCHEME=hmac", "WEIR_SOURCE_GITHUB_HMAC_HEADER=X-Sig", "WEIR_SOURCE_GITHUB_HMAC_KEY_ENCODING=hex"}, "WEIR_SOURCE_GITHUB_SECRET", "not a key in hex"},
		{"B21 an empty secret", []string{"WEIR_SOURCE_GITHUB_SECRET="}, "WEIR_SOURCE_GITHUB_SECRET", "required"},
		{"B21 a secret of spaces", []string{"WEIR_SOURCE_GITHUB_SECRET=  \t "}, "WEIR_SOURCE_GITHUB_SECRET", "required"},
		{"B21 none must be written out", []string{"WEIR_SOURCES=none", "WEIR_SOURCE_GITHUB_SECRET="}, "WEIR_SOURCE_NONE_SCHEME", "write none"},
		{"B21 a secret that none would ignore", []string{"WEIR_SOURCE_GITHUB_SCHEME=none"}, "WEIR_SOURCE_GITHUB_SECRET", "not used"},
		{"B82 a duration without a unit", []string{"WEIR_SHUTDOWN_DELAY=30"}, "WEIR_SHUTDOWN_DELAY", "unit"},
		{"B82 zero without a unit", []string{"WEIR_SHUTDOWN_DELAY=0"}, "WEIR_SHUTDOWN_DELAY", "unit"},
		{"B82 a negative duration", []string{"WEIR_SHUTDOWN_DELAY=-5s"}, "WEIR_SHUTDOWN_DELAY", "negative"},
		{"B82 days", []string{"WEIR_SHUTDOWN_DELAY=1d"}, "WEIR_SHUTDOWN_DELAY", "hours"},
		{"a duration beyond its bound", []string{"WEIR_SHUTDOWN_DELAY=2h"}, "WEIR_SHUTDOWN_DELAY", "0s to 1h"},
		{"a duration that overflows", []string{"WEIR_IDLE_EXIT=9999999h"}, "WEIR_IDLE_EXIT", "duration"},
		{"no source", []string{"WEIR_SOURCES=", "WEIR_SOURCE_GITHUB_SECRET="}, "WEIR_SOURCES", "required"},
		{"a name with capitals", []string{"WEIR_SOURCES=GitHub"}, "WEIR_SOURCES", "a-z"},
		{"a name twice", []string{"WEIR_SOURCES=github,github"}, "WEIR_SOURCES", "more than once"},
		{"a name of 41", []string{"WEIR_SOURCES=" + strings.Repeat("a", 41)}, "WEIR_SOURCES", "40"},
		{"an unknown scheme", []string{"WEIR_SOURCE_GITHUB_SCHEME=gitbub"}, "WEIR_SOURCE_GITHUB_SCHEME", "did you mean github?"},
		{"a name that is no scheme", []string{"WEIR_SOURCES=shop", "WEIR_SOURCE_GITHUB_SECRET=", "WEIR_SOURCE_SHOP_SECRET=x"}, "WEIR_SOURCE_SHOP_SCHEME", "required"},
		{"nowhere to forward to", []string{"WEIR_FORWARD_URL="}, "WEIR_FORWARD_URL", "required"},
		{"two places for one URL", []string{"WEIR_DESTINATION_DEFAULT_URL=http://a"}, "WEIR_FORWARD_URL", "together"},
		{"FORWARD_URL without default", []string{"WEIR_DESTINATIONS=app", "WEIR_DESTINATION_APP_URL=http://a"}, "WEIR_FORWARD_URL", "not used"},
		{"a destination without a URL", []string{"WEIR_DESTINATIONS=default,app"}, "WEIR_DESTINATION_APP_URL", "required"},
		{"a URL that is not http", []string{"WEIR_FORWARD_URL=ftp://a"}, "WEIR_FORWARD_URL", "http"},
		{"a URL without a host", []string{"WEIR_FORWARD_URL=http:///x"}, "WEIR_FORWARD_URL", "host"},
		{"a short token", []string{"WEIR_API_TOKEN=fifteen-letters"}, "WEIR_API_TOKEN", "16"},
		{"a previous token alone", []string{"WEIR_API_TOKEN_PREVIOUS=sixteen-letters-"}, "WEIR_API_TOKEN_PREVIOUS", "WEIR_API_TOKEN is not"},
		{"twilio without the public URL", []string{"WEIR_SOURCE_GITHUB_SCHEME=twilio"}, "WEIR_PUBLIC_URL", "required"},
		{"square without the public URL", []string{"WEIR_SOURCE_GITHUB_SCHEME=square"}, "WEIR_PUBLIC_URL", "required"},
		{"hubspot without the public URL", []string{"WEIR_SOURCE_GITHUB_SCHEME=hubspot"}, "WEIR_PUBLIC_URL", "required"},
		{"hmac with {url} without the public URL", []string{"WEIR_SOURCE_GITHUB_SCHEME=hmac", "WEIR_SOURCE_GITHUB_HMAC_HEADER=X", "WEIR_SOURCE_GITHUB_HMAC_TEMPLATE={url}{body}"}, "WEIR_PUBLIC_URL", "required"},
		{"a public URL with a query", []string{"WEIR_PUBLIC_URL=https://a/?x=1"}, "WEIR_PUBLIC_URL", "query"},
		{"hmac without a header", []string{"WEIR_SOURCE_GITHUB_SCHEME=hmac"}, "WEIR_SOURCE_GITHUB_HMAC_HEADER", "required"},
		{"a template with an unknown part", []string{"WEIR_SOURCE_GITHUB_SCHEME=hmac", "WEIR_SOURCE_GITHUB_HMAC_TEMPLATE={body}{x}"}, "WEIR_SOURCE_GITHUB_HMAC_TEMPLATE", "braces"},
		{"a template without the body", []string{"WEIR_SOURCE_GITHUB_SCHEME=hmac", "WEIR_SOURCE_GITHUB_HMAC_TEMPLATE={timestamp}"}, "WEIR_SOURCE_GITHUB_HMAC_TEMPLATE", "{body}"},
		{"a template with a time from nowhere", []string{"WEIR_SOURCE_GITHUB_SCHEME=hmac", "WEIR_SOURCE_GITHUB_HMAC_TEMPLATE={timestamp}.{body}"}, "WEIR_SOURCE_GITHUB_HMAC_TIMESTAMP_HEADER", "required"},
		{"a template with an id from nowhere", []string{"WEIR_SOURCE_GITHUB_SCHEME=hmac", "WEIR_SOURCE_GITHUB_HMAC_TEMPLATE={id}.{body}"}, "WEIR_SOURCE_GITHUB_KEY", "header:NAME"},
		{"a time that is not signed", []string{"WEIR_SOURCE_GITHUB_SCHEME=hmac", "WEIR_SOURCE_GITHUB_HMAC_HEADER=X", "WEIR_SOURCE_GITHUB_HMAC_TIMESTAMP_HEADER=Y"}, "WEIR_SOURCE_GITHUB_HMAC_TIMESTAMP_HEADER", "not signed"},
		{"HMAC_HEADER on another scheme", []string{"WEIR_SOURCE_GITHUB_HMAC_HEADER=X"}, "WEIR_SOURCE_GITHUB_HMAC_HEADER", "hmac only"},
		{"HMAC_PREFIX on another scheme", []string{"WEIR_SOURCE_GITHUB_HMAC_PREFIX=v0="}, "WEIR_SOURCE_GITHUB_HMAC_PREFIX", "hmac only"},
		{"TOKEN_IN on another scheme", []string{"WEIR_SOURCE_GITHUB_TOKEN_IN=bearer"}, "WEIR_SOURCE_GITHUB_TOKEN_IN", "token only"},
		{"VERIFY_TOKEN on another scheme", []string{"WEIR_SOURCE_GITHUB_VERIFY_TOKEN=x"}, "WEIR_SOURCE_GITHUB_VERIFY_TOKEN", "meta, hmac, token, basic, none only"},
		{"TOKEN_IN elsewhere", []string{"WEIR_SOURCE_GITHUB_SCHEME=token", "WEIR_SOURCE_GITHUB_TOKEN_IN=cookie:x"}, "WEIR_SOURCE_GITHUB_TOKEN_IN", "bearer"},
		{"basic without a colon", []string{"WEIR_SOURCE_GITHUB_SCHEME=basic"}, "WEIR_SOURCE_GITHUB_SECRET", "user:password"},
		{"basic without a password, previous", []string{"WEIR_SOURCE_GITHUB_SCHEME=basic", "WEIR_SOURCE_GITHUB_SECRET=a:b", "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS=a:"}, "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS", "user:password"},
		{"a secret of Standard Webhooks that is not base64", []string{"WEIR_SOURCE_GITHUB_SCHEME=standard"}, "WEIR_SOURCE_GITHUB_SECRET", "base64"},
		{"the same, previous", []string{"WEIR_SOURCE_GITHUB_SCHEME=standard", "WEIR_SOURCE_GITHUB_SECRET=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz", "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS=whsec_!"}, "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS", "base64"},
		{"a public key of Discord that is none", []string{"WEIR_SOURCE_GITHUB_SCHEME=discord"}, "WEIR_SOURCE_GITHUB_SECRET", "64 hex digits"},
		{"an unknown key place", []string{"WEIR_SOURCE_GITHUB_KEY=cookie:a"}, "WEIR_SOURCE_GITHUB_KEY", "header:NAME"},
		{"an empty path", []string{"WEIR_SOURCE_GITHUB_KEY=json:"}, "WEIR_SOURCE_GITHUB_KEY", "json:"},
		{"an unknown ON_CONFLICT", []string{"WEIR_SOURCE_GITHUB_ON_CONFLICT=drop"}, "WEIR_SOURCE_GITHUB_ON_CONFLICT", "reject, keep, ignore"},
		{"a status that is not 2xx", []string{"WEIR_SOURCE_GITHUB_STATUS=302"}, "WEIR_SOURCE_GITHUB_STATUS", "200 to 299"},
		{"TO a stranger", []string{"WEIR_SOURCE_GITHUB_TO=app"}, "WEIR_SOURCE_GITHUB_TO", "WEIR_DESTINATIONS"},
		{"a body over 25 MiB", []string{"WEIR_MAX_BODY=26MiB"}, "WEIR_MAX_BODY", "25MiB"},
		{"a source's body over 25 MiB", []string{"WEIR_SOURCE_GITHUB_MAX_BODY=26MiB"}, "WEIR_SOURCE_GITHUB_MAX_BODY", "25MiB"},
		{"a size in MB", []string{"WEIR_MAX_BODY=1MB"}, "WEIR_MAX_BODY", "MiB"},
		{"a rate without a window", []string{"WEIR_REFUSED_RATE=30"}, "WEIR_REFUSED_RATE", "60/1m"},
		{"a rate of nothing", []string{"WEIR_SOURCE_GITHUB_RATE=0/1m"}, "WEIR_SOURCE_GITHUB_RATE", "whole number"},
		{"a list with a hole", []string{"WEIR_DESTINATION_DEFAULT_RATE=60/1m,,5/1s"}, "WEIR_DESTINATION_DEFAULT_RATE", "60/1m"},
		{"two rates for the refused", []string{"WEIR_REFUSED_RATE=1/1s,2/1m"}, "WEIR_REFUSED_RATE", "duration"},
		{"two budgets", []string{"WEIR_DESTINATION_DEFAULT_RETRY_BUDGET=1/1s,2/1m"}, "WEIR_DESTINATION_DEFAULT_RETRY_BUDGET", "duration"},
		{"octal is not a number", []string{"WEIR_DESTINATION_DEFAULT_CONCURRENCY=0x10"}, "WEIR_DESTINATION_DEFAULT_CONCURRENCY", "whole number"},
		{"no concurrency", []string{"WEIR_DESTINATION_DEFAULT_CONCURRENCY=0"}, "WEIR_DESTINATION_DEFAULT_CONCURRENCY", "1 to 256"},
		{"too much concurrency", []string{"WEIR_DESTINATION_DEFAULT_CONCURRENCY=257"}, "WEIR_DESTINATION_DEFAULT_CONCURRENCY", "1 to 256"},
		{"a cap below the base", []string{"WEIR_DESTINATION_DEFAULT_BACKOFF=1h"}, "WEIR_DESTINATION_DEFAULT_BACKOFF_MAX", "less"},
		{"headers that are no object", []string{"WEIR_DESTINATION_DEFAULT_HEADERS=[1]"}, "WEIR_DESTINATION_DEFAULT_HEADERS", "JSON object"},
		{"headers of numbers", []string{`WEIR_DESTINATION_DEFAULT_HEADERS={"A":1}`}, "WEIR_DESTINATION_DEFAULT_HEADERS", "text"},
		{"headers of null", []string{`WEIR_DESTINATION_DEFAULT_HEADERS={"A":null}`}, "WEIR_DESTINATION_DEFAULT_HEADERS", "text"},
		{"a header with a line break", []string{`WEIR_DESTINATION_DEFAULT_HEADERS={"A":"b\nc"}`}, "WEIR_DESTINATION_DEFAULT_HEADERS", "control"},
		{"a header of the connection", []string{`WEIR_DESTINATION_DEFAULT_HEADERS={"TE":"b"}`}, "WEIR_DESTINATION_DEFAULT_HEADERS", "connection"},
		{"a header in two spellings", []string{`WEIR_DESTINATION_DEFAULT_HEADERS={"A":"b","a":"c"}`}, "WEIR_DESTINATION_DEFAULT_HEADERS", "twice"},
		{"two Authorizations", []string{"WEIR_FORWARD_URL=http://u:p@a", `WEIR_DESTINATION_DEFAULT_HEADERS={"authorization":"b"}`}, "WEIR_DESTINATION_DEFAULT_HEADERS", "credentials"},
		{"a signing secret that is not base64", []string{"WEIR_DESTINATION_DEFAULT_SIGNING_SECRET=whsec_!"}, "WEIR_DESTINATION_DEFAULT_SIGNING_SECRET", "base64"},
		{"a fallback that is not listed", []string{"WEIR_DESTINATION_DEFAULT_FALLBACK=b"}, "WEIR_DESTINATION_DEFAULT_FALLBACK", "a name in WEIR_DESTINATIONS"},
		{"a fallback to itself", []string{"WEIR_DESTINATION_DEFAULT_FALLBACK=default"}, "WEIR_DESTINATION_DEFAULT_FALLBACK", "another destination"},
		{"fallbacks in a circle", []string{"WEIR_DESTINATIONS=default,b", "WEIR_DESTINATION_B_URL=http://b", "WEIR_DESTINATION_DEFAULT_FALLBACK=b", "WEIR_DESTINATION_B_FALLBACK=default"}, "WEIR_DESTINATION_B_FALLBACK", "back"},
		{"an address without a port", []string{"WEIR_ADDR=localhost"}, "WEIR_ADDR", ":port"},
		{"a port out of range", []string{"WEIR_ADDR=:65536"}, "WEIR_ADDR", "65535"},
		{"a PORT that is none", []string{"PORT=tcp://1.2.3.4:80"}, "PORT", "65535"},
		{"operator on the service's address", []string{"WEIR_ADMIN_ADDR=127.0.0.1:8080"}, "WEIR_ADMIN_ADDR", "itself"},
		{"operator on the address of metrics", []string{"WEIR_ADMIN_ADDR=:9", "WEIR_METRICS_ADDR=:9"}, "WEIR_ADMIN_ADDR", "WEIR_METRICS_ADDR"},
		{"a list of addresses as client's header", []string{"WEIR_CLIENT_IP_HEADER=x-forwarded-for"}, "WEIR_CLIENT_IP_HEADER", "WEIR_TRUSTED_PROXIES"},
		{"another list of addresses as client's header", []string{"WEIR_CLIENT_IP_HEADER=Forwarded"}, "WEIR_CLIENT_IP_HEADER", "WEIR_TRUSTED_PROXIES"},
		{"metrics on the service's address", []string{"WEIR_METRICS_ADDR=127.0.0.1:8080"}, "WEIR_METRICS_ADDR", "itself"},
		{"a proxy that is no network", []string{"WEIR_TRUSTED_PROXIES=10.0.0.0/33"}, "WEIR_TRUSTED_PROXIES", "networks"},
		{"a client's address from a list", []string{"WEIR_CLIENT_IP_HEADER=x-forwarded-for", "WEIR_TRUSTED_PROXIES=10.0.0.0/8"}, "WEIR_CLIENT_IP_HEADER", "set WEIR_TRUSTED_PROXIES to"},
		{"the standard's list", []string{"WEIR_CLIENT_IP_HEADER=Forwarded"}, "WEIR_CLIENT_IP_HEADER", "holds a list"},
		{"the list under another name", []string{"WEIR_CLIENT_IP_HEADER=X-Original-Forwarded-For"}, "WEIR_CLIENT_IP_HEADER", "holds a list"},
		{"a header name with a space", []string{"WEIR_CLIENT_IP_HEADER=Fly Client"}, "WEIR_CLIENT_IP_HEADER", "header"},
		{"an unknown level", []string{"WEIR_LOG_LEVEL=loud"}, "WEIR_LOG_LEVEL", "debug, info, warn, error"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			faults := faultsOf(houseWith(test.changes...))
			if reason, found := faults[test.key]; !found || !strings.Contains(reason, test.reason) {
				t.Errorf("want a fault of %s about %q, got %v", test.key, test.reason, faults)
			}
			if len(faults) > 2 {
				t.Errorf("one fault is told as %d: %v", len(faults), faults)
			}
		})
	}
}

// TestAccepted: values at the edge of the rules.
func TestAccepted(t *testing.T) {
	for _, changes := range [][]string{
		{"WEIR_DESTINATION_DEFAULT_BACKOFF=50ms", "WEIR_DESTINATION_DEFAULT_TIMEOUT=500ms", "WEIR_STALL_AFTER=1s", "WEIR_DESTINATION_DEFAULT_MAX_AGE=5s", "WEIR_DESTINATION_DEFAULT_RETRY_BUDGET=1000/1s"},
		{"WEIR_SOURCE_GITHUB_SCHEME=none", "WEIR_SOURCE_GITHUB_SECRET="},
		{"WEIR_SOURCE_GITHUB_TOLERANCE=100000h"},
		{"WEIR_SHUTDOWN_GRACE=0s", "WEIR_IDLE_EXIT=1500ms"},
		{"WEIR_SOURCES= github , github-2 ", "WEIR_SOURCE_GITHUB_2_SCHEME=GitHub", "WEIR_SOURCE_GITHUB_2_SECRET=x"},
		{"WEIR_DESTINATION_DEFAULT_RATE=60/1m, 5000/24h"},
		{"WEIR_MAX_BODY=65536", "WEIR_MAX_DATABASE=2GiB"},
		{"WEIR_ADDR=127.0.0.1:0", "WEIR_METRICS_ADDR=127.0.0.1:0"},
		{"WEIR_TRUSTED_PROXIES=10.0.0.1/8, fd00::1"},
		{"WEIR_SOURCE_GITHUB_KEY=json:data.object.id", "WEIR_SOURCE_GITHUB_STATUS=204", "WEIR_LOG_LEVEL=DEBUG"},
		{"WEIR_SOURCE_GITHUB_SCHEME=twilio", "WEIR_PUBLIC_URL=https://h.example/base/"},
		{"WEIR_FORWARD_URL=http://user:p%40ss@[::1]:9/x?y=z"},
		{"KUBERNETES_SERVICE_HOST=10.0.0.1", "WEIR_PORT=tcp://10.0.0.9:80", "WEIR_SERVICE_HOST=10.0.0.9", "WEIR_PORT_80_TCP_ADDR=10.0.0.9"},
		{"WEIR_URL=http://elsewhere:1"},
	} {
		if faults := faultsOf(houseWith(changes...)); len(faults) > 0 {
			t.Errorf("%v: %v", changes, faults)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	for key, want := range map[string]string{
		"WEIR_FORWARD_ULR":             "did you mean WEIR_FORWARD_URL?",
		"WEIR_SOURCE":                  "did you mean WEIR_SOURCES?",
		"WEIR_TOKEN":                   "did you mean WEIR_API_TOKEN?",
		"WEIR_SOURCE_GITHUB_SERCET":    "did you mean WEIR_SOURCE_GITHUB_SECRET?",
		"WEIR_SOURCE_GITHUB_MAXBODY":   "did you mean WEIR_SOURCE_GITHUB_MAX_BODY?",
		"WEIR_SOURCE_GITHBU_SECRET":    "does not list githbu; did you mean WEIR_SOURCE_GITHUB_SECRET?",
		"WEIR_SOURCE_STRIPE_SECRET":    "WEIR_SOURCES does not list stripe",
		"WEIR_DESTINATION_APP_URL":     "WEIR_DESTINATIONS does not list app",
		"WEIR_API_TOKEN_FIEL":          "did you mean WEIR_API_TOKEN_FILE?",
		"WEIR_DATABASE_FILE":           "did you mean WEIR_DATABASE?",
		"WEIR_DESTINATION_DEFAULT_ULR": "did you mean WEIR_DESTINATION_DEFAULT_URL?",
		"WEIR_PORT":                    "did you mean PORT or WEIR_ADDR?",
		"WEIR_MAX_AGE":                 "did you mean WEIR_DESTINATION_DEFAULT_MAX_AGE?",
		"WEIR_CONCURRENCY":             "did you mean WEIR_DESTINATION_DEFAULT_CONCURRENCY?",
		"WEIR_FALLBACK":                "did you mean WEIR_DESTINATION_DEFAULT_FALLBACK?",
		"WEIR_TO":                      "did you mean WEIR_SOURCE_GITHUB_TO?",
		"WEIR_RATE":                    "did you mean WEIR_SOURCE_GITHUB_RATE or WEIR_DESTINATION_DEFAULT_RATE?",
	} {
		if got := faultsOf(houseWith(key + "=1"))[key]; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// TestNamesInLowerCaseAreRefused: what begins with weir_ in any case was meant
// for us.
func TestNamesInLowerCaseAreRefused(t *testing.T) {
	for key, want := range map[string]string{
		"weir_max_body":             "are in upper case; did you mean WEIR_MAX_BODY?",
		"Weir_Api_Token_File":       "are in upper case; did you mean WEIR_API_TOKEN_FILE?",
		"WEIR_SOURCE_github_STATUS": "are in upper case; did you mean WEIR_SOURCE_GITHUB_STATUS?",
		"weir_sorces":               "did you mean WEIR_SOURCES?",
		"weir_source_stripe_secret": "WEIR_SOURCES does not list stripe",
	} {
		faults := faultsOf(houseWith(key + "=1"))
		if !strings.Contains(faults[key], want) || len(faults) != 1 {
			t.Errorf("%s: %q, want one error with %q", key, faults, want)
		}
	}
	if faults := faultsOf(houseWith("WEIRD=1", "weird_setting=1", "weir=1")); len(faults) > 0 {
		t.Errorf("names of others are refused: %v", faults)
	}
}

// TestANameTwiceIsOneFault and nothing follows from it.
func TestANameTwiceIsOneFault(t *testing.T) {
	for _, test := range []struct {
		key     string
		changes []string
	}{
		{"WEIR_DESTINATIONS", []string{"WEIR_DESTINATIONS=default,default"}},
		{"WEIR_DESTINATIONS", []string{
			"WEIR_DESTINATIONS=app,crm,app", "WEIR_FORWARD_URL=", "WEIR_SOURCE_GITHUB_TO=app,crm", "WEIR_DESTINATION_APP_URL=http://a",
			"WEIR_DESTINATION_APP_FALLBACK=crm", "WEIR_DESTINATION_CRM_URL=http://b", "WEIR_DESTINATION_CRM_RATE=1/1s",
		}},
		{"WEIR_SOURCES", []string{"WEIR_SOURCES=github,shop,github", "WEIR_SOURCE_SHOP_SCHEME=token", "WEIR_SOURCE_SHOP_SECRET=a secret of the shop"}},
		{"WEIR_SOURCE_GITHUB_TO", []string{"WEIR_SOURCE_GITHUB_TO=default,default"}},
	} {
		faults := faultsOf(houseWith(test.changes...))
		if len(faults) != 1 || !strings.Contains(faults[test.key], "more than once") {
			t.Errorf("%v: want one error in %s, got %v", test.changes, test.key, faults)
		}
	}
}

// TestAListThatCannotBeReadIsOneFault: nothing is said about what it may have
// listed.
func TestAListThatCannotBeReadIsOneFault(t *testing.T) {
	for _, changes := range [][]string{
		{"WEIR_DESTINATIONS=App", "WEIR_FORWARD_URL=", "WEIR_DESTINATION_APP_URL=http://a", "WEIR_SOURCE_GITHUB_TO=app"},
		{"WEIR_DESTINATIONS=,", "WEIR_FORWARD_URL="},
		{"WEIR_SOURCES=GitHub", "WEIR_SOURCE_GITHUB_STATUS=204"},
	} {
		if faults := faultsOf(houseWith(changes...)); len(faults) != 1 {
			t.Errorf("%v: want one error, got %v", changes, faults)
		}
	}
}

// A slip in a list is told as that one fault, and not as what follows from it.
func TestSlipsInTheListsAreOneFault(t *testing.T) {
	for _, test := range []struct {
		rule    string
		changes []string
		want    map[string]string
	}{
		{
			"a source", []string{"WEIR_SOURCES=githbu", "WEIR_SOURCE_GITHUB_STATUS=204"},
			map[string]string{"WEIR_SOURCES": "has a name for which nothing is set, and not github, for which there are settings; did you mean github?"},
		},
		{
			"one source of several", []string{"WEIR_SOURCES=github,strpie", "WEIR_SOURCE_STRIPE_SECRET=another secret"},
			map[string]string{"WEIR_SOURCES": "has a name for which nothing is set, and not stripe, for which there are settings; did you mean stripe?"},
		},
		{
			"a destination", []string{"WEIR_DESTINATIONS=default,ap", "WEIR_DESTINATION_APP_URL=http://a", "WEIR_SOURCE_GITHUB_TO=app"},
			map[string]string{"WEIR_DESTINATIONS": "has a name for which nothing is set, and not app, for which there are settings; did you mean app?"},
		},
		{
			"TO by default", []string{"WEIR_FORWARD_URL=", "WEIR_DESTINATIONS=app,spare", "WEIR_DESTINATION_APP_URL=http://a", "WEIR_DESTINATION_SPARE_URL=http://b"},
			map[string]string{"WEIR_SOURCE_GITHUB_TO": "is not set, and its default is default, which WEIR_DESTINATIONS does not list; set it to a name in that list"},
		},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if diff := cmp.Diff(test.want, faultsOf(houseWith(test.changes...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A name that is near a scheme's, without settings for either.
func TestANameNearASchemeIsToldOf(t *testing.T) {
	got := faultsOf(houseWith("WEIR_SOURCES=strpie", "WEIR_SOURCE_GITHUB_SECRET="))["WEIR_SOURCE_STRPIE_SCHEME"]
	if !strings.HasSuffix(got, "; did you mean stripe?") {
		t.Errorf("got %q", got)
	}
}

func TestSecretsFromFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", "from a file\r\n")
	got, err := Load(houseWith("WEIR_SOURCE_GITHUB_SECRET=", "WEIR_SOURCE_GITHUB_SECRET_FILE="+good))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"from a file"}, got.Sources[0].Secrets()); diff != "" {
		t.Error(diff)
	}
	if anyContains(got.Warnings, "SECRET: the white space") {
		t.Error("a line end of a file is no reason to warn")
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "absent"): "no such file",
		dir:                          "directory",
		write("empty", " \n"):        "empty",
		write("large", strings.Repeat("x", maxSecretFile+1)): "larger than 64KiB",
	} {
		faults := faultsOf(houseWith("WEIR_SOURCE_GITHUB_SECRET=", "WEIR_SOURCE_GITHUB_SECRET_FILE="+path))
		if len(faults) != 1 || !strings.Contains(faults["WEIR_SOURCE_GITHUB_SECRET_FILE"], want) {
			t.Errorf("want one fault about %q, got %v", want, faults)
		}
	}
	if faults := faultsOf(houseWith("WEIR_SOURCE_GITHUB_SECRET_FILE=" + good)); !strings.Contains(faults["WEIR_SOURCE_GITHUB_SECRET"], "together") {
		t.Errorf("both forms at once: %v", faults)
	}
}

func anyContains(lines []string, part string) bool {
	return strings.Contains(strings.Join(lines, "\n"), part)
}

// TestFaultsAreToldAtOnce: one run tells everything.
func TestFaultsAreToldAtOnce(t *testing.T) {
	_, err := Load([]string{"WEIR_MAX_BODY=1", "WEIR_STALL_AFTER=5", "WEIR_X=1"})
	if !errors.As(err, new(Errors)) {
		t.Fatalf("want Errors, got %v", err)
	}
	for _, key := range []string{"WEIR_STALL_AFTER", "WEIR_X", "WEIR_SOURCES", "WEIR_FORWARD_URL"} {
		if !strings.Contains(err.Error(), key+": ") {
			t.Errorf("%s is not told in:\n%s", key, err)
		}
	}
}

// TestLoadsDoNotDisturbEachOther: each has names of its own in the
// environment of the process.
func TestLoadsDoNotDisturbEachOther(t *testing.T) {
	var loads sync.WaitGroup
	for i := range 8 {
		loads.Go(func() {
			database := fmt.Sprintf("%d.db", i)
			got, err := Load(houseWith("WEIR_DATABASE=" + database))
			if err != nil || string(got.Database) != database {
				t.Errorf("database %q, %v, want %q", got.Database, err, database)
			}
		})
	}
	loads.Wait()
}
