// Package config reads the settings from the environment, checks all of them,
// and says what is wrong.
//
// # Guarantees
//
// Every setting is read once. All faults are told at once, each by the name of
// its variable and never with its value; a variable with the prefix WEIR_ that
// nothing reads is a fault. What is returned is checked, resolved and never
// changed. Help, .env.example and the table of settings are made from the same
// structs.
//
// # Vocabulary
//
// [Settings] is what the service runs by, a [Source] one sender, a [Destination]
// one place that events go to. A warning is for what is valid but probably a
// mistake. [Errors] is every fault of the settings.
//
// # Example
//
//	settings, err := config.Load(os.Environ())
//	if err != nil {
//		return err // config.Errors, for a person to read
//	}
package config

import (
	"fmt"
	"slices"
	"strings"
)

// The settings, as the environment gives them. Everything that is said about a
// setting stands in its tags, and the help, .env.example and
// docs/settings.md are made from them:
//
//   - default: the value where the variable is unset or empty.
//   - absent: what holds then, in words, where no constant does.
//   - min, max: the bounds, both included, of numbers, sizes and durations.
//   - oneof: the only values, separated by "|".
//   - secret: never shown; may come from a file named by NAME_FILE.
//   - raw: white space around the value counts.
//   - desc: the meaning.
//
// The names of the variables come from the names of the fields: MaxBody is
// MAX_BODY behind the prefix.

// global holds the settings of the whole service, prefix WEIR_.
type global struct {
	Addr             address    `split_words:"true" absent:":8080, or :$PORT" desc:"address to listen on"`
	Database         text       `split_words:"true" default:"weir.db" desc:"path of the SQLite file"`
	Sources          names      `split_words:"true" absent:"required" desc:"names of the senders, separated by commas, of the characters a-z, 0-9 and -, at most 40 of them; the name is the last part of the receive path"`
	Destinations     names      `split_words:"true" default:"default" desc:"names of the downstreams, of the same characters"`
	ForwardURL       webURL     `split_words:"true" absent:"–" secret:"true" desc:"where webhooks go: short for WEIR_DESTINATION_DEFAULT_URL"`
	APIToken         secret     `split_words:"true" absent:"–" secret:"true" desc:"bearer token of the operator API and the dashboard, 16 characters or more; without one both answer 401"`
	APITokenPrevious secret     `split_words:"true" absent:"–" secret:"true" desc:"the token before, accepted too while it is being replaced"`
	PublicURL        webURL     `split_words:"true" absent:"–" desc:"the address by which senders reach weir, such as https://hooks.example.com; required by schemes that sign it (twilio, square, hubspot)"`
	ClientIPHeader   headerName `split_words:"true" absent:"–" desc:"header in which the host names the client's address (Fly-Client-IP); believed only from WEIR_TRUSTED_PROXIES where that is set"`
	TrustedProxies   prefixes   `split_words:"true" absent:"–" desc:"networks of the proxies in front; without a client IP header the right-most X-Forwarded-For entry outside them is the client"`
	RefusedRate      Rate       `split_words:"true" default:"30/1m" desc:"refused requests (400, 401, 404) that one client address may make before it is answered 429 unread; not one that has sent a verified event in the last hour"`
	MaxBody          ByteSize   `split_words:"true" default:"1MiB" min:"1B" max:"25MiB" desc:"largest body that is received"`
	MaxInflight      ByteSize   `split_words:"true" default:"32MiB" min:"1B" max:"64GiB" desc:"bytes of bodies that may be on their way in at once; beyond, 503"`
	DedupeWindow     Duration   `split_words:"true" default:"336h" min:"1ms" max:"87600h" desc:"how long a sender's id is remembered, from its first copy"`
	RetainDelivered  Duration   `split_words:"true" default:"168h" min:"0s" max:"87600h" desc:"how long bodies and attempts of delivered events are kept"`
	RetainDead       Duration   `split_words:"true" default:"720h" min:"0s" max:"87600h" desc:"the same for dead ones"`
	MaxDatabase      ByteSize   `split_words:"true" absent:"80 % of the volume" min:"64KiB" max:"64TiB" desc:"cap of the database: at it delivered bodies go first, then new events are answered 503; never anything undelivered"`
	ShutdownGrace    Duration   `split_words:"true" default:"20s" min:"0s" max:"1h" desc:"bound of the drain when stopping; with the delay it must be less than the host's kill timeout"`
	ShutdownDelay    Duration   `split_words:"true" default:"0s" min:"0s" max:"1h" desc:"time between not being ready and closing the listener"`
	IdleExit         Duration   `split_words:"true" default:"0s" min:"0s" max:"8760h" desc:"exit with status 0 after this long without a request, when nothing is pending; 0s is never"`
	StallAfter       Duration   `split_words:"true" default:"10m" min:"1ms" max:"8760h" desc:"age of the oldest due delivery at which /healthz/delivery turns bad"`
	MetricsAddr      address    `split_words:"true" absent:"–" desc:"address of a second listener that serves /metrics without a token"`
	AdminAddr        address    `split_words:"true" absent:"–" desc:"address of a listener for the operator API, the dashboard and /metrics; WEIR_ADDR then has the receive paths and health only"`
	AlertURL         hookURL    `split_words:"true" absent:"–" secret:"true" desc:"gets a POST of {\"text\": …} when somebody has to look"`
	URL              webURL     `split_words:"true" default:"http://127.0.0.1:8080" desc:"where the commands status, events, redeliver and send find the service"`
	LogLevel         choice     `split_words:"true" default:"info" oneof:"debug|info|warn|error" desc:"least level that is logged"`
	LogFormat        choice     `split_words:"true" default:"auto" oneof:"auto|text|json" desc:"auto is text on a terminal and JSON elsewhere"`
}

// sourceConfig holds the settings of one source, prefix WEIR_SOURCE_<NAME>_.
type sourceConfig struct {
	Scheme              choice       `split_words:"true" absent:"the name, when it is a scheme" desc:"how requests are verified: a provider's name, or hmac, token, basic; none takes unsigned requests and must be written out"`
	Secret              secret       `split_words:"true" absent:"required but for none" secret:"true" desc:"the secret that is shared with the sender; user:password for basic"`
	SecretPrevious      secret       `split_words:"true" absent:"–" secret:"true" desc:"the secret before, accepted too while it is being replaced"`
	Key                 keyPlace     `split_words:"true" absent:"by scheme" desc:"where the sender's own id of the event is: header:NAME, json:path.to.id, body (digest of the body), none"`
	OnConflict          choice       `split_words:"true" absent:"by scheme" oneof:"reject|keep|ignore" desc:"what becomes of the same id with other bytes: reject answers 422, keep stores it as its own event, ignore takes it for a repeat"`
	Tolerance           Duration     `split_words:"true" default:"5m" min:"1ms" max:"876000h" desc:"how far a signed timestamp may be off, both ways"`
	Rate                Rates        `split_words:"true" default:"3000/1m" desc:"new events that are accepted; beyond, 429. Of the scheme none: by each client address"`
	MaxBody             ByteSize     `split_words:"true" absent:"WEIR_MAX_BODY" min:"1B" max:"25MiB" desc:"largest body that is received"`
	SignedBody          choice       `split_words:"true" default:"wire" oneof:"wire|decoded" desc:"whether the signature covers the bytes as sent, or those before gzip"`
	VerifyToken         secret       `split_words:"true" absent:"–" secret:"true" desc:"token of the GET handshake (meta, and senders that do the same under hmac, token, basic or none)"`
	HMACHeader          headerName   `split_words:"true" absent:"required by hmac" desc:"for hmac: header of the signature"`
	HMACAlgorithm       choice       `split_words:"true" default:"sha256" oneof:"sha256|sha512|sha384|sha1" desc:"for hmac: the hash"`
	HMACEncoding        choice       `split_words:"true" default:"hex" oneof:"hex|base64" desc:"for hmac: how the signature is written"`
	HMACPrefix          text         `split_words:"true" absent:"–" raw:"true" desc:"for hmac: what stands before the signature, such as sha256="`
	HMACTimestampHeader headerName   `split_words:"true" absent:"–" desc:"for hmac: header of the timestamp"`
	HMACTimestampForm   choice       `split_words:"true" default:"auto" oneof:"auto|seconds|milliseconds|rfc3339" desc:"for hmac: how the timestamp is written: in seconds or milliseconds of the Unix epoch, or by RFC 3339; auto recognises it"`
	HMACItems           text         `split_words:"true" absent:"–" desc:"for hmac: the named items of a header that is a list, such as t={timestamp},v1={signature}"`
	HMACKeyEncoding     choice       `split_words:"true" default:"text" oneof:"text|base64|hex" desc:"for hmac: how the secret is written"`
	HMACTemplate        hmacTemplate `split_words:"true" default:"{body}" raw:"true" desc:"for hmac: what is signed, of the parts {timestamp}, {id}, {method}, {url} and {body}"`
	TokenIn             tokenPlace   `split_words:"true" default:"bearer" desc:"for token: where it is sent: bearer, header:NAME, or query:NAME for senders that can only be given a URL"`
	Renew               choice       `split_words:"true" default:"auto" oneof:"auto|never" desc:"whether a signature whose time has aged is made anew for each attempt, so that the application's own check of the time accepts late deliveries; never sends it on as it came"`
	AllowFrom           prefixes     `split_words:"true" absent:"–" desc:"networks that the client must be in, on top of the signature"`
	To                  names        `split_words:"true" default:"default" desc:"destinations; each of several gets its own delivery"`
	Status              count        `split_words:"true" default:"200" min:"200" max:"299" desc:"status that accepted events are answered with"`
	DropHeaders         headerNames  `split_words:"true" absent:"–" desc:"headers that are not forwarded"`
}

// destinationConfig holds the settings of one destination, prefix
// WEIR_DESTINATION_<NAME>_.
type destinationConfig struct {
	URL           webURL       `split_words:"true" absent:"required" secret:"true" desc:"where webhooks go, http or https; credentials in it are sent as Basic and never shown"`
	Headers       headerObject `split_words:"true" absent:"–" secret:"true" desc:"JSON object of headers to send with each request; their values are secrets"`
	SigningSecret secret       `split_words:"true" absent:"–" secret:"true" desc:"sign what is sent, by Standard Webhooks: base64, after whsec_ or without"`
	Timeout       Duration     `split_words:"true" default:"15s" min:"1ms" max:"10m" desc:"longest time of one attempt, all phases"`
	Concurrency   count        `split_words:"true" default:"4" min:"1" max:"256" desc:"requests in flight at once"`
	Rate          Rates        `split_words:"true" absent:"–" desc:"cap of all requests, in sliding windows; all of the list must hold"`
	RetryBudget   Rate         `split_words:"true" default:"30/1m" desc:"cap of the requests that are not a delivery's first"`
	MaxAttempts   count        `split_words:"true" default:"10" min:"1" max:"1000" desc:"attempts that a delivery may spend"`
	MaxAge        Duration     `split_words:"true" default:"72h" min:"1ms" max:"8760h" desc:"age at which a delivery is given up"`
	Backoff       Duration     `split_words:"true" default:"2s" min:"1ms" max:"24h" desc:"first wait after a failure; each further one is three times as long"`
	BackoffMax    Duration     `split_words:"true" default:"15m" min:"1ms" max:"168h" desc:"longest such wait; never shortens what the downstream asked for"`
	MaxHold       Duration     `split_words:"true" default:"24h" min:"1ms" max:"744h" desc:"a longer wait that the downstream asks for is obeyed, and marked as needing a person"`
	MaxBody       ByteSize     `split_words:"true" absent:"–" min:"1B" max:"25MiB" desc:"larger bodies are not sent: they are dead, too_large"`
	Fallback      text         `split_words:"true" absent:"–" desc:"another destination that takes what is due while this one is held"`
}

// The prefixes of the three.
const (
	globalPrefix      = "WEIR_"
	SourcePrefix      = "WEIR_SOURCE_"
	DestinationPrefix = "WEIR_DESTINATION_"
	fileSuffix        = "_FILE"
)

// PrefixOf returns the prefix of the settings of one source or destination.
func PrefixOf(kind, name string) string {
	return kind + strings.ReplaceAll(strings.ToUpper(name), "-", "_") + "_"
}

// problem is one fault of one variable. It never holds the value.
type problem struct {
	key    string
	reason string
}

// problems gathers every fault, so that all are told at once, and the warnings
// that do not keep the program from starting.
type problems struct {
	faults   []problem
	warnings []string
}

// add notes a fault, one for each variable: what follows from it is noise.
func (p *problems) add(key, format string, args ...any) {
	if !p.has(key) {
		p.faults = append(p.faults, problem{key, fmt.Sprintf(format, args...)})
	}
}

// has reports whether the variable has a fault.
func (p *problems) has(key string) bool {
	for _, fault := range p.faults {
		if fault.key == key {
			return true
		}
	}
	return false
}

// about reports whether any variable behind the prefix has a fault.
func (p *problems) about(prefix string) bool {
	for _, fault := range p.faults {
		if strings.HasPrefix(fault.key, prefix) {
			return true
		}
	}
	return false
}

// only returns the faults of some variables, or of the files that hold them, as
// one error; nil without any. Commands that need few settings must work
// where others are wrong.
func (p *problems) only(wanted func(key string) bool) error {
	var kept problems
	for _, fault := range p.faults {
		if wanted(strings.TrimSuffix(fault.key, fileSuffix)) {
			kept.faults = append(kept.faults, fault)
		}
	}
	return kept.err()
}

// among wants the named variables.
func among(keys ...string) func(string) bool {
	return func(key string) bool { return slices.Contains(keys, key) }
}

// warn notes something that works but may not be meant.
func (p *problems) warn(key, format string, args ...any) {
	p.warnings = append(p.warnings, key+": "+fmt.Sprintf(format, args...))
}

// err returns all faults as one error, nil without any.
func (p *problems) err() error {
	var list Errors
	for _, fault := range p.faults {
		list = append(list, fault.key+": "+fault.reason)
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// Errors is every fault of the settings that matters to the caller, each
// by the name of its variable and never with its value.
type Errors []string

// Error is one line for one fault, and a list for several.
func (e Errors) Error() string {
	if len(e) == 1 {
		return "a setting is wrong: " + e[0]
	}
	return fmt.Sprintf("%d settings are wrong:\n  %s", len(e), strings.Join(e, "\n  "))
}
