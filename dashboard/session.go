package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"sync"
	"time"
)

// SessionFor is how long a login lasts. It is not prolonged by use.
const SessionFor = 12 * time.Hour

// maxEnded bounds the sessions that are remembered as logged out.
const maxEnded = 1024

// session is one login.
type session struct {
	id      [16]byte
	expires time.Time
}

// sessions makes and checks the cookies of logins. The cookie holds the session
// itself, signed with a key that is made at start, so a restart ends all.
type sessions struct {
	mu  sync.Mutex // guards what is below
	key [32]byte
	// ended are the sessions that were logged out before they expired.
	ended map[[16]byte]time.Time
}

func newSessions() *sessions {
	s := &sessions{ended: map[[16]byte]time.Time{}}
	// rand.Read never fails: it ends the process instead.
	_, _ = rand.Read(s.key[:])
	return s
}

// sign returns the signature of a text for one purpose.
func (s *sessions) sign(purpose string, text []byte) []byte {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write([]byte(purpose + "\x00"))
	mac.Write(text)
	return mac.Sum(nil)
}

// sessionLength is a cookie's length before base64: id, expiry, signature.
const sessionLength = 16 + 8 + sha256.Size

// begin starts a session and returns its cookie's value.
func (s *sessions) begin(now time.Time) (session, string) {
	started := session{expires: now.Add(SessionFor).Truncate(time.Second)}
	_, _ = rand.Read(started.id[:])
	text := binary.BigEndian.AppendUint64(started.id[:], uint64(started.expires.Unix()))
	s.mu.Lock()
	defer s.mu.Unlock()
	return started, base64.RawURLEncoding.EncodeToString(append(text, s.sign("session", text)...))
}

// open checks a cookie's value. It reports false for one that this process did
// not make, that has expired, or that was logged out.
func (s *sessions) open(value string, now time.Time) (session, bool) {
	// Base64 skips line breaks, so that one session would have many cookies.
	if len(value) != base64.RawURLEncoding.EncodedLen(sessionLength) {
		return session{}, false
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(value)
	if err != nil || len(text) != sessionLength {
		return session{}, false
	}
	signed, signature := text[:24], text[24:]
	s.mu.Lock()
	defer s.mu.Unlock()
	if !hmac.Equal(signature, s.sign("session", signed)) {
		return session{}, false
	}
	found := session{id: [16]byte(signed[:16]), expires: time.Unix(int64(binary.BigEndian.Uint64(signed[16:])), 0)}
	_, ended := s.ended[found.id]
	return found, !ended && now.Before(found.expires)
}

// end logs a session out. When too many are remembered, all end at once.
func (s *sessions) end(gone session, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, expires := range s.ended {
		if !now.Before(expires) {
			delete(s.ended, id)
		}
	}
	if len(s.ended) >= maxEnded {
		clear(s.ended)
		_, _ = rand.Read(s.key[:])
		return
	}
	s.ended[gone.id] = gone.expires
}

// formToken returns what a form of this session must send back.
func (s *sessions) formToken(of session) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return base64.RawURLEncoding.EncodeToString(s.sign("form", of.id[:]))
}

// meant reports whether a form was made for this session.
func (s *sessions) meant(of session, token string) bool {
	return hmac.Equal([]byte(token), []byte(s.formToken(of)))
}
