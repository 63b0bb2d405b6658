package config

import (
	"strings"
	"testing"
	"time"

	"weir/signature"
	"weir/webhook"
)

// rightSecret is one that the scheme takes.
func rightSecret(scheme string) string {
	switch scheme {
	case "standard":
		return "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
	case "sendgrid":
		return "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8+O2XGeCzQ6b4LL1rVpOnGwQaM2+Tj9ppS74uJzCy4Zg8Smbhh8ruFFydDwZRaDaH/JLUlILJgi3C8Xf3uh/nQ=="
	case "discord":
		return strings.Repeat("0a", 32)
	case SchemeBasic:
		return "user:password"
	case SchemeNone:
		return ""
	}
	return "any-text-0123456789"
}

// TestEveryScheme: each word that the help lists makes a source that package
// signature can verify, and one source without its secret is refused (B21).
func TestEverySchemeB21(t *testing.T) {
	for _, scheme := range SchemeNames() {
		environ := houseWith("WEIR_PUBLIC_URL=https://h.example", "WEIR_SOURCE_GITHUB_SCHEME="+scheme)
		if scheme == SchemeHMAC {
			environ = append(environ, "WEIR_SOURCE_GITHUB_HMAC_HEADER=X-Sig")
		}
		got, err := Load(append(environ, "WEIR_SOURCE_GITHUB_SECRET="+rightSecret(scheme)))
		if err != nil {
			t.Errorf("%s: %v", scheme, err)
			continue
		}
		if _, err := signature.New(got.Sources[0].SignatureConfig(got.PublicURL)); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
		_, missing := faultsOf(append(environ, "WEIR_SOURCE_GITHUB_SECRET= "))["WEIR_SOURCE_GITHUB_SECRET"]
		if missing == (scheme == SchemeNone) {
			t.Errorf("%s without a secret: fault %t", scheme, missing)
		}
	}
}

// TestTheSchemeIsTheName for every scheme but none.
func TestTheSchemeIsTheName(t *testing.T) {
	for _, scheme := range SchemeNames() {
		prefix := PrefixOf(SourcePrefix, scheme)
		faults := faultsOf([]string{
			"WEIR_FORWARD_URL=http://a", "WEIR_PUBLIC_URL=https://h", "WEIR_SOURCES=" + scheme, prefix + "SECRET=" + rightSecret(scheme),
		})
		delete(faults, prefix+"HMAC_HEADER")
		if (len(faults) == 0) == (scheme == SchemeNone) {
			t.Errorf("%s: %v", scheme, faults)
		}
	}
}

func TestSignatureIsToldEverything(t *testing.T) {
	got, err := Load(houseWith("WEIR_PUBLIC_URL=https://h.example/p/", "WEIR_SOURCE_GITHUB_SECRET_PREVIOUS=older", "WEIR_SOURCE_GITHUB_RATE=10/1s,120/1m"))
	if err != nil {
		t.Fatal(err)
	}
	config := got.Sources[0].SignatureConfig(got.PublicURL)
	if config.PublicURL != "https://h.example/p" || len(config.Secrets) != 2 || config.AllowedRate != 120 || config.MaxBody != 1<<20 {
		t.Errorf("public URL %q, %d secrets, rate %d, body %d", config.PublicURL, len(config.Secrets), config.AllowedRate, config.MaxBody)
	}
}

func TestPerMinute(t *testing.T) {
	for _, test := range []struct {
		rates string
		want  int
	}{{"", 0}, {"3000/1m", 3000}, {"10/1s", 600}, {"1/1h", 1}, {"100/1m,720/24h", 1}, {"1000000000/1ms", 60_000_000_000_000}} {
		var list []webhook.Rate
		if test.rates != "" {
			var err error
			if list, err = webhook.ParseRates(test.rates); err != nil {
				t.Fatal(err)
			}
		}
		if got := perMinute(list); got != test.want {
			t.Errorf("%s: %d, want %d", test.rates, got, test.want)
		}
	}
	if got := perMinute([]webhook.Rate{{N: 7, Per: 7 * time.Minute}}); got != 1 {
		t.Error(got)
	}
}
