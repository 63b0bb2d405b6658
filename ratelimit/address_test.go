package ratelimit

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// callerFor runs the middleware once.
func callerFor(t testing.TB, proxies Proxies, peer string, headers ...string) Caller {
	t.Helper()
	middleware, err := ClientAddress(proxies)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/", nil)
	request.RemoteAddr = peer
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Add(name, value)
	}
	var caller Caller
	middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		caller = CallerOf(r.Context())
		if r.RemoteAddr != peer {
			t.Errorf("RemoteAddr became %q", r.RemoteAddr)
		}
	})).ServeHTTP(httptest.NewRecorder(), request)
	return caller
}

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func TestB52ClientAddress(t *testing.T) {
	fly := Proxies{Header: "Fly-Client-IP"}
	flyTrusted := Proxies{Header: "fly-client-ip", Trusted: prefixes("172.16.0.0/12")}
	chain := Proxies{Trusted: prefixes("10.0.0.0/8", "fd00::/8", "::ffff:192.0.2.0/120")}
	tests := []struct {
		name    string
		proxies Proxies
		peer    string
		headers []string
		addr    string
		shared  bool
	}{
		{"nothing is believed by default", Proxies{}, "203.0.113.9:1", []string{"X-Forwarded-For: 1.1.1.1", "X-Real-IP: 2.2.2.2", "True-Client-IP: 3.3.3.3", "Fly-Client-IP: 4.4.4.4"}, "203.0.113.9", false},
		{"a direct peer inside is told apart", Proxies{}, "10.0.0.5:1", nil, "10.0.0.5", false},
		{"a peer inside that forwards is many", Proxies{}, "10.0.0.5:1", []string{"X-Forwarded-For: 1.1.1.1"}, "10.0.0.5", true},
		{"loopback that forwards is many", Proxies{}, "[::1]:1", []string{"Forwarded: for=1.1.1.1"}, "::1", true},
		{"a private network of IPv6 that forwards is many", Proxies{}, "[fdaa::1]:1", []string{"Fly-Client-IP: 1.1.1.1"}, "fdaa::1", true},
		{"the host's header", fly, "172.16.0.1:1", []string{"Fly-Client-IP: 198.51.100.7"}, "198.51.100.7", false},
		{"the last of several", fly, "172.16.0.1:1", []string{"Fly-Client-IP: 6.6.6.6", "Fly-Client-IP: 198.51.100.7"}, "198.51.100.7", false},
		{"only the configured header", fly, "172.16.0.1:1", []string{"X-Forwarded-For: 6.6.6.6", "Fly-Client-IP: 198.51.100.7"}, "198.51.100.7", false},
		{"garbage in the host's header", fly, "172.16.0.1:1", []string{"Fly-Client-IP: none"}, "172.16.0.1", true},
		{"the host's header is missing, peer outside", fly, "203.0.113.9:1", nil, "203.0.113.9", false},
		{"the header from somebody else", flyTrusted, "203.0.113.9:1", []string{"Fly-Client-IP: 6.6.6.6"}, "203.0.113.9", false},
		{"the header from the proxy", flyTrusted, "172.20.0.1:1", []string{"Fly-Client-IP: 198.51.100.7"}, "198.51.100.7", false},
		{"right-most that is not trusted", chain, "10.0.0.1:1", []string{"X-Forwarded-For: 6.6.6.6, 198.51.100.7, 10.0.0.2"}, "198.51.100.7", false},
		{"real only", chain, "10.0.0.1:1", []string{"X-Forwarded-For: 198.51.100.7"}, "198.51.100.7", false},
		{"over several headers", chain, "10.0.0.1:1", []string{"X-Forwarded-For: 6.6.6.6", "X-Forwarded-For: 198.51.100.7"}, "198.51.100.7", false},
		{"client beside the proxy", chain, "203.0.113.9:1", []string{"X-Forwarded-For: 6.6.6.6"}, "203.0.113.9", false},
		{"garbage in the chain", chain, "10.0.0.1:1", []string{"X-Forwarded-For: 6.6.6.6, junk"}, "10.0.0.1", true},
		{"no chain", chain, "10.0.0.1:1", nil, "10.0.0.1", true},
		{"a network of IPv4 in IPv6 form", chain, "192.0.2.7:1", []string{"X-Forwarded-For: 198.51.100.7"}, "198.51.100.7", false},
		{"IPv4 in IPv6 form", chain, "[::ffff:10.0.0.1]:1", []string{"X-Forwarded-For: ::ffff:198.51.100.7"}, "198.51.100.7", false},
		{"peer without a port", Proxies{}, "203.0.113.9", nil, "203.0.113.9", false},
		{"the space of carriers is inside", Proxies{}, "100.64.0.1:1", []string{"X-Forwarded-For: 1.1.1.1"}, "100.64.0.1", true},
		{"the last of the space of carriers is inside", Proxies{}, "100.127.255.255:1", []string{"X-Forwarded-For: 1.1.1.1"}, "100.127.255.255", true},
		{"before the space of carriers is outside", Proxies{}, "100.63.255.255:1", []string{"X-Forwarded-For: 1.1.1.1"}, "100.63.255.255", false},
		{"behind the space of carriers is outside", Proxies{}, "100.128.0.1:1", []string{"X-Forwarded-For: 1.1.1.1"}, "100.128.0.1", false},
		{"a port in the chain", chain, "10.0.0.1:1", []string{"X-Forwarded-For: 6.6.6.6:7, 203.0.113.7:51234, 10.0.0.2:80"}, "203.0.113.7", false},
		{"a port behind IPv6", chain, "10.0.0.1:1", []string{"X-Forwarded-For: [2001:db8::5]:443"}, "2001:db8::5", false},
		{"brackets alone", chain, "10.0.0.1:1", []string{"X-Forwarded-For: [2001:db8::5]"}, "2001:db8::5", false},
		{"IPv6 without either", chain, "10.0.0.1:1", []string{"X-Forwarded-For: 2001:db8::5"}, "2001:db8::5", false},
		{"a port in the host's header", fly, "172.16.0.1:1", []string{"Fly-Client-IP: 198.51.100.7:443"}, "198.51.100.7", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := callerFor(t, test.proxies, test.peer, test.headers...)
			if got.Addr != netip.MustParseAddr(test.addr) || got.Shared != test.shared {
				t.Errorf("caller %+v, want %s shared %t", got, test.addr, test.shared)
			}
		})
	}
}

func TestPeerWithoutAnAddressIsShared(t *testing.T) {
	if got := callerFor(t, Proxies{}, "@"); got.Addr.IsValid() || !got.Shared {
		t.Errorf("caller %+v", got)
	}
}

func TestUnusableProxiesAreAnError(t *testing.T) {
	if _, err := ClientAddress(Proxies{Trusted: []netip.Prefix{{}}}); err == nil {
		t.Error("no error")
	}
}

func TestHintIsGivenOnce(t *testing.T) {
	var hints []string
	proxies := Proxies{OnUntrustedProxy: func(header string) { hints = append(hints, header) }}
	middleware, err := ClientAddress(proxies)
	if err != nil {
		t.Fatal(err)
	}
	handler := middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, value := range []string{"", "1.1.1.1", "2.2.2.2"} {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		if value != "" {
			request.Header.Set("X-Forwarded-For", value)
		}
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
	if fmt.Sprint(hints) != "[X-Forwarded-For]" {
		t.Errorf("hints %v", hints)
	}
	proxies.Trusted = prefixes("192.0.2.0/24")
	hints = nil
	callerFor(t, proxies, "192.0.2.1:1", "X-Forwarded-For: 1.1.1.1")
	if len(hints) > 0 {
		t.Error("a hint although a proxy is trusted")
	}
}

func TestB53BlocksOfAddresses(t *testing.T) {
	block := func(text string) netip.Addr { return Caller{Addr: netip.MustParseAddr(text)}.block() }
	for _, same := range [][2]string{
		{"2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"},
		{"::ffff:192.0.2.1", "192.0.2.1"},
		{"fe80::1%eth0", "fe80::1"},
	} {
		if block(same[0]) != block(same[1]) {
			t.Errorf("%s and %s are told apart", same[0], same[1])
		}
	}
	for _, other := range [][2]string{
		{"2001:db8:0:1::1", "2001:db8:0:2::1"}, {"192.0.2.1", "192.0.2.2"}, {"::ffff:192.0.2.1", "::ffff:192.0.2.2"},
	} {
		if block(other[0]) == block(other[1]) {
			t.Errorf("%s and %s are the same", other[0], other[1])
		}
	}
}

// FuzzClientAddress: whatever headers hold, the caller is the peer or a parsed
// address, and a peer outside cannot choose its own.
func FuzzClientAddress(f *testing.F) {
	f.Add("203.0.113.9:1", "1.1.1.1, 2.2.2.2", "")
	f.Add("10.0.0.1:1", "::ffff:1.1.1.1%eth0,,", "fe80::1%x")
	f.Add("10.0.0.1", ",", "\xff")
	f.Fuzz(func(t *testing.T, peer, forwarded, header string) {
		for _, proxies := range []Proxies{
			{}, {Header: "X-Client"}, {Header: "X-Client", Trusted: prefixes("10.0.0.0/8")}, {Trusted: prefixes("10.0.0.0/8")},
		} {
			got := callerFor(t, proxies, peer, "X-Forwarded-For: "+forwarded, "X-Client: "+header)
			from := peerOf(&http.Request{RemoteAddr: peer})
			trusted := prefixes("10.0.0.0/8")[0].Contains(from.WithZone(""))
			if (len(proxies.Trusted) > 0 && !trusted || proxies.none()) && got.Addr != from {
				t.Fatalf("peer %s became %s", from, got.Addr)
			}
			if !got.Addr.IsValid() && !got.Shared {
				t.Fatal("an unknown address is not shared")
			}
			if key := got.key(); len(key) > 8 {
				t.Fatalf("key of %d bytes", len(key))
			}
		}
	})
}
