package config

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// formatted is fmt.Sprintf with a verb that is not a constant.
func formatted(verb string, value any) string { return fmt.Sprintf(verb, value) }

// written returns what a function writes.
func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var page bytes.Buffer
	if err := write(&page); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// TestEveryFieldIsDescribed: nobody adds a setting without saying what it
// means, what holds without it, and what its bounds are.
func TestEveryFieldIsDescribed(t *testing.T) {
	for _, g := range Groups() {
		for _, v := range g.List {
			if v.desc == "" || (v.def == "") == (v.unset == "") {
				t.Errorf("%s: description %q, default %q, unset %q", v.Key, v.desc, v.def, v.unset)
			}
			if bounded := v.kind == "duration" || v.kind == "size" || v.kind == "number"; bounded != (v.Min != "" && v.Max != "") {
				t.Errorf("%s: a %s from %q to %q", v.Key, v.kind, v.Min, v.Max)
			}
			if v.Min != "" && v.bound(v.Min) >= v.bound(v.Max) {
				t.Errorf("%s: %s is not below %s", v.Key, v.Min, v.Max)
			}
			if v.def != "" {
				checkDefault(t, v)
			}
		}
	}
}

// checkDefault: the default itself is right, and shown as it is written.
func checkDefault(t *testing.T, v variable) {
	t.Helper()
	decoder := v.value.Addr().Interface().(interface{ Decode(string) error })
	if err := decoder.Decode(v.def); err != nil {
		t.Errorf("%s: the default: %v", v.Key, err)
	}
	if reason := v.outOfBounds(); reason != "" {
		t.Errorf("%s: the default: %s", v.Key, reason)
	}
	if got := v.shownValue().String(); got != v.def {
		t.Errorf("%s: the default %s is shown as %s", v.Key, v.def, got)
	}
}

// TestNamesCannotCollide: the settings of a source (or destination) whose name
// begins with another's name are never taken for that one's. It would take a
// setting that ends in another setting: X_B of "a" is B of "a-x".
func TestNamesCannotCollide(t *testing.T) {
	for _, prefix := range []string{SourcePrefix, DestinationPrefix} {
		suffixes := suffixesOf(prefix)
		for long := range suffixes {
			for short := range suffixes {
				if strings.HasSuffix(long, "_"+short) && !strings.HasSuffix(long, fileSuffix) {
					t.Errorf("%s%s could be %s of another name", prefix, long, short)
				}
			}
		}
	}
}

// TestExampleFileIsTheHelp: run "weir help --env > .env.example" after a
// change of the settings.
func TestExampleFileIsTheHelp(t *testing.T) {
	file, err := os.ReadFile("../.env.example")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written(t, EnvExample), string(file)); diff != "" {
		t.Errorf("weir help --env writes something else than .env.example:\n%s", diff)
	}
}

// TestSettingsPageIsTheHelp: run "weir help --markdown > docs/settings.md" after
// a change of the settings.
func TestSettingsPageIsTheHelp(t *testing.T) {
	file, err := os.ReadFile("../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written(t, Markdown), string(file)); diff != "" {
		t.Errorf("weir help --markdown prints something else than docs/settings.md has:\n%s", diff)
	}
}

// TestExampleFileWorksWithASecret: the lines that are not comments are a
// whole configuration but for the secret, which nobody can forget to choose.
func TestExampleFileWorksWithASecret(t *testing.T) {
	var environ []string
	for line := range strings.SplitSeq(written(t, EnvExample), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			environ = append(environ, line)
		}
	}
	faults := faultsOf(environ)
	if len(faults) != 1 || faults["WEIR_SOURCE_GITHUB_SECRET"] == "" {
		t.Errorf("want the secret alone to be missing, got %v", faults)
	}
	if faults := faultsOf(append(environ, "WEIR_SOURCE_GITHUB_SECRET=chosen")); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestExampleFileComesTrueWhenUncommented: every default that is written
// there may be set as it is.
func TestExampleFileComesTrueWhenUncommented(t *testing.T) {
	for line := range strings.SplitSeq(written(t, EnvExample), "\n") {
		setting := strings.TrimPrefix(line, "#")
		key, _, isSetting := strings.Cut(setting, "=")
		if !isSetting || !strings.HasPrefix(key, globalPrefix) || strings.Contains(key, " ") {
			continue
		}
		scheme := schemeThatReads(key)
		environ := houseWith("WEIR_SOURCE_GITHUB_SCHEME="+scheme, "WEIR_SOURCE_GITHUB_SECRET=user:password", "WEIR_SOURCE_GITHUB_HMAC_HEADER=", setting)
		if scheme == SchemeHMAC {
			environ = append(environ, "WEIR_SOURCE_GITHUB_HMAC_HEADER=X-Signature")
		}
		if faults := faultsOf(environ); len(faults) > 0 && !strings.HasSuffix(setting, "=") {
			t.Errorf("%s: %v", setting, faults)
		}
	}
}
