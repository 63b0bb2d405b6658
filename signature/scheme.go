package signature

import (
	"slices"

	"weir/webhook"
)

// scheme says how one kind of sender signs, where its key is, and how it makes
// sure that a receiver is there.
type scheme struct {
	name string
	// secret reads a configured secret; nil where there is none.
	secret func(text string) (secret, error)
	// proofs are the ways to show who sent it; the first that a request takes
	// counts.
	proofs func(c Config) ([]proof, error)
	keys   []keyRule
	// optionalID says that events of this sender may well have no id.
	optionalID bool
	// unstable senders change bytes when they repeat an event.
	unstable bool
	// handshake answers GET, HEAD or OPTIONS; nil is none.
	handshake func(v *Verifier, r Request) (Verdict, bool)
	// options says that the handshake is by OPTIONS.
	options bool
	// ping answers a POST that shows no proof at all and asks only whether
	// somebody is there; nil is no ping. Nothing is stored for it.
	ping func(v *Verifier, in *input) *Challenge
	// challenge answers a verified POST that is a handshake; nil is an event.
	challenge func(v *Verifier, in *input, place int) *Challenge
	// alert is a sentence for the operator about a verified event, or empty.
	alert func(in *input) string
}

// Schemes names every scheme, those with the same mechanism together.
func Schemes() []string {
	var names []string
	for _, s := range schemes() {
		names = append(names, s.name)
	}
	return names
}

func find(name string) (scheme, bool) {
	for _, s := range schemes() {
		if s.name == name {
			return s, true
		}
	}
	return scheme{}, false
}

// NeedsURL reports whether a scheme signs the address and so needs
// [Config.PublicURL] whatever its other settings are.
func NeedsURL(name string) bool {
	s, found := find(name)
	if !found || s.name == "hmac" {
		return false
	}
	proofs, err := s.proofs(Config{})
	return err == nil && len(proofs) > 0 && proofs[0].needsURL()
}

// always returns the same ways for every configuration.
func always(proofs ...proof) func(Config) ([]proof, error) {
	return func(Config) ([]proof, error) { return proofs, nil }
}

// schemes is the table of all senders. The facts are those of each sender's
// own documentation.
func schemes() []scheme {
	return slices.Concat(
		standardSchemes(), bodySchemes(), timeSchemes(), mailSchemes(), addressSchemes(),
		tokenSchemes(), openSchemes(),
	)
}

// answered is the verdict on a handshake that is answered.
func answered(answer *Challenge) Verdict {
	return Verdict{Result: webhook.ResultChallenge, Secret: -1, Challenge: answer}
}
