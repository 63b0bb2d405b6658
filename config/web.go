package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/outbound"
)

// address is what a listener binds to: host:port, or :port for every address.
type address string

func (a *address) Decode(value string) error {
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return errors.New("must be host:port or :port")
	}
	if !validPort(port) {
		return errors.New("must have a port from 0 to 65535 after the colon")
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
	case !strings.Contains(value, "://"):
		return errors.New("must be a URL that begins with http:// or https://")
	case err != nil:
		// The error of url.Parse quotes the URL with its credentials.
		return errors.New("is not a URL")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return errors.New("must be a URL that begins with http:// or https://")
	case parsed.Hostname() == "" || parsed.Opaque != "":
		return errors.New("must have a host")
	case parsed.Port() != "" && !validPort(parsed.Port()):
		return errors.New("must have a port from 0 to 65535")
	case parsed.Fragment != "":
		return errors.New("must not have a fragment (#)")
	}
	*u = webURL(value)
	return nil
}

func (webURL) kind() string { return "URL" }

// Parsed returns a copy that the caller may change; nil when unset.
func (u webURL) Parsed() *url.URL {
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
	parsed := u.Parsed()
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

// prefixes is a list of networks; a single address is a network of one.
type prefixes []netip.Prefix

func (p *prefixes) Decode(value string) error {
	var list prefixes
	for _, part := range splitList(value) {
		prefix, err := parsePrefix(part)
		if err != nil {
			return errors.New("must be networks such as 10.0.0.0/8 or fd00::/8, separated by commas")
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

// hookURL is a webURL that lets in whoever knows it, as those of chat services
// do: more than its host is shown nowhere.
type hookURL webURL

// Decode reads the URL in the way of a webURL.
func (u *hookURL) Decode(value string) error { return (*webURL)(u).Decode(value) }

func (hookURL) kind() string { return "URL" }

// Parsed returns a copy that the caller may change; nil when unset.
func (u hookURL) Parsed() *url.URL { return webURL(u).Parsed() }

// String shows scheme and host, and that there is more.
func (u hookURL) String() string {
	parsed := u.Parsed()
	if parsed == nil {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host + "/***"
}

// GoString keeps the address out of %#v.
func (u hookURL) GoString() string { return strconv.Quote(u.String()) }

// headerName is the name of a header field (a token of RFC 9110 section 5.6.2).
type headerName string

var tokenForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")

func (h *headerName) Decode(value string) error {
	if !tokenForm.MatchString(value) {
		return errors.New("must be the name of a header")
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
			return errors.New("must be names of headers, separated by commas")
		}
	}
	*h = list
	return nil
}

func (headerNames) kind() string     { return "header names" }
func (h headerNames) String() string { return strings.Join(h, ",") }

// headerObject is a JSON object of header fields. The values are secrets.
type headerObject map[string]string

func (h *headerObject) Decode(value string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &object); err != nil || object == nil {
		return errors.New(`must be a JSON object such as {"Authorization":"Bearer …"}`)
	}
	fields := make(headerObject, len(object))
	seen := make(map[string]bool, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		canonical := http.CanonicalHeaderKey(name)
		var field string
		switch {
		case !tokenForm.MatchString(name):
			return errors.New("contains a name that is not the name of a header")
		case json.Unmarshal(object[name], &field) != nil || string(object[name]) == "null":
			return errors.New("must have a text for each header")
		case strings.ContainsFunc(field, isControl):
			return errors.New("contains a value with a control character")
		case outbound.Framing(canonical):
			return errors.New("contains a header that belongs to the connection, which weir sets itself")
		case seen[canonical]:
			return errors.New("contains one header twice")
		}
		seen[canonical] = true
		fields[name] = field
	}
	*h = fields
	return nil
}

// isControl reports what must not stand in a header's value (RFC 9110 section
// 5.5).
func isControl(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }

// has reports whether a header is among them.
func (h headerObject) has(name string) bool {
	for given := range h {
		if strings.EqualFold(given, name) {
			return true
		}
	}
	return false
}

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
