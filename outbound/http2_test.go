package outbound_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"weir/outbound"
	"weir/webhook"
)

// The parts of HTTP/2 that a scripted server needs (RFC 9113 section 6).
const (
	frameData     = 0x0
	frameHeaders  = 0x1
	frameReset    = 0x3
	frameSettings = 0x4
	frameGoAway   = 0x7

	flagEnd = 0x1 // END_STREAM, and ACK of SETTINGS

	codeProtocol = 0x1
	codeRefused  = 0x7
)

// frame writes one frame.
func frame(w io.Writer, kind, flags byte, stream uint32, payload []byte) error {
	head := make([]byte, 9, 9+len(payload))
	head[1], head[2] = byte(len(payload)>>8), byte(len(payload))
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:], stream)
	_, err := w.Write(append(head, payload...))
	return err
}

// words makes a payload of 32-bit numbers.
func words(numbers ...uint32) []byte {
	var out []byte
	for _, n := range numbers {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return out
}

// answer200 answers a stream: the status is an entry of HPACK's static table.
func answer200(w io.Writer, stream uint32) error {
	return frame(w, frameHeaders, 0x4|flagEnd, stream, []byte{0x88})
}

// http2Script is called with the number of each whole request, from 1, and
// with its stream.
type http2Script func(w io.Writer, number int64, stream uint32) error

// http2Server is a TLS server that speaks frames and counts whole requests.
type http2Server struct {
	*rawServer
	config *httptest.Server // for its certificate
	bodies atomic.Int64     // bytes
}

func newHTTP2Server(t *testing.T, script http2Script) *http2Server {
	t.Helper()
	config := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(config.Close)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: config.TLS.Certificates, NextProtos: []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &http2Server{rawServer: &rawServer{listener: listener}, config: config}
	s.start(t, func(conn net.Conn) { s.serve(conn, script) })
	return s
}

func (s *http2Server) serve(conn net.Conn, script http2Script) {
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(conn, preface); err != nil || !bytes.HasPrefix(preface, []byte("PRI")) {
		return
	}
	if frame(conn, frameSettings, 0, 0, nil) != nil {
		return
	}
	head := make([]byte, 9)
	for {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(conn, payload); err != nil {
			return
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && flags&flagEnd == 0:
			frame(conn, frameSettings, flagEnd, 0, nil)
		case (kind == frameData || kind == frameHeaders) && flags&flagEnd != 0:
			if kind == frameData {
				s.bodies.Add(int64(len(payload)))
			}
			if script(conn, s.requests.Add(1), stream) != nil {
				return
			}
		}
	}
}

func (s *http2Server) client(t *testing.T) *outbound.Client {
	t.Helper()
	return client(t, outbound.Config{
		URL:     "https://" + s.listener.Addr().String(),
		RootCAs: s.config.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
	})
}

func TestB45AnHTTP2RequestThatWasNotProcessedGoesAgain(t *testing.T) {
	for name, refuse := range map[string]http2Script{
		"GOAWAY": func(w io.Writer, _ int64, stream uint32) error {
			return frame(w, frameGoAway, 0, 0, words(stream-1, 0))
		},
		"REFUSED_STREAM": func(w io.Writer, _ int64, stream uint32) error {
			return frame(w, frameReset, 0, stream, words(codeRefused))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newHTTP2Server(t, func(w io.Writer, number int64, stream uint32) error {
				if number == 25 {
					return refuse(w, number, stream)
				}
				return answer200(w, stream)
			})
			c, body := server.client(t), "the whole body"
			for i := range 50 {
				if answer := c.Send(context.Background(), job(body)); answer.Outcome != webhook.OutcomeDelivered {
					t.Fatalf("answer %d: %+v", i+1, answer)
				}
			}
			if got := server.requests.Load(); got != 51 {
				t.Errorf("%d requests arrived, want 50 and one that was given back", got)
			}
			if got, want := server.bodies.Load(), int64(51*len(body)); got != want {
				t.Errorf("%d bytes of bodies arrived, want %d", got, want)
			}
		})
	}
}

func TestAnHTTP2RequestThatMayHaveBeenProcessedDoesNotGoAgain(t *testing.T) {
	for name, breaks := range map[string]http2Script{
		"PROTOCOL_ERROR": func(w io.Writer, _ int64, stream uint32) error {
			return frame(w, frameReset, 0, stream, words(codeProtocol))
		},
		"INTERNAL_ERROR": func(w io.Writer, _ int64, stream uint32) error {
			return frame(w, frameReset, 0, stream, words(0x2))
		},
		"GOAWAY that includes it": func(w io.Writer, _ int64, stream uint32) error {
			frame(w, frameGoAway, 0, 0, words(stream, 0))
			return io.EOF
		},
		"the end": func(io.Writer, int64, uint32) error { return io.EOF },
	} {
		for _, body := range []string{"the whole body", ""} {
			t.Run(name+" "+body, func(t *testing.T) {
				server := newHTTP2Server(t, func(w io.Writer, number int64, stream uint32) error {
					if number >= 2 {
						return breaks(w, number, stream)
					}
					return answer200(w, stream)
				})
				c := server.client(t)
				if answer := c.Send(context.Background(), job(body)); answer.Outcome != webhook.OutcomeDelivered {
					t.Fatalf("first answer %+v", answer)
				}
				if answer := c.Send(context.Background(), job(body)); answer.Outcome != webhook.OutcomeNetwork {
					t.Errorf("answer %+v, want network", answer)
				}
				if got := server.requests.Load(); got != 2 {
					t.Errorf("%d requests arrived for two attempts", got)
				}
			})
		}
	}
}

func TestAServerThatRefusesEveryStreamIsNotAskedForEver(t *testing.T) {
	server := newHTTP2Server(t, func(w io.Writer, _ int64, stream uint32) error {
		return frame(w, frameReset, 0, stream, words(codeRefused))
	})
	answer := server.client(t).Send(context.Background(), job("x"))
	if answer.Outcome != webhook.OutcomeNetwork || answer.Rule != outbound.RuleHTTP2 {
		t.Errorf("answer %+v", answer)
	}
	if got := server.requests.Load(); got > 4 {
		t.Errorf("%d requests for one attempt", got)
	}
}
