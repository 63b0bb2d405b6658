package config

import (
	"strings"
	"testing"
)

// Settings by which anybody can claim any address are named at the start, with
// what to set.
func TestMadeUpClientAddressesAreWarnedOf(t *testing.T) {
	for settings, want := range map[string]string{
		"WEIR_CLIENT_IP_HEADER=Fly-Client-IP":                                    "WEIR_CLIENT_IP_HEADER",
		"WEIR_TRUSTED_PROXIES=0.0.0.0/0":                                         "WEIR_TRUSTED_PROXIES",
		"WEIR_TRUSTED_PROXIES=10.0.0.0/8,::/0":                                   "WEIR_TRUSTED_PROXIES",
		"WEIR_TRUSTED_PROXIES=10.0.0.0/8":                                        "",
		"WEIR_CLIENT_IP_HEADER=Fly-Client-IP WEIR_TRUSTED_PROXIES=172.16.0.0/12": "",
	} {
		environ := append([]string{"WEIR_SOURCES=github", "WEIR_SOURCE_GITHUB_SECRET=a-long-secret", "WEIR_FORWARD_URL=http://127.0.0.1:3000/",
			"WEIR_API_TOKEN=token-of-the-operator"}, strings.Fields(settings)...)
		got, err := Load(environ)
		if err != nil {
			t.Fatal(err)
		}
		warnings := strings.Join(got.Warnings, "\n")
		if want == "" && warnings != "" {
			t.Errorf("%s: %s", settings, warnings)
		}
		if !strings.Contains(warnings, want) || want != "" && !strings.Contains(warnings, "can claim any address") {
			t.Errorf("%s: no warning of %s in %q", settings, want, warnings)
		}
	}
}
