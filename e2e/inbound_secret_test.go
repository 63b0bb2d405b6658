package e2e

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/config"
)

// canaries are values that must not be found again. Those that are forwarded
// are in the store, because what is stored is what is sent on.
func canaries() (kept, dropped http.Header) {
	return http.Header{"X-Api-Key": {"canary-api-key"}},
		http.Header{
			"Authorization": {"Bearer canary-authorization"}, "Cookie": {"session=canary-cookie"},
			"Proxy-Authorization": {"Basic canary-proxy"}, "X-Real-Ip": {"canary-real-ip"},
		}
}

// withCanaries adds them to the header of a request.
func withCanaries(header http.Header) http.Header {
	kept, dropped := canaries()
	header = header.Clone()
	for _, more := range []http.Header{kept, dropped} {
		for name, values := range more {
			if header.Get(name) == "" {
				header[name] = values
			}
		}
	}
	return header
}

// overheard is everything that the service shows to anybody.
func (s *service) overheard() string {
	s.t.Helper()
	all := []string{s.said.String(), s.metrics()}
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: patience}
	base := "http://" + s.address
	visit(s.t, client, base+"/login", url.Values{"token": {blackboxToken}})
	pages := []string{"/", "/events", "/destinations", "/dead"}
	for _, event := range listAll[shownEvent](s, "/v1/events") {
		pages = append(pages, "/events/"+event.ID)
		all = append(all, s.text("/v1/events/"+event.ID))
	}
	for _, page := range pages {
		all = append(all, visit(s.t, client, base+page, nil).text)
	}
	for _, path := range []string{"/v1/events", "/v1/deliveries", "/v1/destinations", "/v1/sources", "/v1/stats"} {
		all = append(all, s.text(path))
	}
	return strings.Join(all, "\n")
}

// text returns what the operator API answers, as it is.
func (s *service) text(path string) string {
	s.t.Helper()
	a, err := s.request(http.MethodGet, path, http.Header{"Authorization": {"Bearer " + blackboxToken}}, nil)
	if err != nil || a.status != http.StatusOK {
		s.t.Fatalf("%s: %d, %v", path, a.status, err)
	}
	return a.text
}

// onDisk is everything that the service has written into its folder.
func (s *service) onDisk() string {
	s.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(s.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all.Write(content)
		return err
	})
	if err != nil || !strings.Contains(all.String(), "SQLite format 3") {
		s.t.Fatalf("no database in %s: %v", s.folder, err)
	}
	return all.String()
}

func TestB80CredentialsAreNeitherShownNorKept(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	names := []string{"github", "gitlab", "telegram", "cloudevents", "basic", "header", "query", "bearer"}
	s := started(t, sink.url, slices.Concat(onlySources(names...), inboundSource("github", "github"), inboundSource("gitlab", "gitlab"),
		inboundSource("telegram", "telegram"), inboundSource("cloudevents", "cloudevents"), inboundSource("basic", "basic"),
		inboundSource("header", config.SchemeToken, "TOKEN_IN=header:X-Vendor-Key"), inboundSource("query", config.SchemeToken, "TOKEN_IN=query:key"),
		inboundSource("bearer", config.SchemeToken), []string{"WEIR_LOG_LEVEL=debug", "WEIR_REFUSED_RATE=1000/1m"})...)
	var signatures []string
	for _, name := range names {
		request := s.signed(name, "key-"+name, `{"update_id":1}`, nil)
		signatures = append(signatures, request.Header.Get("X-Hub-Signature-256"))
		request.Header = withCanaries(request.Header)
		a := s.submit(request)
		if a.status != 200 {
			t.Fatalf("%s: %d %s", name, a.status, a.text)
		}
		s.awaitState(a.receipt.ID, "delivered")
		forged := request
		forged.Target = "/hooks/" + name + "?key=canary-query&access_token=canary-query"
		forged.Header = request.Header.Clone()
		for _, header := range []string{"X-Hub-Signature-256", "X-Gitlab-Token", "X-Telegram-Bot-Api-Secret-Token", "X-Vendor-Key"} {
			forged.Header.Set(header, "canary-token")
		}
		forged.Header.Set("Authorization", "Bearer canary-authorization")
		if a := s.submit(forged); a.status != 401 {
			t.Errorf("%s, forged: %d", name, a.status)
		}
	}
	shown, kept := s.overheard(), s.onDisk()
	checkCanaries(t, shown, kept, slices.DeleteFunc(signatures, func(text string) bool { return text == "" }))
	for _, a := range sink.seen() {
		for _, name := range []string{"Authorization", "Cookie", "X-Gitlab-Token", "X-Telegram-Bot-Api-Secret-Token", "X-Vendor-Key"} {
			if a.header.Get(name) != "" {
				t.Errorf("%s is forwarded", name)
			}
		}
		if a.header.Get("X-Api-Key") != "canary-api-key" {
			t.Error("a header of the sender is not forwarded")
		}
	}
}

// checkCanaries looks for them in what is shown and in what is kept.
func checkCanaries(t *testing.T, shown, kept string, signatures []string) {
	t.Helper()
	if !strings.Contains(shown, "key-gitlab") || !strings.Contains(kept, "canary-api-key") {
		t.Fatal("the test does not see what it should")
	}
	if len(signatures) == 0 {
		t.Fatal("nothing was signed")
	}
	never := append([]string{"canary", blackboxSecret, url.QueryEscape(blackboxSecret), blackboxToken}, signatures...)
	for _, value := range never {
		if strings.Contains(shown, value) {
			at := strings.Index(shown, value)
			t.Errorf("%q is shown: …%s…", value, shown[max(0, at-200):min(len(shown), at+100)])
		}
	}
	for _, value := range []string{
		"canary-authorization", "canary-cookie", "canary-proxy", "canary-real-ip", "canary-query", "canary-token",
		blackboxSecret, url.QueryEscape(blackboxSecret), blackboxToken,
	} {
		if strings.Contains(kept, value) {
			t.Errorf("%q is kept", value)
		}
	}
}

// TestB81ScannersMakeNoSeries: random paths, methods, names and event types.
func TestB81ScannersMakeNoSeries(t *testing.T) {
	t.Parallel()
	sink := newDownstream(t, answers(200))
	s := started(t, sink.url, "WEIR_REFUSED_RATE=1000000/1m")
	scan := func(n int) {
		word := func() string { return fmt.Sprintf("%x", rand.Uint64()) }
		for range n {
			header := http.Header{"X-Github-Event": {word()}, "X-Hub-Signature-256": {"sha256=" + word()}}
			method := []string{"GET", "POST", "PUT", "HEAD", strings.ToUpper(strings.Map(onlyLetters, word())) + "X"}[rand.IntN(5)]
			path := []string{"/hooks/", "/", "/v1/", "/v1/events/", "/hooks/github?", "/hooks/github/", "/events/"}[rand.IntN(7)]
			if _, err := s.request(method, path+word(), header, nil); err != nil {
				t.Error(err)
			}
		}
	}
	s.send("first", "{}")
	scan(50)
	before := strings.Count(s.metrics(), "\n")
	var scanners sync.WaitGroup
	for range 8 {
		scanners.Go(func() { scan(625) })
	}
	scanners.Wait()
	if grown := strings.Count(s.metrics(), "\n") - before; grown > 10 {
		t.Errorf("the metrics grew by %d lines", grown)
	}
}

// onlyLetters drops the digits of a hexadecimal word.
func onlyLetters(r rune) rune {
	if r >= 'a' && r <= 'f' {
		return r
	}
	return -1
}
