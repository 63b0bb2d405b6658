package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]ByteSize{
		"64KiB": 64 << 10, "1MiB": 1 << 20, "25 MiB": 25 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40,
		"0": 0, "1048576": 1 << 20, "7B": 7, "1mib": 1 << 20, "64TiB": maxSize,
	} {
		var got ByteSize
		if err := got.Decode(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "MiB", "1MB", "1kB", "1K", "1M", "-1KiB", "+1KiB", "1.5MiB", "1e3", "0x10", "1KiB ", "1  KiB",
		"65TiB", "9223372036854775807KiB", "99999999999999999999", "１KiB", "1KiBKiB",
	} {
		if err := new(ByteSize).Decode(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestDurationsNeedAUnitB82(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "0s": 0, "1h30m": 90 * time.Minute, "50ms": 50 * time.Millisecond, "1.5s": 1500 * time.Millisecond, "336h": 14 * 24 * time.Hour,
	} {
		var got Duration
		if err := got.Decode(text); err != nil || time.Duration(got) != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "30", "0", "+0", "-0", "-5s", "1d", "1w", "1d12h", "s", "5 s", "1e3s", "NaN", "Infinity", "9999999h", "five"} {
		if err := new(Duration).Decode(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestDurationsAreShownShort(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"72h": 72 * time.Hour, "15m": 15 * time.Minute, "1h30m": 90 * time.Minute, "30s": 30 * time.Second,
		"0s": 0, "10s": 10 * time.Second, "1m30s": 90 * time.Second, "10m": 10 * time.Minute, "20h": 20 * time.Hour,
		"1h0m10s": time.Hour + 10*time.Second, "50ms": 50 * time.Millisecond,
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestNetworks(t *testing.T) {
	var got prefixes
	if err := got.Decode("10.1.2.3/8, 192.0.2.1,fd00::1/8,::ffff:10.0.0.1,::ffff:10.0.0.0/104"); err != nil {
		t.Fatal(err)
	}
	want := []string{"10.0.0.0/8", "192.0.2.1/32", "fd00::/8", "10.0.0.1/32", "10.0.0.0/8"}
	if diff := cmp.Diff(strings.Join(want, ","), got.String()); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"10.0.0.0/33", "10.0.0", "fe80::1%eth0", "::ffff:10.0.0.0/90", "a,10.0.0.0/8", "10.0.0.0/-1"} {
		if err := new(prefixes).Decode(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestURLs(t *testing.T) {
	for text, shown := range map[string]string{
		"http://127.0.0.1:9/x":          "http://127.0.0.1:9/x",
		"https://user:pass@a.example":   "https://***@a.example",
		"https://token@a.example/p?k=v": "https://***@a.example/p?***",
		"http://[::1]:80/":              "http://[::1]:80/",
	} {
		var got webURL
		if err := got.Decode(text); err != nil || got.String() != shown {
			t.Errorf("%s: %s, %v, want %s", text, got, err, shown)
		}
	}
	for _, text := range []string{"a.example", "//a.example", "http:a", "http://", "http://:80", "ftp://a", "http://a:99999", "http://a:b", "http://a#f", "http://a b", "file:///etc"} {
		if err := new(webURL).Decode(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// What lacks the scheme is told so, whether it would be read as a path, as a
// scheme or not at all.
func TestURLsWithoutASchemeAreTold(t *testing.T) {
	for _, text := range []string{"127.0.0.1:3000", "localhost:3000", "app.example/in", "[::1]:80", "//a.example", "http:a"} {
		if err := new(webURL).Decode(text); err == nil || !strings.Contains(err.Error(), "begins with http:// or https://") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSecretsAreMaskedByEveryVerb(t *testing.T) {
	all := struct {
		Secret  secret
		URL     webURL
		Headers headerObject
	}{"hidden", "http://hidden:hidden@a", headerObject{"A": "hidden"}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := formatted(verb, all); strings.Contains(got, "hidden") {
			t.Errorf("%s: %s", verb, got)
		}
	}
	if got := secret("ünf").String(); got != "set (3 characters)" {
		t.Error(got)
	}
	if got := secret("hidden").LogValue().String(); strings.Contains(got, "hidden") {
		t.Error(got)
	}
}

func TestNamesOfVariables(t *testing.T) {
	for field, want := range map[string]string{
		"MaxBody": "MAX_BODY", "URL": "URL", "HMACTimestampHeader": "HMAC_TIMESTAMP_HEADER", "ForwardURL": "FORWARD_URL",
		"ClientIPHeader": "CLIENT_IP_HEADER", "APITokenPrevious": "API_TOKEN_PREVIOUS", "To": "TO",
	} {
		if got := snakeCase(field); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}

// sample returns a value that the variable takes and that is not its default.
func sample(v variable) string {
	byKey := map[string]string{
		"FALLBACK": "other", "KEY": "body", "_TYPE": "json:a.b", "TOKEN_IN": "header:X-Token", "HMAC_TEMPLATE": "x{body}", "SCHEME": "stripe",
		"LOG_LEVEL": "warn", "STATUS": "202",
	}
	for suffix, value := range byKey {
		if strings.HasSuffix(v.Key, suffix) {
			return value
		}
	}
	if v.oneOf != nil {
		return v.oneOf[len(v.oneOf)-1]
	}
	return map[string]string{
		"address": "127.0.0.1:7", "text": "some text", "names": "one,two", "URL": "http://a.example", "secret": "any",
		"header name": "X-Any", "header names": "X-Any,Y", "networks": "10.0.0.0/8", "rate": "7/1m", "rates": "7/1m,9/1h",
		"size": "77KiB", "duration": "7m", "number": "7", "JSON object": `{"A":"b"}`,
	}[v.kind]
}

// TestEveryVariableIsRead sets each one alone and looks for it in its field:
// the names in the help are the names that envconfig reads.
func TestEveryVariableIsRead(t *testing.T) {
	for prefix, makeSpec := range map[string]func() any{
		globalPrefix:      func() any { return new(Settings) },
		"WEIR_SOURCE_A_":  func() any { return new(Source) },
		DestinationPrefix: func() any { return new(Destination) },
	} {
		for i, v := range variables(prefix, makeSpec()) {
			unset, set := makeSpec(), makeSpec()
			var found problems
			environment{}.decode(prefix, unset, &found)
			environment{v.Key: sample(v)}.decode(prefix, set, &found)
			if len(found.faults) > 0 {
				t.Fatalf("%s: %v", v.Key, found.faults)
			}
			before := variables(prefix, unset)
			for j, after := range variables(prefix, set) {
				changed := !reflect.DeepEqual(before[j].value.Interface(), after.value.Interface())
				if changed != (i == j) {
					t.Errorf("setting %s: %s changed is %t", v.Key, after.Key, changed)
				}
			}
		}
	}
}

// TestBareNamesAreNotRead: a variable KEY or URL of the host is not ours.
func TestBareNamesAreNotRead(t *testing.T) {
	for _, g := range Groups() {
		for _, v := range g.List {
			bare := v.Key[strings.LastIndexAny(v.Key, ">_")+1:]
			t.Setenv(bare, "99")
		}
	}
	if _, err := Load(houseWith()); err != nil {
		t.Error(err)
	}
}
