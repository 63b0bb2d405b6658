package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"weir/webhook"
)

// dedupeBytes of a SHA-256 identify a key: 128 bits, so that 2^40 keys have a
// chance of 1 in 2^49 to clash.
const dedupeBytes = 16

// rowOverhead is roughly what an event takes in addition to its body and headers.
const rowOverhead = 512

// arrival is a webhook.Arrival made ready outside the writer.
type arrival struct {
	webhook.Arrival
	receivedAt int64
	header     []byte
	// dedupe is the hash of (source, key); contentKey also covers the digest
	// of the body, for an event that is kept in addition to another one with
	// the same key. Both are nil without a key.
	dedupe     []byte
	contentKey []byte
}

func newArrival(in webhook.Arrival) *arrival {
	e := &in.Event
	if e.SHA256 == [sha256.Size]byte{} {
		e.SHA256 = sha256.Sum256(e.Body)
	}
	e.Size = int64(len(e.Body))
	if e.Body == nil {
		e.Body = []byte{}
	}
	a := &arrival{Arrival: in, receivedAt: millis(e.ReceivedAt), header: encodeHeader(e.Header)}
	if e.Key != "" {
		a.dedupe, a.contentKey = dedupeNames(e.Source, e.Key, e.SHA256)
	}
	return a
}

// dedupeNames returns the hash of a key, and of that key with one body.
func dedupeNames(source, key string, body [sha256.Size]byte) (name, contentKey []byte) {
	text := make([]byte, 0, len(source)+1+len(key))
	text = append(append(append(text, source...), 0), key...)
	whole := sha256.Sum256(text)
	other := sha256.Sum256(append(whole[:], body[:]...))
	return bytes.Clone(whole[:dedupeBytes]), other[:dedupeBytes]
}

// size is what the arrival takes on the disk, roughly.
func (a *arrival) size() int64 {
	return a.Event.Size + int64(len(a.header)) + rowOverhead
}

// Accept stores an event with its deliveries, or recognises it as a duplicate.
// ReceivedAt decides whether a stored key is still within the window. The
// event's Size is taken from Body, and so is SHA256 when it is zero. Header and
// Body must not be changed afterwards, not even when Accept returns early
// because ctx ended.
//
// Errors: [webhook.ErrFull] at the cap for a new event (repeats are still
// answered), [webhook.ErrUnavailable] when nothing could be committed.
func (s *Store) Accept(ctx context.Context, in webhook.Arrival) (webhook.Receipt, error) {
	if in.Event.ID.IsZero() {
		return webhook.Receipt{}, errors.New("accepting an event: it has no id")
	}
	a := newArrival(in)
	var receipt webhook.Receipt
	err := s.largeBodies.one(ctx, a.Event.Size, func() error {
		return s.writer.do(ctx, int(a.size()), func(conn *writeConn) (err error) {
			receipt, err = conn.accept(a)
			return err
		})
	})
	if err != nil {
		return webhook.Receipt{}, fmt.Errorf("accepting an event of source %s: %w", in.Event.Source, err)
	}
	return receipt, nil
}

// accept decides by inserting: if the event or its key exists, the statement
// changes nothing, and only then is the existing event read. Keys that are still
// in the memtable are looked up first.
func (c *writeConn) accept(a *arrival) (webhook.Receipt, error) {
	if a.size() > c.bytesLeft {
		return c.acceptFull(a)
	}
	if c.inMemtable(a.dedupe) {
		return c.acceptExisting(a)
	}
	inserted, err := c.insert(a, a.dedupe, nil)
	if err != nil || inserted {
		return a.accepted(), err
	}
	return c.acceptExisting(a)
}

// acceptFull answers at the cap: duplicates as always, new events with ErrFull.
func (c *writeConn) acceptFull(a *arrival) (webhook.Receipt, error) {
	known, found, err := c.find(a)
	if err != nil {
		return webhook.Receipt{}, err
	}
	if !found || c.forgotten(known, a) {
		return webhook.Receipt{}, c.refuse(a.size())
	}
	return c.acceptExisting(a)
}

func (a *arrival) accepted() webhook.Receipt {
	return webhook.Receipt{ID: a.Event.ID, Result: webhook.ResultAccepted}
}

const insertEvent = `INSERT INTO events
	(seq, id, source, key, key_from, received_at, dedupe, size, sha256, conflict_of, type)
	SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
	WHERE NOT EXISTS (SELECT 1 FROM keys WHERE name = +?7) ON CONFLICT DO NOTHING`

const insertPayload = `INSERT INTO payloads (seq, header, body) VALUES (?1, ?2, ?3)`

const insertDelivery = `INSERT INTO deliveries (seq, destination, state, next_at, age_from)
	VALUES (?1, ?2, 'pending', ?3, ?3) ON CONFLICT DO NOTHING`

// insert stores the event unless it, or its key, exists.
func (c *writeConn) insert(a *arrival, dedupe, conflictOf []byte) (bool, error) {
	e := &a.Event
	seq := c.nextSeq(a.receivedAt)
	changed, err := c.exec(insertEvent, seq, e.ID[:], e.Source, e.Key, e.KeyFrom,
		a.receivedAt, nullable(dedupe), e.Size, e.SHA256[:], nullable(conflictOf), e.Type)
	if err != nil || changed == 0 {
		return false, err
	}
	c.memtable.countInsert(seq)
	if err := c.setKey(dedupe, seq); err != nil {
		return false, err
	}
	if _, err := c.execWith(len(e.Body), insertPayload, seq, a.header, e.Body); err != nil {
		return false, err
	}
	for _, destination := range a.To {
		changed, err := c.exec(insertDelivery, seq, destination, a.receivedAt)
		if err != nil {
			return false, err
		}
		c.counts.add(destination, firstTry, a.receivedAt, int(changed))
	}
	c.bytesLeft -= a.size()
	c.pruning.arrived++
	return true, nil
}

// nullable turns a nil slice into a null; the driver would store an empty
// blob.
func nullable(blob []byte) any {
	if blob == nil {
		return nil
	}
	return blob
}
