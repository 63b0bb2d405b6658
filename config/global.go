package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Settings holds the settings of the whole service, prefix WEIR_. [Load] fills
// and checks it; it is never changed afterwards.
type Settings struct {
	Addr             address      `split_words:"true" unset:":8080, or :$PORT" desc:"address to listen on: host:port, or :port for all interfaces"`
	Database         text         `split_words:"true" default:"weir.db" desc:"path of the SQLite file"`
	Sources          sources      `split_words:"true" unset:"required" desc:"names of the senders, separated by commas, each of 1 to 40 of the characters a-z, 0-9 and -; requests for the name are received at /hooks/NAME"`
	Destinations     destinations `split_words:"true" default:"default" desc:"names of the places that events are sent to, separated by commas, of the same characters"`
	ForwardURL       webURL       `split_words:"true" unset:"–" secret:"true" desc:"address to which webhooks are forwarded: short for WEIR_DESTINATION_DEFAULT_URL"`
	APIToken         secret       `split_words:"true" unset:"–" secret:"true" desc:"bearer token of the operator API and the dashboard, at least 16 characters; without one both answer 401"`
	APITokenPrevious secret       `split_words:"true" unset:"–" secret:"true" desc:"previous token, still accepted while clients change to the new one"`
	PublicURL        webURL       `split_words:"true" unset:"–" desc:"address at which senders reach weir, such as https://hooks.example.com; required by schemes that sign the address (twilio, square, hubspot)"`
	ClientIPHeader   headerName   `split_words:"true" unset:"–" desc:"header in which your host or proxy passes the address of the client, and only that address (Fly-Client-IP); set WEIR_TRUSTED_PROXIES too, or every client can claim any address"`
	TrustedProxies   prefixes     `split_words:"true" unset:"–" desc:"networks of the proxies in front of weir; unless WEIR_CLIENT_IP_HEADER is set, the client is the right-most entry of X-Forwarded-For that is not in them"`
	RefusedRate      Rate         `split_words:"true" default:"30/1m" desc:"refused requests (400, 401, 404) that one client address may make; further ones are answered 429 unread. Addresses that sent a verified event in the last hour are exempt"`
	MaxBody          ByteSize     `split_words:"true" default:"1MiB" min:"1B" max:"25MiB" desc:"largest body that is received"`
	MaxInflight      ByteSize     `split_words:"true" default:"32MiB" min:"1B" max:"64GiB" desc:"bytes of bodies that are received at the same time; further requests are answered 503"`
	DedupeWindow     Duration     `split_words:"true" default:"336h" min:"1ms" max:"87600h" desc:"how long the id of an event is remembered after its first copy, so that repeats are dropped"`
	RetainDelivered  Duration     `split_words:"true" default:"168h" min:"0s" max:"87600h" desc:"how long bodies and attempts of delivered events are kept"`
	RetainDead       Duration     `split_words:"true" default:"720h" min:"0s" max:"87600h" desc:"how long bodies and attempts of dead events are kept"`
	MaxDatabase      ByteSize     `split_words:"true" unset:"80 % of the volume" min:"64KiB" max:"64TiB" desc:"largest size of the database: when it is reached, bodies of delivered events are removed early, then new events are answered 503; nothing undelivered is ever removed"`
	ShutdownGrace    Duration     `split_words:"true" default:"20s" min:"0s" max:"1h" desc:"longest time to finish open requests and attempts when stopping; together with WEIR_SHUTDOWN_DELAY it must be less than the time after which your host kills the process"`
	ShutdownDelay    Duration     `split_words:"true" default:"0s" min:"0s" max:"1h" desc:"time between reporting not ready and closing the listener"`
	IdleExit         Duration     `split_words:"true" default:"0s" min:"0s" max:"8760h" desc:"exit with status 0 after this time without a request, when nothing is pending; 0s means never"`
	StallAfter       Duration     `split_words:"true" default:"10m" min:"1ms" max:"8760h" desc:"age of the oldest due delivery from which /healthz/delivery answers 503"`
	MetricsAddr      address      `split_words:"true" unset:"–" desc:"address of a second listener that serves /metrics without a token"`
	AdminAddr        address      `split_words:"true" unset:"–" desc:"address of a listener for the operator API, the dashboard and /metrics; WEIR_ADDR then serves only the receive paths and health"`
	AlertURL         hookURL      `split_words:"true" unset:"–" secret:"true" desc:"address that is sent a POST of {\"text\": …} when a person should look, such as an incoming webhook of a chat"`
	URL              webURL       `split_words:"true" default:"http://127.0.0.1:8080" desc:"address at which the commands status, events, redeliver and send reach the service"`
	LogLevel         choice       `split_words:"true" default:"info" oneof:"debug|info|warn|error" desc:"lowest level that is logged"`
	LogFormat        choice       `split_words:"true" default:"auto" oneof:"auto|text|json" desc:"auto is text on a terminal and JSON elsewhere"`

	// Warnings are sentences for the log at start, without secrets.
	Warnings []string `ignored:"true"`
}

// String keeps the secrets out of whatever prints the settings as a whole.
func (s Settings) String() string {
	return fmt.Sprintf("settings of %d sources and %d destinations", len(s.Sources), len(s.Destinations))
}

// GoString does the same for %#v.
func (s Settings) GoString() string { return s.String() }

// APITokens returns the accepted tokens, the current first; none closes the
// operator API.
func (s Settings) APITokens() []string { return setOnes(s.APIToken, s.APITokenPrevious) }

// setOnes returns the secrets that are set.
func setOnes(list ...secret) []string {
	var set []string
	for _, one := range list {
		if one != "" {
			set = append(set, string(one))
		}
	}
	return set
}

// Level returns the lowest level that is logged.
func (s Settings) Level() slog.Level {
	var level slog.Level
	if level.UnmarshalText([]byte(s.LogLevel)) != nil {
		return slog.LevelInfo
	}
	return level
}

// checkGlobal checks what concerns several settings of the service, fills in
// what follows from others, and warns.
func (p *pass) checkGlobal() {
	p.fillAddr()
	p.checkTokens()
	p.checkPublicURL()
	p.checkClientAddress()
	s := &p.settings
	if len(s.Sources) == 0 {
		p.add("WEIR_SOURCES", "is required: name at least one source, such as github")
	}
	if len(s.Destinations) == 0 {
		p.add("WEIR_DESTINATIONS", "must have at least one name")
	}
	p.checkTwice("WEIR_SOURCES", len(s.Sources))
	p.checkTwice("WEIR_DESTINATIONS", len(s.Destinations))
	p.checkListeners()
	if s.MaxInflight < s.MaxBody {
		p.warn("WEIR_MAX_INFLIGHT", "is less than WEIR_MAX_BODY: the largest bodies cannot be received")
	}
	if host := p.env.ephemeralHost(); host != "" {
		p.warn("WEIR_DATABASE", "%s deletes files at each restart, unless this path is on a persistent disk: events would be lost", host)
	}
}

// checkTwice refuses a list that has a name more than once. The list itself
// was read without the repetition, so that nothing else is reported.
func (p *pass) checkTwice(key string, names int) {
	if !p.has(key) && p.env[key] != "" && len(splitList(p.env[key])) > names {
		p.add(key, "has a name more than once; remove the repetition")
	}
}

// fillAddr fills in the address where WEIR_ADDR is unset: the port that the
// host asks for in PORT, else 8080.
func (p *pass) fillAddr() {
	if p.settings.Addr != "" {
		return
	}
	port := strings.TrimSpace(p.env["PORT"])
	if port == "" || p.env.has("WEIR_ADDR") {
		port = "8080"
	}
	if !validPort(port) {
		p.add("PORT", "must be a port from 0 to 65535; or set WEIR_ADDR")
	}
	p.settings.Addr = address(":" + port)
}

// minToken is the least length of an API token, in characters.
const minToken = 16

// checkTokens checks the tokens of the operator API.
func (p *pass) checkTokens() {
	const current, previous = "WEIR_API_TOKEN", "WEIR_API_TOKEN_PREVIOUS"
	p.checkTokenLength(current, p.settings.APIToken)
	p.checkTokenLength(previous, p.settings.APITokenPrevious)
	switch {
	case !p.env.has(current) && p.env.has(previous):
		p.add(previous, "is set, but WEIR_API_TOKEN is not")
	case p.settings.APIToken == "" && p.settings.APITokenPrevious == "":
		p.warn(current, "is not set: the operator API and the dashboard answer 401")
	}
}

func (p *pass) checkTokenLength(key string, token secret) {
	if token != "" && len([]rune(string(token))) < minToken {
		p.add(key, "must have at least %d characters", minToken)
	}
}

// checkPublicURL removes the slash at the end of WEIR_PUBLIC_URL, and refuses
// what cannot be part of an address that senders are given.
func (p *pass) checkPublicURL() {
	public := p.settings.PublicURL.Parsed()
	if public == nil {
		return
	}
	if public.User != nil || public.RawQuery != "" || public.ForceQuery {
		p.add("WEIR_PUBLIC_URL", "must have no credentials and no query")
	}
	public.Path = strings.TrimRight(public.Path, "/")
	public.RawPath = strings.TrimRight(public.RawPath, "/")
	p.settings.PublicURL = webURL(public.String())
	if strings.Contains(public.Path+"/", "/hooks/") {
		p.warn("WEIR_PUBLIC_URL", "contains /hooks/, which weir adds together with the name of each source: give the address of weir alone")
	}
}

// checkClientAddress checks that clients cannot claim any address they like.
func (p *pass) checkClientAddress() {
	const header, proxies = "WEIR_CLIENT_IP_HEADER", "WEIR_TRUSTED_PROXIES"
	switch given := string(p.settings.ClientIPHeader); {
	case given == "":
	case listsAddresses(given):
		p.add(header, "must be a header that holds one address, and this one holds a list to which clients can add: "+
			"unset it, and set %s to the networks of your proxies; weir then reads X-Forwarded-For from them", proxies)
	case !p.env.has(proxies):
		p.warn(header, "is believed from every client: who reaches weir without the proxy can claim any address; "+
			"set %s to the networks of the proxies, unless nothing else can connect", proxies)
	}
	if trustsEverybody(p.settings.TrustedProxies) {
		p.warn(proxies, "contains addresses of other people, who can claim any address and so escape WEIR_REFUSED_RATE and ALLOW_FROM: "+
			"list only the networks of your own proxies")
	}
}

// listsAddresses reports whether a header is one to which each proxy appends, so
// that it cannot be read as one address: Forwarded (RFC 7239), Via, and
// X-Forwarded-For under its several names.
func listsAddresses(header string) bool {
	name := http.CanonicalHeaderKey(header)
	return strings.HasSuffix(name, "Forwarded-For") || strings.HasSuffix(name, "Forwarded") || name == "Via"
}

// The widest networks of public addresses that somebody's own proxies may have:
// providers hold an IPv4 /8 and an IPv6 /16 at most.
const (
	widestIPv4 = 8
	widestIPv6 = 16
)

// trustsEverybody reports whether networks of trusted proxies are so wide that
// other people are in them.
func trustsEverybody(trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(prefix netip.Prefix) bool {
		addr, widest := prefix.Masked().Addr(), widestIPv6
		if addr.Is4() {
			widest = widestIPv4
		}
		return prefix.Bits() < widest && !addr.IsPrivate() && !addr.IsLinkLocalUnicast() && !addr.IsLoopback()
	})
}

// checkListeners checks that each listener has an address of its own.
func (p *pass) checkListeners() {
	s := &p.settings
	metrics, admin, addr := string(s.MetricsAddr), string(s.AdminAddr), string(s.Addr)
	if metrics != "" && sameListener(metrics, addr) {
		p.add("WEIR_METRICS_ADDR", "must not be the address of the service itself (WEIR_ADDR)")
	}
	switch {
	case admin == "":
	case sameListener(admin, addr):
		p.add("WEIR_ADMIN_ADDR", "must not be the address of the service itself (WEIR_ADDR)")
	case metrics != "" && sameListener(admin, metrics):
		p.add("WEIR_ADMIN_ADDR", "must not be the address of WEIR_METRICS_ADDR")
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

// isSelf reports whether a URL leads to this service, as far as settings tell.
func (s Settings) isSelf(target *url.URL) bool {
	if public := s.PublicURL.Parsed(); public != nil && public.Host == target.Host {
		return true
	}
	_, port, err := net.SplitHostPort(string(s.Addr))
	host := net.ParseIP(target.Hostname())
	here := target.Hostname() == "localhost" || host != nil && (host.IsLoopback() || host.IsUnspecified())
	return err == nil && here && target.Port() == port
}

// lists reports whether a destination is in WEIR_DESTINATIONS.
func (s Settings) lists(destination string) bool {
	return slices.ContainsFunc(s.Destinations, func(d Destination) bool { return d.Name == destination })
}

// warnFolder warns about a database whose folder does not exist. Settings may
// be checked on another machine than they are for, so that it is no error.
func (p *pass) warnFolder() {
	folder := filepath.Dir(string(p.settings.Database))
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		p.warn("WEIR_DATABASE", "the folder %s does not exist on this machine, and weir does not create it", folder)
	}
}

// Loopback returns host and port by which this machine reaches a listener.
func Loopback(addr string) (host, port string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "127.0.0.1", "8080"
	}
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	return host, port
}
