package ratelimit

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5/middleware"
)

// Proxies says who may tell us a client's address.
type Proxies struct {
	// Header is a header that the host sets on every request, such as
	// Fly-Client-IP; empty for X-Forwarded-For from Trusted.
	Header string
	// Trusted are the networks of our own proxies. With a Header it is
	// believed only from them when there are any.
	Trusted []netip.Prefix
	// OnUntrustedProxy is called once, with the name of the header, when a
	// request brings a client's address that nobody was told to believe. It
	// may be nil.
	OnUntrustedProxy func(header string)
}

// Caller is who sent a request, as far as that can be known.
type Caller struct {
	// Addr is the client's address, IPv4 in IPv6 form folded to IPv4. It is
	// the address of the peer where no proxy is trusted or none said more.
	Addr netip.Addr
	// Shared marks an address behind which are many clients that cannot be
	// told apart, such as a proxy that was not named as trusted.
	Shared bool
}

// block returns the network that counts as one caller: the address itself for
// IPv4, its /64 for IPv6, because one customer holds at least that many.
func (c Caller) block() netip.Addr {
	addr := c.Addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	return netip.PrefixFrom(addr, 64).Masked().Addr()
}

// key returns a short string for maps.
func (c Caller) key() string {
	block := c.block()
	if block.Is6() {
		whole := block.As16()
		return string(whole[:8])
	}
	return string(block.AsSlice())
}

// callerKey is where the caller lies in a request's context.
type callerKey struct{}

// CallerOf returns the caller that [ClientAddress] has found, the zero Caller
// where it did not run.
func CallerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// ClientAddress returns the middleware that finds the caller of each request.
// It leaves RemoteAddr as it is. An error names what is wrong with the
// configuration.
func ClientAddress(proxies Proxies) (func(http.Handler) http.Handler, error) {
	find, err := finder(proxies)
	if err != nil {
		return nil, err
	}
	untold := &hint{call: proxies.OnUntrustedProxy}
	return func(next http.Handler) http.Handler {
		found := find(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header = originalHeader(r)
			caller := proxies.caller(r)
			if proxies.none() {
				if header := forwarding(r.Header); header != "" {
					untold.give(header)
				}
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
		}))
		if proxies.none() {
			return found
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			found.ServeHTTP(w, proxies.withoutPorts(r))
		})
	}, nil
}

// headerKey is where the header lies that a request came with.
type headerKey struct{}

// originalHeader returns the header that a request came with.
func originalHeader(r *http.Request) http.Header {
	if header, changed := r.Context().Value(headerKey{}).(http.Header); changed {
		return header
	}
	return r.Header
}

// withoutPorts returns a request whose addresses, as proxies told them, have no
// ports: some write "203.0.113.7:51234" or "[2001:db8::5]:443" (Azure's do),
// which is the same client as any other port. Where there are none it is the same
// request.
func (p Proxies) withoutPorts(r *http.Request) *http.Request {
	name := p.Header
	if name == "" {
		name = "X-Forwarded-For"
	}
	values := r.Header.Values(name)
	plain := make([]string, len(values))
	for i, value := range values {
		plain[i] = plainAddresses(value)
	}
	if slices.Equal(values, plain) {
		return r
	}
	changed := r.WithContext(context.WithValue(r.Context(), headerKey{}, r.Header))
	changed.Header = r.Header.Clone()
	changed.Header[http.CanonicalHeaderKey(name)] = plain
	return changed
}

// plainAddresses takes ports and brackets off the addresses of a list.
func plainAddresses(list string) string {
	if !strings.ContainsAny(list, ":[") {
		return list
	}
	parts := strings.Split(list, ",")
	for i, part := range parts {
		part = strings.TrimSpace(part)
		if with, err := netip.ParseAddrPort(part); err == nil {
			parts[i] = with.Addr().String()
		} else if bare, found := strings.CutPrefix(part, "["); found && strings.HasSuffix(bare, "]") {
			parts[i] = strings.TrimSuffix(bare, "]")
		} else {
			parts[i] = part
		}
	}
	return strings.Join(parts, ", ")
}

// finder chooses chi's middleware. chi panics on what it cannot use, so
// everything is checked before.
func finder(proxies Proxies) (func(http.Handler) http.Handler, error) {
	trusted := make([]string, len(proxies.Trusted))
	for i, prefix := range proxies.Trusted {
		if !prefix.IsValid() {
			return nil, fmt.Errorf("trusted proxies: entry %d is not a network", i+1)
		}
		trusted[i] = fold(prefix).String()
	}
	switch {
	case proxies.Header != "":
		return middleware.ClientIPFromHeader(proxies.Header, trusted...), nil
	case len(trusted) > 0:
		return middleware.ClientIPFromXFF(trusted...), nil
	default:
		return middleware.ClientIPFromRemoteAddr, nil
	}
}

// fold turns a network of IPv4 addresses in IPv6 form into that of IPv4, the
// form in which addresses are compared.
func fold(prefix netip.Prefix) netip.Prefix {
	if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
		return netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	return prefix
}

// none reports whether nobody is believed.
func (p Proxies) none() bool { return p.Header == "" && len(p.Trusted) == 0 }

// caller reads what chi has found. Where it found nothing the peer counts: its
// address is at least true.
func (p Proxies) caller(r *http.Request) Caller {
	peer := peerOf(r)
	found := middleware.GetClientIPAddr(r.Context())
	switch {
	case !found.IsValid():
		return Caller{Addr: peer, Shared: !peer.IsValid() || p.mayBeProxy(peer)}
	case p.none():
		return Caller{Addr: found, Shared: inside(found) && forwarding(r.Header) != ""}
	default:
		return Caller{Addr: found}
	}
}

// mayBeProxy reports whether many clients may stand behind a peer that gave no
// usable client address.
func (p Proxies) mayBeProxy(peer netip.Addr) bool {
	for _, prefix := range p.Trusted {
		if fold(prefix).Contains(peer.WithZone("")) {
			return true
		}
	}
	return inside(peer)
}

// inside reports whether an address is one that a proxy on the same host or
// in the same private network has.
func inside(addr netip.Addr) bool {
	return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || sharedSpace.Contains(addr)
}

// sharedSpace is the space of carriers and clouds between private and public
// addresses (RFC 6598).
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// peerOf returns the address of the other end of the connection.
func peerOf(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap()
}

// forwardingHeaders are those by which proxies pass on a client's address.
var forwardingHeaders = [...]string{
	"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Fly-Client-Ip",
	"Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip", "Fastly-Client-Ip",
	"X-Azure-Clientip", "X-Envoy-External-Address",
}

// forwarding returns the name of the first header that claims to tell a
// client's address, "" without one.
func forwarding(header http.Header) string {
	for _, name := range forwardingHeaders {
		if len(header[name]) > 0 {
			return name
		}
	}
	return ""
}

// hint makes a call once.
type hint struct {
	call func(header string)
	once sync.Once
}

func (h *hint) give(header string) {
	if h.call != nil {
		h.once.Do(func() { h.call(header) })
	}
}
