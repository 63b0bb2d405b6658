package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// canary is in every value that must not come out again.
const canary = "c4n4ry"

// canaryValues are wrong, or right, for the several kinds of variables; each
// has the canary in it.
func canaryValues() []string {
	return []string{
		canary,
		canary + "-of-sixteen-letters-and-more",
		strings.ToUpper(canary) + " " + canary,
		"http://user:" + canary + "@host.example:1/",
		"http://user:" + canary + "@host.example:port/",
		"https://host.example/?key=" + canary,
		"ftp://" + canary,
		"http://%zz" + canary,
		`{"Authorization":"Bearer ` + canary + `"}`,
		`{"` + canary + ` bad":"x"}`,
		`{"A":"` + canary + `\n"}`,
		`{"A":` + canary,
		"whsec_" + canary + "!",
		canary + ":pass",
		"user:" + canary,
		"5m" + canary,
		canary + "/1m",
		"12/1m," + canary,
		"header:" + canary + " x",
		"query:" + canary + " y",
		"10.0.0.0/8," + canary,
		"{" + canary + "}{body}",
		"/tmp/no/such/" + canary,
	}
}

// outputs runs config with every form of printing, and returns all that it
// wrote, and whether the settings were taken.
func outputs(environ []string) (string, error) {
	var out bytes.Buffer
	if err := Print(environ, &out, &out); err != nil {
		return out.String() + err.Error(), err
	}
	read, err := Load(environ)
	fmt.Fprintf(&out, "%v %+v %#v", read, read, read)
	fmt.Fprintf(&out, "%v %+v %#v", read.Sources, read.Sources, read.Sources)
	fmt.Fprintf(&out, "%v %+v %#v", read.Destinations, read.Destinations, read.Destinations)
	return out.String(), err
}

// everyVariable lists the settings of a house with one source and one
// destination, those of files too; true marks secrets.
func everyVariable() map[string]bool {
	all := make(map[string]bool)
	for _, g := range exampleGroups() {
		for _, v := range g.List {
			all[v.Key] = v.secret
			if v.secret {
				all[v.Key+fileSuffix] = true
			}
		}
	}
	return all
}

// schemeThatReads returns a scheme that looks at the setting.
func schemeThatReads(key string) string {
	suffix := strings.TrimPrefix(key, SourcePrefix+exampleSource)
	for _, v := range variables("", new(Source)) {
		if v.scheme != "" && suffix == v.Key {
			return string(v.scheme)
		}
	}
	if strings.HasPrefix(suffix, "SECRET") {
		return SchemeBasic
	}
	return "github"
}

func TestNoFaultRepeatsAValue(t *testing.T) {
	every := everyVariable()
	for _, key := range slices.Sorted(maps.Keys(every)) {
		for _, value := range canaryValues() {
			printed, err := outputs(houseWith("WEIR_SOURCE_GITHUB_SCHEME="+schemeThatReads(key), key+"="+value))
			if err == nil && !every[key] {
				continue // a plain setting that was taken may be shown
			}
			if strings.Contains(printed, canary) {
				t.Fatalf("%s with the value %q:\n%s", key, value, printed)
			}
		}
	}
}

func TestNoFaultRepeatsAnyOfAllValues(t *testing.T) {
	for _, value := range canaryValues() {
		environ := []string{"PORT=" + value, "WEIR_" + strings.ToUpper(canary) + "=" + value}
		for key := range everyVariable() {
			if key != "WEIR_SOURCES" && key != "WEIR_DESTINATIONS" {
				environ = append(environ, key+"="+value)
			}
		}
		environ = append(environ, "WEIR_SOURCES=github", "WEIR_DESTINATIONS=default")
		printed, err := outputs(environ)
		if err == nil {
			t.Fatalf("%q is right everywhere", value)
		}
		if strings.Contains(printed, canary) {
			t.Errorf("the value %q:\n%s", value, printed)
		}
	}
}

// TestSecretsComeFromEveryPlace: what must be redacted is known completely.
func TestSecretsComeFromEveryPlace(t *testing.T) {
	got, err := Load(houseWith(
		"WEIR_API_TOKEN=token-of-the-operator", "WEIR_API_TOKEN_PREVIOUS=token-of-yesterday-",
		"WEIR_ALERT_URL=https://chat.example/T/B?key=alert-key",
		"WEIR_SOURCES=github,b,m",
		"WEIR_SOURCE_GITHUB_SECRET_PREVIOUS=older secret",
		"WEIR_SOURCE_B_SCHEME=basic", "WEIR_SOURCE_B_SECRET=user:basic-password",
		"WEIR_SOURCE_M_SCHEME=meta", "WEIR_SOURCE_M_SECRET=meta-secret", "WEIR_SOURCE_M_VERIFY_TOKEN=verify-me",
		"WEIR_FORWARD_URL=http://u:url-p%40ss@app.example/?q=query-secret",
		`WEIR_DESTINATION_DEFAULT_HEADERS={"X-Auth":"Bearer header-secret"}`,
		"WEIR_DESTINATION_DEFAULT_SIGNING_SECRET=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
	))
	if err != nil {
		t.Fatal(err)
	}
	secrets := got.Secrets()
	for _, want := range []string{
		"token-of-the-operator", "token-of-yesterday-", "https://chat.example/T/B?key=alert-key", "alert-key",
		"a secret of the tests", "older secret", "user:basic-password", "basic-password",
		"dXNlcjpiYXNpYy1wYXNzd29yZA==", "meta-secret", "verify-me", "url-p@ss", "dTp1cmwtcEBzcw==",
		"query-secret", "Bearer header-secret", "header-secret", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
	} {
		if !slices.Contains(secrets, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if slices.Contains(secrets, "") {
		t.Error("an empty text cannot be redacted")
	}
}
