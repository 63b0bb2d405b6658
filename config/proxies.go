package config

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// checkProxies refuses a header that cannot be read as one address, and warns of
// settings by which anybody can claim any address.
func (l loaded) checkProxies(found *problems) {
	header := string(l.global.ClientIPHeader)
	switch {
	case header == "":
	case listsAddresses(header):
		found.add("WEIR_CLIENT_IP_HEADER", "names a header that lists addresses; leave it unset and set WEIR_TRUSTED_PROXIES,"+
			" by which X-Forwarded-For is read")
	case len(l.global.TrustedProxies) == 0:
		found.warn("WEIR_CLIENT_IP_HEADER", "is believed from everybody, because WEIR_TRUSTED_PROXIES is not set: whoever"+
			" reaches weir without the proxy can claim any address; set WEIR_TRUSTED_PROXIES to the networks of the proxy,"+
			" unless nothing else can connect")
	}
	if trustsEverybody(l.global.TrustedProxies) {
		found.warn("WEIR_TRUSTED_PROXIES", "trusts so much of the internet that strangers can claim any address, which"+
			" switches WEIR_REFUSED_RATE and ALLOW_FROM off; list only the networks of your own proxies")
	}
}

// listsAddresses reports whether a header is one to which each proxy appends, so
// that it cannot be read as one address.
func listsAddresses(header string) bool {
	switch http.CanonicalHeaderKey(strings.TrimSpace(header)) {
	case "X-Forwarded-For", "Forwarded", "Via", "X-Original-Forwarded-For":
		return true
	}
	return false
}

// The widest networks of public addresses that somebody's own proxies may have:
// providers hold an IPv4 /8 and an IPv6 /16 at most.
const (
	widestIPv4 = 8
	widestIPv6 = 16
)

// trustsEverybody reports whether networks of trusted proxies are so wide that
// strangers are in them.
func trustsEverybody(trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(prefix netip.Prefix) bool {
		addr, widest := prefix.Masked().Addr(), widestIPv6
		if addr.Is4() {
			widest = widestIPv4
		}
		return prefix.Bits() < widest && !addr.IsPrivate() && !addr.IsLinkLocalUnicast() && !addr.IsLoopback()
	})
}
