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
// Names are compared with underscores read as hyphens. The values of one name keep their order. The sender's signature goes on.
func Forwardable(h http.Header, drop []string) http.Header {
	dropped := make(map[string]bool, len(drop))
	for _, name := range append(slices.Clone(drop), connectionOptions(h)...) {
		dropped[compared(strings.TrimSpace(name))] = true
	}
	out := make(http.Header, len(h))
	for name, values := range h {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if as := compared(name); dropped[as] || notForwarded(as) || as != canonical && reserved(as) {
			continue
		}
		out[canonical] = append(out[canonical], values...)
	}
	return out
}

// compared is the form in which names are compared: canonical, with underscores
// read as hyphens. CGI, WSGI, Rack and PHP cannot tell the two apart (RFC 3875
// section 4.1.18), so that Weir_Source would be taken for our Weir-Source.
func compared(name string) string {
	return textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// reserved reports whether a name is one of ours in a request, beside those that
// are never forwarded: no spelling of it with underscores may go on.
func reserved(name string) bool { return name == "Idempotency-Key" || name == "User-Agent" }

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

// notForwarded reports whether a name, in the form of compared, stays here.
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
