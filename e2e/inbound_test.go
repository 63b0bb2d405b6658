package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/config"
	"weir/signature"
)

// inboundSecret is a secret of the black-box tests for a scheme. It can sign
// for every scheme, also where its provider would give out a public key only.
func inboundSecret(scheme string) string {
	switch scheme {
	case "standard":
		return "whsec_" + base64.StdEncoding.EncodeToString([]byte(blackboxSecret+"!"))
	case "discord":
		return "seed:" + strings.Repeat("5e", 32)
	case config.SchemeBasic:
		return "sender:" + blackboxSecret
	case config.SchemeNone:
		return ""
	}
	return blackboxSecret
}

// inboundSource returns the settings of a source of a scheme.
func inboundSource(name, scheme string, more ...string) []string {
	prefix := config.PrefixOf(config.SourcePrefix, name)
	settings := []string{prefix + "SCHEME=" + scheme, prefix + "SECRET=" + inboundSecret(scheme)}
	if scheme == config.SchemeHMAC {
		settings = append(settings, prefix+"HMAC_HEADER=X-Sum")
	}
	return append(settings, settingsOf(prefix, more...)...)
}

// onlySources begins the settings of a service that has these sources.
func onlySources(names ...string) []string {
	return []string{
		"WEIR_SOURCES=" + strings.Join(names, ","), "WEIR_SOURCE_GITHUB_SECRET=", "WEIR_PUBLIC_URL=https://hooks.example.com",
	}
}

// sourcesOf is a source for each scheme, named after it.
func sourcesOf(schemes ...string) []string {
	settings := onlySources(schemes...)
	for _, scheme := range schemes {
		settings = append(settings, inboundSource(scheme, scheme)...)
	}
	return settings
}

// environ is what the process of a service reads its settings from.
func (s *service) environ() []string {
	environ := []string{"WEIR_ADDR=" + s.address, "WEIR_DATABASE=" + s.database}
	for name, value := range s.settings {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// providers returns what signs as the provider of each source does.
func (s *service) providers() map[string]*signature.Verifier {
	s.t.Helper()
	resolved, err := config.Load(s.environ())
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]*signature.Verifier{}
	for _, source := range resolved.Sources {
		if all[source.Name], err = signature.New(source.SignatureConfig(resolved.PublicURL)); err != nil {
			s.t.Fatal(err)
		}
	}
	return all
}

// signed makes a request as the provider of a source would, now.
func (s *service) signed(source, id, body string, header http.Header) signature.Request {
	s.t.Helper()
	return signedBy(s.t, s.providers()[source], webhookSample{id, body, header})
}

// webhookSample is what a provider has to say.
type webhookSample struct {
	id, body string
	header   http.Header
}

// signedBy makes a request as a provider would, now.
func signedBy(t *testing.T, provider *signature.Verifier, said webhookSample) signature.Request {
	t.Helper()
	request := provider.Sample(said.id, time.Now())
	request.Body = []byte(said.body)
	maps.Copy(request.Header, said.header)
	request, err := provider.Sign(request, said.id, time.Now())
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	return request
}

// macOf is the HMAC-SHA256 of a text under the secret of these tests, in hex.
func macOf(text string) string {
	mac := hmac.New(sha256.New, []byte(blackboxSecret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// submit sends a signed request.
func (s *service) submit(request signature.Request) answered {
	s.t.Helper()
	a, err := s.request(request.Method, request.Target, request.Header, request.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", request.Method, request.Target, err)
	}
	return a
}

// metrics returns the page of metrics.
func (s *service) metrics() string {
	s.t.Helper()
	a, err := s.request(http.MethodGet, "/metrics", http.Header{"Authorization": {"Bearer " + blackboxToken}}, nil)
	if err != nil || a.status != http.StatusOK {
		s.t.Fatalf("metrics: %d, %v", a.status, err)
	}
	return a.text
}

// counted returns the value of one series, 0 where it is not there.
func (s *service) counted(series string) int {
	s.t.Helper()
	for line := range strings.SplitSeq(s.metrics(), "\n") {
		if value, found := strings.CutPrefix(line, series+" "); found {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return int(number)
		}
	}
	return 0
}

// intake is the series of the requests to a source that came to a result.
func intakeOf(source, result string) string {
	return fmt.Sprintf("weir_intake_requests_total{source=%q,result=%q}", source, result)
}
