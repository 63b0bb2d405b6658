package config

import (
	"net/netip"
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

func TestNetworksThatHoldStrangersTrustEverybody(t *testing.T) {
	for list, want := range map[string]bool{
		"0.0.0.0/0": true, "::/0": true, "0.0.0.0/1": true, "128.0.0.0/1": true, "2000::/3": true,
		"10.0.0.0/8": false, "172.16.0.0/12": false, "fc00::/7": false, "fe80::/10": false, "100.64.0.0/10": false,
		"203.0.113.0/24": false, "2001:db8::/32": false, "13.0.0.0/8": false,
	} {
		if got := trustsEverybody([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix(list)}); got != want {
			t.Errorf("%s: %t, want %t", list, got, want)
		}
	}
	if trustsEverybody(nil) {
		t.Error("no network trusts everybody")
	}
}
