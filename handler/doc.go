// Package handler is weir's HTTP side: the receive paths, the operator API, the
// health answers and the problem documents.
//
// # Guarantees
//
//   - A 2xx to a webhook is written after [Intake] has committed it, and not
//     otherwise. Storing does not end when the sender hangs up.
//   - A body is stored whole or not at all. One that is too long, broken off or
//     too slow is refused, with an answer that a client which is still sending
//     can read.
//   - Bytes in memory are bounded, by request and in sum, and are counted as
//     they arrive, not as they are announced.
//   - No value of a request's header, no query and no body appears in a log
//     line. No answer of a receive path says which check a request has failed.
//
// # Vocabulary
//
// The package speaks the words of package webhook. What it needs from others it
// names itself, in interfaces of one to three methods: [Intake], [Verifier],
// [Failures], [Allowance], [Room] on the way in, and [Events], [Deliveries],
// [Operator], [Destinations] for the operator.
//
// # Paths
//
// The receive path of a source is /hooks/{source}, with or without a slash at
// its end and with any query. It never redirects. Doubled slashes, another
// letter case and longer paths are other paths, answered 404.
//
// # Example
//
//	server := &http.Server{Handler: handler.New(handler.Config{
//		Sources: map[string]handler.Source{"github": {Verifier: verifier, To: []string{"app"}}},
//		Intake:  store,
//		Events:  store,
//		Tokens:  handler.NewTokens(token),
//		Log:     log,
//	})}
package handler
