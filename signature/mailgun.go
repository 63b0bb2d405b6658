package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// mailgunProof is Mailgun's signature, which is a member of the body: an HMAC of
// the time and of a token that is used once. It does not cover the event, so
// whoever has seen one request can make up others for as long as the tolerance.
type mailgunProof struct{}

func (mailgunProof) takes(kind secretKind) bool { return kind == macSecret }

func (mailgunProof) needsURL() bool { return false }

func (mailgunProof) headers() []string { return nil }

func (mailgunProof) present(in *input) bool {
	return jsonText(in.json(), "signature.signature") != ""
}

func (mailgunProof) missing() string { return "no signature in the body" }

// mailgunTime is where the time of signing is.
var mailgunTime = stampRule{member: "signature.timestamp"}

func (mailgunProof) check(v *Verifier, in *input, now time.Time) (int, *refusal) {
	shown, err := hex.DecodeString(jsonText(in.json(), "signature.signature"))
	token := jsonText(in.json(), "signature.token")
	if err != nil || token == "" {
		return -1, bad("the signature in the body is not of Mailgun's form")
	}
	stamp := jsonText(in.json(), mailgunTime.member)
	for _, key := range v.secrets {
		if subtle.ConstantTimeCompare(mailgunSum(key, stamp+token), shown) == 1 {
			return key.place, mailgunTime.fresh(in, now, v.config.Tolerance)
		}
	}
	return -1, bad("wrong secret or altered request")
}

// sign adds the signature to a body that is an object.
func (mailgunProof) sign(in *input, key secret, now time.Time) error {
	rest, found := bytes.CutPrefix(bytes.TrimSpace(in.Body), []byte("{"))
	if !found {
		return errors.New("a signature of Mailgun needs a JSON object to stand in")
	}
	stamp, token := strconv.FormatInt(now.Unix(), 10), hex.EncodeToString(mailgunSum(key, "token of "+now.String()))
	signed, err := json.Marshal(map[string]string{
		"timestamp": stamp, "token": token, "signature": hex.EncodeToString(mailgunSum(key, stamp+token)),
	})
	if err != nil {
		return err
	}
	body := append([]byte(`{"signature":`), signed...)
	if rest = bytes.TrimSpace(rest); !bytes.HasPrefix(rest, []byte("}")) {
		body = append(body, ',')
	}
	in.Body = append(body, rest...)
	return nil
}

func mailgunSum(key secret, text string) []byte {
	mac := hmac.New(sha256.New, key.key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
