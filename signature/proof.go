package signature

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// proof is one way in which a sender shows who it is.
type proof interface {
	// takes reports whether it works with secrets of a kind.
	takes(kind secretKind) bool
	// needsURL reports whether the address is part of what is signed.
	needsURL() bool
	// headers names those that must appear at most once.
	headers() []string
	// present reports whether the request takes this way at all.
	present(in *input) bool
	// missing is the reason when no way is taken.
	missing() string
	// check returns the place of the secret that matched, or why not.
	check(v *Verifier, in *input, now time.Time) (int, *refusal)
	// sign changes the request so that check accepts it.
	sign(in *input, key secret, now time.Time) error
}

// open lets everybody in: the scheme none.
type open struct{}

func (open) takes(kind secretKind) bool { return kind == noSecret }

func (open) needsURL() bool { return false }

func (open) headers() []string { return nil }

func (open) present(*input) bool { return true }

func (open) missing() string { return "" }

func (open) check(*Verifier, *input, time.Time) (int, *refusal) { return -1, nil }

func (open) sign(*input, secret, time.Time) error { return nil }

// token compares a shared secret that the request itself carries.
type token struct {
	// header or query names where it is.
	header string
	query  string
	// auth is the authorization scheme before it (RFC 7235 section 2.1):
	// "Bearer" or "Basic"; empty where the value is the token alone.
	auth string
}

func (t token) takes(kind secretKind) bool { return kind == sharedSecret }

func (t token) needsURL() bool { return false }

func (t token) headers() []string { return []string{t.header} }

func (t token) present(in *input) bool {
	if t.query != "" {
		return len(queryOf(in.Target)[t.query]) > 0
	}
	return len(in.Header[http.CanonicalHeaderKey(t.header)]) > 0
}

func (t token) missing() string {
	if t.query != "" {
		return "no token in the query"
	}
	return "no header " + t.header
}

func (t token) check(v *Verifier, in *input, _ time.Time) (int, *refusal) {
	shown, refused := t.shown(in)
	if refused != nil {
		return -1, refused
	}
	digest := sha256.Sum256([]byte(shown))
	for _, s := range v.secrets {
		if s.kind == sharedSecret && subtle.ConstantTimeCompare(digest[:], s.digest[:]) == 1 {
			return s.place, nil
		}
	}
	return -1, bad("wrong token")
}

// shown returns the token that the request carries.
func (t token) shown(in *input) (string, *refusal) {
	if t.query != "" {
		values := queryOf(in.Target)[t.query]
		if len(values) != 1 {
			return "", malformed("the token appears more than once in the query")
		}
		return values[0], nil
	}
	value := in.Header.Get(t.header)
	if value == "" {
		return "", bad("header " + t.header + " is empty")
	}
	if t.auth == "" {
		return value, nil
	}
	name, rest, _ := strings.Cut(value, " ")
	if !strings.EqualFold(name, t.auth) {
		return "", bad("header " + t.header + " is not of the form " + t.auth)
	}
	rest = strings.TrimLeft(rest, " ")
	if t.auth != "Basic" {
		return rest, nil
	}
	raw, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return "", bad("header " + t.header + " has no base64")
	}
	return string(raw), nil
}

func (t token) sign(in *input, key secret, _ time.Time) error {
	if key.kind != sharedSecret {
		return errors.New("the current secret is not a token")
	}
	text := string(key.key)
	switch {
	case t.query != "":
		in.Target = withQuery(in.Target, t.query, text)
	case t.auth == "Basic":
		in.Header.Set(t.header, "Basic "+base64.StdEncoding.EncodeToString(key.key))
	case t.auth != "":
		in.Header.Set(t.header, t.auth+" "+text)
	default:
		in.Header.Set(t.header, text)
	}
	return nil
}

// withQuery adds a parameter at the end of a request target.
func withQuery(target, name, value string) string {
	mark := "?"
	if strings.Contains(target, "?") {
		mark = "&"
	}
	return target + mark + url.QueryEscape(name) + "=" + url.QueryEscape(value)
}
