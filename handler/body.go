package handler

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// firstBuffer is how many bytes are taken on trust. Beyond it memory grows
// only as bytes arrive, so that announcing a large body costs a sender as much
// as sending one.
const firstBuffer = 16 << 10

// The faults of a body.
var (
	errTooLarge = errors.New("body is too large")
	errNoRoom   = errors.New("too many bodies at once")
	errSlow     = errors.New("body is too slow")
	errBroken   = errors.New("body is broken off")
)

// buffer is a body in memory, whose bytes are accounted for.
type buffer struct {
	room  Room
	taken int64
	bytes []byte
	// progress is called with the number of bytes that have arrived.
	progress func(arrived int)
}

// release gives the accounted bytes back.
func (b *buffer) release() { b.room.Release() }

// grow makes the capacity exactly size.
func (b *buffer) grow(size int64) error {
	if !b.room.Acquire(size - b.taken) {
		return errNoRoom
	}
	b.taken = size
	grown := make([]byte, len(b.bytes), size)
	copy(grown, b.bytes)
	b.bytes = grown
	return nil
}

// fill reads a body of at most limit bytes to its end. Declared is its length,
// or negative where it was not declared.
func (b *buffer) fill(body io.Reader, declared, limit int64) error {
	most := limit
	if declared >= 0 && declared < limit {
		most = declared
	}
	if err := b.grow(min(most, firstBuffer)); err != nil {
		return err
	}
	for {
		n, err := body.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		b.progress(len(b.bytes))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return bodyFault(err)
		}
		if len(b.bytes) < cap(b.bytes) {
			continue
		}
		if int64(cap(b.bytes)) == most {
			return expectEnd(body)
		}
		if err := b.grow(min(most, 2*int64(cap(b.bytes)))); err != nil {
			return err
		}
	}
}

// expectEnd makes sure that nothing follows.
func expectEnd(body io.Reader) error {
	var more [1]byte
	switch _, err := io.ReadFull(body, more[:]); {
	case err == nil:
		return errTooLarge
	case errors.Is(err, io.EOF):
		return nil
	default:
		return bodyFault(err)
	}
}

// bodyFault says which fault a reading error is.
func bodyFault(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errSlow
	}
	return errBroken
}

const (
	// progressBytes is how much of a body must arrive within progressTime, for
	// as long as it has not ended: a body that is held back must not hold memory
	// for the whole of BodyTimeout.
	progressBytes = 8 << 10
	progressTime  = 5 * time.Second
)

// readBody reads the whole body within the time that a body may take, as long as
// it makes progress.
func (h *receiver) readBody(w http.ResponseWriter, r *http.Request, limit int64) (*buffer, error) {
	connection := http.NewResponseController(w)
	begun := time.Now()
	// Where no deadline can be set, as in a test without a connection, the
	// server's own timeouts hold.
	renew := func() {
		_ = connection.SetReadDeadline(begun.Add(min(time.Since(begun)+progressTime, h.config.BodyTimeout)))
	}
	renew()
	next := progressBytes
	b := &buffer{room: h.config.Room(r.Context()), progress: func(arrived int) {
		if arrived >= next {
			renew()
			next = arrived + progressBytes
		}
	}}
	if err := b.fill(r.Body, r.ContentLength, limit); err != nil {
		b.release()
		return nil, err
	}
	// A deadline that stays would end the connection while the event is
	// being stored.
	_ = connection.SetReadDeadline(time.Time{})
	return b, nil
}

// The bounds of what is read after an answer, for the benefit of clients that
// send everything before they read: closing earlier would destroy the answer.
const (
	lingerBytes = 64 << 20
	lingerTime  = 5 * time.Second
	// keepBytes is how much is read to keep the connection for another
	// request.
	keepBytes = 256 << 10
)

// answerUnread writes the answer to a request whose body is not read, or not to
// its end. The answer does not wait for the body. Afterwards the rest is read
// and dropped, within bounds.
func answerUnread(w http.ResponseWriter, r *http.Request, write func()) {
	connection := http.NewResponseController(w)
	_ = connection.EnableFullDuplex()
	closing := r.ContentLength < 0 || r.ContentLength > keepBytes
	if closing {
		w.Header().Set("Connection", "close")
	}
	write()
	// A client that waits for "100 Continue" has sent nothing and will not.
	if r.Body == nil || r.Body == http.NoBody || strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	if connection.Flush() != nil || connection.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, err := io.CopyN(io.Discard, r.Body, lingerBytes)
	if !closing && !errors.Is(err, io.EOF) {
		// Net/http would take the rest of this body for another request.
		panic(http.ErrAbortHandler)
	}
}
