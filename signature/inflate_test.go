package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"testing"
	"time"

	"weir/webhook"
)

// A small compressed body may take no more memory than it is given room for: not
// before it is verified, and not for its key afterwards.
func TestInflatedBytesAreReservedBeforeTheyAreTaken(t *testing.T) {
	plain := append([]byte(`{"id":"e1"}`), bytes.Repeat([]byte(" "), 1<<20)...)
	packed := gzipped(t, plain)
	for _, covers := range []struct {
		signedBody string
		bytes      []byte
	}{{SignedDecoded, plain}, {SignedWire, packed}} {
		t.Run(covers.signedBody, func(t *testing.T) {
			v, err := New(Config{Scheme: "hmac", Secrets: []string{"a secret"}, SignedBody: covers.signedBody,
				Key: "json:id", MaxBody: 2 << 20, HMAC: HMAC{Header: "X-Sum"}})
			if err != nil {
				t.Fatal(err)
			}
			mac := hmac.New(sha256.New, []byte("a secret"))
			mac.Write(covers.bytes)
			request := Request{Method: http.MethodPost, Body: packed, Header: http.Header{
				"Content-Encoding": {"gzip"}, "X-Sum": {hex.EncodeToString(mac.Sum(nil))},
			}}
			var asked int64
			request.Reserve = func(n int64) bool { asked += n; return true }
			if got := v.Verify(request, time.Now()); got.Result != webhook.ResultAccepted || got.Key != "e1" {
				t.Errorf("with room: %+v", got)
			}
			if asked != int64(len(plain)) {
				t.Errorf("%d bytes were reserved for %d", asked, len(plain))
			}
			request.Reserve = func(int64) bool { return false }
			if got := v.Verify(request, time.Now()); got.Result != webhook.ResultUnavailable || got.Key != "" {
				t.Errorf("without room: %+v", got)
			}
		})
	}
}
