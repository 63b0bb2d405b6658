package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
)

// algorithm names how a signature is made.
type algorithm string

const (
	sha1MAC   algorithm = "sha1"
	sha256MAC algorithm = "sha256"
	sha384MAC algorithm = "sha384"
	sha512MAC algorithm = "sha512"
	ed25519ID algorithm = "ed25519"
	ecdsaP256 algorithm = "ecdsa-p256-sha256"
)

// newHash returns the hash of an HMAC algorithm, nil for another.
func (a algorithm) newHash() func() hash.Hash {
	switch a {
	case sha1MAC:
		return sha1.New
	case sha256MAC:
		return sha256.New
	case sha384MAC:
		return sha512.New384
	case sha512MAC:
		return sha512.New
	}
	return nil
}

func (a algorithm) kind() secretKind {
	switch a {
	case ed25519ID:
		return edSecret
	case ecdsaP256:
		return ecSecret
	}
	return macSecret
}

// encoding is how a signature is written.
type encoding string

const (
	inHex    encoding = "hex"
	inBase64 encoding = "base64"
)

func (e encoding) decode(text string) ([]byte, error) {
	if e == inHex {
		return hex.DecodeString(text)
	}
	return decodeBase64(text)
}

func (e encoding) encode(raw []byte) string {
	if e == inHex {
		return hex.EncodeToString(raw)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// mark is the text before a signature that says how it was made.
type mark struct {
	prefix    string
	algorithm algorithm
}

// digest returns the HMAC of the content, or for ECDSA its SHA-256, or for ed25519
// the content itself.
func (t template) digest(in *input, key secret, a algorithm) ([]byte, *refusal) {
	if a == ed25519ID {
		var message bytes.Buffer
		refused := t.write(&message, in)
		return message.Bytes(), refused
	}
	mac := sha256.New()
	if a != ecdsaP256 {
		mac = hmac.New(a.newHash(), key.key)
	}
	if refused := t.write(mac, in); refused != nil {
		return nil, refused
	}
	return mac.Sum(nil), nil
}
