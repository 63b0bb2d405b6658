package signature

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// secretKind says what a secret can open, so that bytes of one kind are never
// used as another: a public key is never an HMAC key.
type secretKind int

const (
	noSecret     secretKind = iota // the scheme none
	macSecret                      // an HMAC key
	edSecret                       // an ed25519 key
	ecSecret                       // a key of the curve P-256
	sharedSecret                   // compared as it is
)

// secret is one configured secret, read.
type secret struct {
	kind secretKind
	// place is its position in the configuration: 0 is the current one.
	place int
	// key is the HMAC key, the ed25519 public key, or the text to compare.
	key []byte
	// digest of a shared secret: comparing digests hides the length.
	digest [sha256.Size]byte
	// private signs as the sender would; only an ed25519 seed gives one.
	private ed25519.PrivateKey
	// public and owner are the keys of the curve P-256: owner only where the
	// secret is the private one.
	public *ecdsa.PublicKey
	owner  *ecdsa.PrivateKey
}

// canSign reports whether a signature can be made with the secret.
func (s secret) canSign() bool {
	return s.kind == macSecret || s.private != nil || s.owner != nil
}

// readSecrets reads every configured secret as the scheme does.
func readSecrets(definition scheme, texts []string, problems *[]error) []secret {
	if definition.secret == nil {
		if len(texts) > 0 {
			*problems = append(*problems, fmt.Errorf("scheme %s takes no secret", definition.name))
		}
		return nil
	}
	if len(texts) == 0 {
		*problems = append(*problems, errors.New("no secret is configured"))
	}
	var secrets []secret
	for place, text := range texts {
		s, err := readSecret(definition, text)
		if err != nil {
			*problems = append(*problems, fmt.Errorf("secret %d: %w", place+1, err))
			continue
		}
		s.place = place
		secrets = append(secrets, s)
	}
	return secrets
}

func readSecret(definition scheme, text string) (secret, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return secret{}, errors.New("it is empty or only white space")
	}
	return definition.secret(text)
}

// literalKey takes the text itself as an HMAC key.
func literalKey(text string) (secret, error) {
	return secret{kind: macSecret, key: []byte(text)}, nil
}

// sharedText takes the text itself as what the sender must show.
func sharedText(text string) (secret, error) {
	return secret{kind: sharedSecret, key: []byte(text), digest: sha256.Sum256([]byte(text))}, nil
}

// credentials takes "user:password".
func credentials(text string) (secret, error) {
	user, password, found := strings.Cut(text, ":")
	if !found || user == "" || password == "" {
		return secret{}, errors.New("it is not of the form user:password")
	}
	return sharedText(text)
}

// standardKey reads the secrets of Standard Webhooks: whsec_ (also without
// the prefix) an HMAC key in base64, whpk_ an ed25519 public key, whsk_ its
// seed or private key.
func standardKey(text string) (secret, error) {
	if encoded, found := strings.CutPrefix(text, "whpk_"); found {
		raw, err := decodeBase64(encoded)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			return secret{}, errors.New("after whpk_ there is not the base64 of 32 bytes")
		}
		return secret{kind: edSecret, key: raw}, nil
	}
	if encoded, found := strings.CutPrefix(text, "whsk_"); found {
		raw, err := decodeBase64(encoded)
		if err != nil {
			return secret{}, errors.New("after whsk_ there is no base64")
		}
		return privateKey(raw)
	}
	raw, err := decodeBase64(strings.TrimPrefix(text, "whsec_"))
	if err != nil || len(raw) == 0 {
		return secret{}, errors.New("it is not whsec_ and base64, nor base64 alone")
	}
	return secret{kind: macSecret, key: raw}, nil
}

// gitlabKey reads a signing token (whsec_ and base64) or a plain one.
func gitlabKey(text string) (secret, error) {
	if strings.HasPrefix(text, "whsec_") {
		return standardKey(text)
	}
	return sharedText(text)
}

// discordKey reads the application's public key in hex, or "seed:" and the
// seed in hex, with which a request can be signed as Discord would.
func discordKey(text string) (secret, error) {
	if encoded, found := strings.CutPrefix(text, "seed:"); found {
		raw, err := hex.DecodeString(encoded)
		if err != nil {
			return secret{}, errors.New("after seed: there is no hex")
		}
		return privateKey(raw)
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return secret{}, errors.New("it is not a public key of 64 hex digits")
	}
	return secret{kind: edSecret, key: raw}, nil
}

// privateKey makes a secret of a seed (32 bytes) or a private key (64 bytes).
func privateKey(raw []byte) (secret, error) {
	if len(raw) != ed25519.SeedSize && len(raw) != ed25519.PrivateKeySize {
		return secret{}, errors.New("it is not a seed of 32 bytes")
	}
	private := ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])
	public := private.Public().(ed25519.PublicKey)
	return secret{kind: edSecret, key: public, private: private}, nil
}

// decodeBase64 is strict: the standard alphabet, padded, nothing in between.
func decodeBase64(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("line break in base64")
	}
	return base64.StdEncoding.Strict().DecodeString(text)
}

// sendgridKey reads the verification key that SendGrid shows (base64 of a public
// key, PKIX), or a private key (base64, PKCS #8), with which a request can be
// signed as SendGrid would.
func sendgridKey(text string) (secret, error) {
	raw, err := decodeBase64(text)
	if err != nil {
		return secret{}, errors.New("it is not the base64 of a verification key")
	}
	if key, err := x509.ParsePKCS8PrivateKey(raw); err == nil {
		if owner, is := key.(*ecdsa.PrivateKey); is && owner.Curve == elliptic.P256() {
			return secret{kind: ecSecret, owner: owner, public: &owner.PublicKey}, nil
		}
	}
	if key, err := x509.ParsePKIXPublicKey(raw); err == nil {
		if public, is := key.(*ecdsa.PublicKey); is && public.Curve == elliptic.P256() {
			return secret{kind: ecSecret, public: public}, nil
		}
	}
	return secret{}, errors.New("it is not a key of the curve P-256")
}

// encodedKey reads an HMAC key as the setting HMAC_KEY_ENCODING says.
func encodedKey(written string) func(text string) (secret, error) {
	return func(text string) (secret, error) {
		var raw []byte
		var err error
		switch written {
		case "", "text":
			raw = []byte(text)
		case "hex":
			raw, err = hex.DecodeString(text)
		case "base64":
			if raw, err = decodeBase64(text); err != nil {
				raw, err = base64.RawStdEncoding.Strict().DecodeString(text)
			}
		default:
			return secret{}, errors.New("the HMAC key encoding is not text, base64 or hex")
		}
		if err != nil || len(raw) == 0 {
			return secret{}, fmt.Errorf("it is not a key in %s", written)
		}
		return secret{kind: macSecret, key: raw}, nil
	}
}
