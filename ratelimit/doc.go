// Package ratelimit finds out who is calling and bounds what callers may do
// before and after they have proved who they are.
//
// # Guarantees
//
//   - Whoever is refused and waits as long as it was told, in whole seconds, is
//     let in when it asks again, unless others on the same allowance came first.
//   - A stranger cannot silence a real sender: refused requests are counted per
//     client address, never per source; an address that sent a verified event
//     within the last hour is not refused unread; and where addresses cannot be
//     told apart nobody is.
//   - Memory is bounded whatever addresses are made up: every table has a
//     largest number of keys and a stated behaviour when it is full.
//
// # Vocabulary
//
//   - A [Caller] is the client address of a request, found by one of chi's
//     ClientIPFrom… middlewares. IPv6 addresses of one /64 are one caller.
//   - [FailureLimiter] bounds the refused requests of a caller, before its body is
//     read.
//   - [Sources] bounds the new events and the repeats of a source, after its
//     signature was verified.
//   - [Inflight] bounds the bytes of bodies that are being received at once.
//
// # Example
//
//	address, err := ratelimit.ClientAddress(ratelimit.Proxies{Header: "Fly-Client-IP"})
//	failures := ratelimit.NewFailureLimiter(webhook.Rate{N: 30, Per: time.Minute})
//	router.Use(address)
//	...
//	if refusal := failures.Over(r.Context()); refusal != nil {
//		maps.Copy(w.Header(), refusal)
//		w.WriteHeader(http.StatusTooManyRequests)
//	}
package ratelimit
