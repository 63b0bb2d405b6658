package config

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
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
	case !strings.Contains(value, "://"):
		return errors.New("want a URL that begins with http:// or https://")
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
