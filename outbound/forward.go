package outbound

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// Forwardable returns a copy of a received request's fields without those
// that must not be sent on, and without those named in drop (in any case):
//
//   - hop-by-hop fields, those named in Connection included (RFC 9110
//     section 7.6.1),
//   - what belongs to the message or the receiver: Host, Content-Length,
//     Accept-Encoding, Expect, Authorization, Cookie,
//   - what proxies on the way added about the sender's connection,
//   - Weir-* fields, which are ours to set.
//
// The values of one name keep their order. The sender's signature goes on.
func Forwardable(h http.Header, drop []string) http.Header {
	dropped := make(map[string]bool, len(drop))
	for _, name := range append(slices.Clone(drop), connectionOptions(h)...) {
		dropped[textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))] = true
	}
	out := make(http.Header, len(h))
	for name, values := range h {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if dropped[canonical] || notForwarded(canonical) {
			continue
		}
		out[canonical] = append(out[canonical], values...)
	}
	return out
}

// connectionOptions returns the names that Connection declares hop-by-hop.
func connectionOptions(h http.Header) []string {
	var names []string
	for name, values := range h {
		if !strings.EqualFold(name, "Connection") {
			continue
		}
		for _, value := range values {
			names = append(names, strings.Split(value, ",")...)
		}
	}
	return names
}

// notForwarded tells for a canonical name whether it stays here.
func notForwarded(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Proxy-Connection", "Te", "Trailer", "Trailers", "Transfer-Encoding",
		"Upgrade", "Http2-Settings":
		return true
	case "Host", "Content-Length", "Accept-Encoding", "Expect", "Authorization", "Cookie":
		return true
	case "Forwarded", "Via", "X-Real-Ip", "True-Client-Ip", "X-Client-Ip",
		"X-Cluster-Client-Ip", "X-Original-Forwarded-For", "X-Request-Id",
		"X-Request-Start", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
		"X-Appengine-User-Ip", "Cdn-Loop", "Rndr-Id":
		return true
	}
	for _, prefix := range [...]string{
		"X-Forwarded", "Fly-", "Cf-", "X-Envoy-", "Weir-",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
