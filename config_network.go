package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// address is what a listener binds to: host:port, or :port for every address.
type address string

func (a *address) Decode(value string) error {
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return errors.New("want host:port or :port")
	}
	if !validPort(port) {
		return errors.New("want a port from 0 to 65535 behind the colon")
	}
	*a = address(value)
	return nil
}

func (address) kind() string     { return "address" }
func (a address) String() string { return string(a) }

// validPort reports whether text is a port number in digits.
func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n <= 65535
}

// webURL is an absolute http or https URL with a host. Credentials may stand
// in it.
type webURL string

func (u *webURL) Decode(value string) error {
	parsed, err := url.Parse(value)
	switch {
	case err != nil:
		// The error of url.Parse quotes the URL with its credentials.
		return errors.New("is not a URL")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return errors.New("want a URL that begins with http:// or https://")
	case parsed.Hostname() == "" || parsed.Opaque != "":
		return errors.New("want a URL with a host")
	case parsed.Port() != "" && !validPort(parsed.Port()):
		return errors.New("want a port from 0 to 65535 in the URL")
	case parsed.Fragment != "":
		return errors.New("want a URL without a fragment (#)")
	}
	*u = webURL(value)
	return nil
}

func (webURL) kind() string { return "URL" }

// parsed returns a copy that the caller may change; nil when unset.
func (u webURL) parsed() *url.URL {
	if u == "" {
		return nil
	}
	parsed, err := url.Parse(string(u))
	if err != nil {
		return nil
	}
	return parsed
}

// String masks the credentials and the query, which often holds a key.
func (u webURL) String() string {
	parsed := u.parsed()
	if parsed == nil {
		return ""
	}
	return maskedURL(parsed)
}

// GoString keeps the credentials out of %#v.
func (u webURL) GoString() string { return strconv.Quote(u.String()) }

// maskedURL shows scheme, host and path, and that there is more.
func maskedURL(u *url.URL) string {
	credentials, query := "", ""
	if u.User != nil {
		credentials = "***@"
	}
	if u.RawQuery != "" {
		query = "?***"
	}
	return u.Scheme + "://" + credentials + u.Host + u.EscapedPath() + query
}

// names is a list of names of sources or destinations.
type names []string

var nameForm = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

func (n *names) Decode(value string) error {
	list := splitList(value)
	for i, name := range list {
		if !nameForm.MatchString(name) {
			return errors.New("want names of 1 to 40 of the characters a-z, 0-9 and -, separated by commas")
		}
		if slices.Contains(list[:i], name) {
			return errors.New("names the same twice")
		}
	}
	*n = list
	return nil
}

func (names) kind() string     { return "names" }
func (n names) String() string { return strings.Join(n, ",") }

// splitList splits at commas, trims, and leaves out what is empty.
func splitList(value string) []string {
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// headerName is the name of a header field (a token of RFC 9110 section 5.6.2).
type headerName string

var tokenForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")

func (h *headerName) Decode(value string) error {
	if !tokenForm.MatchString(value) {
		return errors.New("want the name of a header")
	}
	*h = headerName(value)
	return nil
}

func (headerName) kind() string     { return "header name" }
func (h headerName) String() string { return string(h) }

// headerNames is a list of them.
type headerNames []string

func (h *headerNames) Decode(value string) error {
	list := splitList(value)
	for _, name := range list {
		if !tokenForm.MatchString(name) {
			return errors.New("want names of headers, separated by commas")
		}
	}
	*h = list
	return nil
}

func (headerNames) kind() string     { return "header names" }
func (h headerNames) String() string { return strings.Join(h, ",") }

// prefixes is a list of networks; a single address is a network of one.
type prefixes []netip.Prefix

func (p *prefixes) Decode(value string) error {
	var list prefixes
	for _, part := range splitList(value) {
		prefix, err := parsePrefix(part)
		if err != nil {
			return errors.New("want networks such as 10.0.0.0/8 or fd00::/8, separated by commas")
		}
		list = append(list, prefix)
	}
	*p = list
	return nil
}

// parsePrefix reads a network or an address. IPv4 inside IPv6 becomes IPv4,
// which is what the address of a peer is compared as.
func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, errors.New("not an address")
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errors.New("not a network")
	}
	if prefix.Addr().Is4In6() {
		if prefix.Bits() < 96 {
			return netip.Prefix{}, errors.New("wider than IPv4")
		}
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), nil
}

func (prefixes) kind() string { return "networks" }

func (p prefixes) String() string {
	written := make([]string, 0, len(p))
	for _, prefix := range p {
		written = append(written, prefix.String())
	}
	return strings.Join(written, ",")
}

// headerObject is a JSON object of header fields. The values are secrets.
type headerObject map[string]string

// framingHeaders belong to the connection: to set them would break the request
// (RFC 9110 section 7.6.1, RFC 9112 section 6).
var framingHeaders = [...]string{
	"content-length", "transfer-encoding", "connection", "keep-alive", "te",
	"trailer", "upgrade", "expect", "proxy-connection", "http2-settings",
}

func (h *headerObject) Decode(value string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &object); err != nil || object == nil {
		return errors.New(`want a JSON object such as {"Authorization":"Bearer …"}`)
	}
	fields := make(headerObject, len(object))
	seen := make(map[string]bool, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		lower := strings.ToLower(name)
		var field string
		switch {
		case !tokenForm.MatchString(name):
			return errors.New("a member's name is not the name of a header")
		case json.Unmarshal(object[name], &field) != nil || string(object[name]) == "null":
			return errors.New("want a text for each header")
		case strings.ContainsFunc(field, isControl):
			return errors.New("a header's value holds a control character")
		case slices.Contains(framingHeaders[:], lower):
			return errors.New("names a header that belongs to the connection")
		case seen[lower]:
			return errors.New("names one header twice")
		}
		seen[lower] = true
		fields[name] = field
	}
	*h = fields
	return nil
}

// isControl reports what must not stand in a header's value (RFC 9110 section
// 5.5).
func isControl(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }

func (headerObject) kind() string { return "JSON object" }

// String says how many headers there are: even a name may tell too much.
func (h headerObject) String() string {
	if len(h) == 0 {
		return ""
	}
	return fmt.Sprintf("set (%d headers)", len(h))
}

// GoString keeps the values out of %#v.
func (h headerObject) GoString() string { return strconv.Quote(h.String()) }

// keyPlace says where a sender's own id of the event is.
type keyPlace string

var pathForm = regexp.MustCompile(`^[^.\s]+(\.[^.\s]+)*$`)

func (k *keyPlace) Decode(value string) error {
	place, name, _ := strings.Cut(value, ":")
	switch {
	case value == "body" || value == "none":
	case place == "header" && tokenForm.MatchString(name):
	case place == "json" && len(name) <= 200 && pathForm.MatchString(name):
	default:
		return errors.New("want header:NAME, json:path.to.id, body or none")
	}
	*k = keyPlace(value)
	return nil
}

func (keyPlace) kind() string     { return "place" }
func (k keyPlace) String() string { return string(k) }

// tokenPlace says where a token is sent.
type tokenPlace string

func (t *tokenPlace) Decode(value string) error {
	place, name, _ := strings.Cut(value, ":")
	switch {
	case value == "bearer":
	case (place == "header" || place == "query") && tokenForm.MatchString(name):
	default:
		return errors.New("want bearer, header:NAME or query:NAME")
	}
	*t = tokenPlace(value)
	return nil
}

func (tokenPlace) kind() string     { return "place" }
func (t tokenPlace) String() string { return string(t) }

// hmacTemplate says what is signed.
type hmacTemplate string

var templatePart = regexp.MustCompile(`\{(timestamp|id|method|url|body)\}`)

// Decode wants {body} in it: a signature that leaves it out proves nothing
// about it.
func (t *hmacTemplate) Decode(value string) error {
	rest := templatePart.ReplaceAllString(value, "")
	if strings.ContainsAny(rest, "{}") {
		return errors.New("want the parts {timestamp}, {id}, {method}, {url} and {body} and no other braces")
	}
	if !strings.Contains(value, "{body}") {
		return errors.New("want {body} in it: what is not signed is not proved")
	}
	*t = hmacTemplate(value)
	return nil
}

func (hmacTemplate) kind() string     { return "template" }
func (t hmacTemplate) String() string { return string(t) }

// has reports whether a part stands in the template.
func (t hmacTemplate) has(part string) bool { return strings.Contains(string(t), "{"+part+"}") }
