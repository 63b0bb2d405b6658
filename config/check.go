package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// minToken is the least length of an API token, in characters.
const minToken = 16

// addr is WEIR_ADDR, else the port that the host asks for in PORT, else 8080.
func (l loaded) addr(found *problems) string {
	if l.global.Addr != "" {
		return string(l.global.Addr)
	}
	port := strings.TrimSpace(l.env["PORT"])
	if port == "" || l.env.has("WEIR_ADDR") {
		return ":8080"
	}
	if !validPort(port) {
		found.add("PORT", "want a port from 0 to 65535, or WEIR_ADDR")
	}
	return ":" + port
}

// apiTokens returns the accepted tokens, the current first.
func (l loaded) apiTokens(found *problems) []string {
	var tokens []string
	for _, token := range []struct {
		key   string
		value secret
	}{
		{"WEIR_API_TOKEN", l.global.APIToken}, {"WEIR_API_TOKEN_PREVIOUS", l.global.APITokenPrevious},
	} {
		if token.value == "" {
			continue
		}
		if len([]rune(string(token.value))) < minToken {
			found.add(token.key, "want %d characters or more", minToken)
		}
		tokens = append(tokens, string(token.value))
	}
	switch {
	case !l.env.has("WEIR_API_TOKEN") && l.env.has("WEIR_API_TOKEN_PREVIOUS"):
		found.add("WEIR_API_TOKEN_PREVIOUS", "is set without WEIR_API_TOKEN")
	case len(tokens) == 0:
		found.warn("WEIR_API_TOKEN", "is not set: the operator API and the dashboard answer 401")
	}
	return tokens
}

// publicURL returns WEIR_PUBLIC_URL without the slash at its end. What could
// not be part of an address that senders are given is refused.
func (l loaded) publicURL(found *problems) *url.URL {
	public := l.global.PublicURL.parsed()
	if public == nil {
		return nil
	}
	if public.User != nil || public.RawQuery != "" || public.ForceQuery {
		found.add("WEIR_PUBLIC_URL", "want no credentials and no query in it")
	}
	public.Path = strings.TrimRight(public.Path, "/")
	public.RawPath = strings.TrimRight(public.RawPath, "/")
	return public
}

// checkGlobal checks what concerns several settings of the service.
func (l loaded) checkGlobal(found *problems) {
	if len(l.global.Sources) == 0 {
		found.add("WEIR_SOURCES", "is required: name at least one source, such as github")
	}
	if len(l.global.Destinations) == 0 {
		found.add("WEIR_DESTINATIONS", "want at least one name")
	}
	if l.env.has("WEIR_METRICS_ADDR") && sameListener(string(l.global.MetricsAddr), l.addr(new(problems))) {
		found.add("WEIR_METRICS_ADDR", "is the address of the service itself")
	}
	l.checkAdminAddr(found)
	l.checkProxies(found)
	l.doubtPublicURL(found)
	if l.global.MaxInflight < l.global.MaxBody {
		found.warn("WEIR_MAX_INFLIGHT", "is less than WEIR_MAX_BODY: the largest bodies cannot come in")
	}
	if host := l.env.ephemeralHost(); host != "" {
		found.warn("WEIR_DATABASE", "%s forgets files at each restart, unless this path lies on a disk of its own: events would be lost", host)
	}
}

// checkAdminAddr wants a listener of its own for the operator.
func (l loaded) checkAdminAddr(found *problems) {
	switch admin := string(l.global.AdminAddr); {
	case admin == "":
	case sameListener(admin, l.addr(new(problems))):
		found.add("WEIR_ADMIN_ADDR", "is the address of the service itself")
	case l.global.MetricsAddr != "" && sameListener(admin, string(l.global.MetricsAddr)):
		found.add("WEIR_ADMIN_ADDR", "is the address of WEIR_METRICS_ADDR")
	}
}

// sameListener reports whether two addresses cannot both be listened on. Port
// 0 is another port each time.
func sameListener(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	return errA == nil && errB == nil && portA == portB && portA != "0" &&
		(hostA == hostB || hostA == "" || hostB == "")
}

// ephemeralHost names the platform when it is one whose file system is not
// kept over a restart.
func (e environment) ephemeralHost() string {
	switch {
	case e["RENDER"] != "":
		return "Render"
	case e["K_SERVICE"] != "":
		return "Cloud Run"
	}
	for key := range e {
		if strings.HasPrefix(key, "KOYEB_") {
			return "Koyeb"
		}
	}
	return ""
}

// checkListed notes names that no destination bears. It does not repeat them:
// they may be something else that was pasted.
func (l loaded) checkListed(key string, wanted []string, found *problems) {
	if found.has("WEIR_DESTINATIONS") {
		return // it is not known which there are
	}
	for i, name := range wanted {
		if slices.Contains(l.global.Destinations, name) {
			continue
		}
		if l.onlyDefault(key, wanted) {
			found.add(key, "is not set, and its default is %s, which WEIR_DESTINATIONS does not list; set it to a name that it lists",
				defaultDestination)
			return
		}
		which := "the name"
		if len(wanted) > 1 {
			which = fmt.Sprintf("name %d", i+1)
		}
		found.add(key, "%s is no destination that WEIR_DESTINATIONS lists", which)
	}
}

// onlyDefault reports whether a list is not what somebody wrote, but the
// default of a TO.
func (l loaded) onlyDefault(key string, wanted []string) bool {
	return !l.env.has(key) && len(wanted) == 1 && wanted[0] == defaultDestination
}
