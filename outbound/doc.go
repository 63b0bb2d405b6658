// Package outbound makes one attempt: it builds the request for a stored
// event, sends it, and reads the answer. What comes next is decided elsewhere.
//
// # Guarantees
//
//   - The bytes that are sent are the bytes that were received, with their
//     length, and the sender's fields without those of [Forwardable].
//   - One attempt is one request. It goes out again within the attempt only
//     where the server cannot have processed it: an idle connection was closed
//     before a byte was written, or HTTP/2 says so (GOAWAY, REFUSED_STREAM).
//   - All phases together end within the timeout; at most 16 KiB of a body and
//     64 KiB of a header section (1 MiB within TLS) are read. Redirects are not followed, and no
//     proxy is taken from the environment.
//   - Every answer has an [webhook.Outcome] of the closed set, a rule that
//     decided it, and a wait within [0, webhook.MaxHint] if it asked for one.
//   - Every reading says whether only the status suggests it, whether it names
//     the payload, and whether a signature was refused for its age. Words of
//     the payload that an answer repeats decide nothing.
//   - No connection is given to a request when its pool is over a minute old:
//     a downstream that moves is found at its new address.
//   - What is kept of an answer is bounded, valid UTF-8, and free of the
//     destination's own secrets and of what looks like any.
//
// # Vocabulary
//
//   - A hint is a wait that an answer asks for. It is explicit (Retry-After, a
//     JSON member, a phrase such as "try again in 7m12s") or the time to the
//     reset of a [rateWindow]: an allowance as headers show it. An explicit wait
//     outranks resets, and of several the longest counts.
//   - Base is the moment against which an answer's instants are measured: its
//     own Date.
//   - Facts are what the rules look at; a verdict is an outcome with the name
//     of its rule.
//   - The normalised text is a body in lower case with escapes and tags undone.
//     Everything is read from it with patterns and not from a parse tree, so
//     that broken JSON tells as much as whole JSON.
//   - A clause is a sentence or a value of that text. A kind is what a clause
//     speaks of: by a phrase of the tables in kinds.go, or by the parts that its
//     words play.
//   - A fingerprint identifies a refusal by its status and its words, without
//     what differs from request to request.
//
// # Example
//
//	client, err := outbound.New(outbound.Config{URL: "https://app.example/hooks"})
//	if err != nil {
//		return err
//	}
//	answer := client.Send(ctx, job)
//	fmt.Println(answer.Outcome, answer.Hint.Wait, answer.Rule)
//
// Reading alone is pure: [Read] for a whole answer, [Wait] for one value.
package outbound
