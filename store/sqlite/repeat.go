package sqlite

import (
	"bytes"
	"database/sql"
	"errors"

	"weir/webhook"
)

// existing is a stored event that an arrival is compared with.
type existing struct {
	seq        int64
	id         webhook.ID
	receivedAt int64
	sha256     []byte
}

const selectExisting = `SELECT seq, id, received_at, sha256 FROM events `

func (c *writeConn) existing(where string, arg any) (existing, bool, error) {
	var k existing
	var id []byte
	found, err := c.row(selectExisting+where, []any{arg}, &k.seq, &id, &k.receivedAt, &k.sha256)
	copy(k.id[:], id)
	return k, found, err
}

// byName finds the event that owns a key. A nil name finds nothing.
func (c *writeConn) byName(dedupe []byte) (existing, bool, error) {
	seq, found, err := c.keyOwner(dedupe)
	if err != nil || !found {
		return existing{}, false, err
	}
	return c.existing(`WHERE seq = +?1`, seq)
}

// find looks for what an arrival repeats or conflicts with: the event that has
// its key, else the event itself, from a call whose answer was lost.
func (c *writeConn) find(a *arrival) (existing, bool, error) {
	k, found, err := c.byName(a.dedupe)
	if err != nil || found {
		return k, found, err
	}
	return c.existing(`WHERE id = +?1`, a.Event.ID[:])
}

// forgotten reports whether the window of a stored key has passed.
func (c *writeConn) forgotten(k existing, a *arrival) bool {
	return k.receivedAt < a.receivedAt-c.window
}

// maxSeqTries bounds the search for a free seq. Two events get the same one only
// if the clock is set back to the same millisecond and the counter has wrapped.
const maxSeqTries = 16

// acceptExisting handles everything that the insert did not store.
func (c *writeConn) acceptExisting(a *arrival) (webhook.Receipt, error) {
	first, found, err := c.find(a)
	if err != nil {
		return webhook.Receipt{}, err
	}
	if found {
		return c.acceptCompared(a, first)
	}
	return c.insertAtNextSeq(a, a.dedupe, nil)
}

// insertAtNextSeq stores an event that does not exist yet: only its seq can be
// taken, and then the next one is tried.
func (c *writeConn) insertAtNextSeq(a *arrival, name, conflictOf []byte) (webhook.Receipt, error) {
	for range maxSeqTries {
		inserted, err := c.insert(a, name, conflictOf)
		if err != nil || inserted {
			return a.accepted(), err
		}
	}
	return webhook.Receipt{}, errors.New("no free seq for this millisecond")
}

// compare decides between a repeat, a new use of a forgotten key, and a
// conflict. A kept conflict is looked for before anything else is decided: its
// key is remembered as long as that of the first copy.
func (c *writeConn) acceptCompared(a *arrival, first existing) (webhook.Receipt, error) {
	fresh := !c.forgotten(first, a)
	if first.id == a.Event.ID || fresh && bytes.Equal(first.sha256, a.Event.SHA256[:]) {
		return c.repeat(a, first)
	}
	kept, found, err := c.byName(a.contentKey)
	if err != nil {
		return webhook.Receipt{}, err
	}
	switch {
	case found && !c.forgotten(kept, a):
		return c.repeat(a, kept)
	case !fresh:
		return c.replaceKeyOwner(a, first.seq, a.dedupe, nil)
	case a.OnConflict == webhook.IgnoreConflict:
		return c.repeat(a, first)
	case a.OnConflict == webhook.KeepConflict:
		return c.replaceKeyOwner(a, kept.seq, a.contentKey, first.id[:])
	}
	return webhook.Receipt{ID: first.id, Result: webhook.ResultKeyConflict}, nil
}

// replaceKeyOwner stores the event as the owner of a key, and takes the key from
// the older event that has it, if any.
func (c *writeConn) replaceKeyOwner(a *arrival, older int64, name, conflictOf []byte) (webhook.Receipt, error) {
	if a.size() > c.bytesLeft {
		return webhook.Receipt{}, c.refuse(a.size())
	}
	const giveUp = `UPDATE events SET dedupe = NULL WHERE seq = +?1 AND dedupe = +?2`
	if _, err := c.exec(giveUp, older, name); err != nil {
		return webhook.Receipt{}, err
	}
	if older != 0 {
		c.memtable.reassign(keyEntry{keyName(name), older})
	}
	if err := c.deleteKey(name, older); err != nil {
		return webhook.Receipt{}, err
	}
	return c.insertAtNextSeq(a, name, conflictOf)
}

// repeat counts a duplicate and makes the event's dead deliveries pending
// again, so that the sender's own "redeliver" button works.
func (c *writeConn) repeat(a *arrival, k existing) (webhook.Receipt, error) {
	receipt := webhook.Receipt{ID: k.id, Result: webhook.ResultDuplicate}
	const count = `UPDATE events SET duplicates = duplicates + 1,
		last_duplicate_at = max(coalesce(last_duplicate_at, ?2), ?2) WHERE seq = +?1`
	if _, err := c.exec(count, k.seq, a.receivedAt); err != nil {
		return receipt, err
	}
	reopened, err := c.reopenable(k.seq)
	if err != nil || len(reopened) == 0 {
		return receipt, err
	}
	if err := c.restore(a, k); err != nil {
		return receipt, err
	}
	for _, d := range reopened {
		if err := c.reopen(d.currentDelivery, d.destination, allowance{from: a.receivedAt}); err != nil {
			return receipt, err
		}
		receipt.Reopened = append(receipt.Reopened, d.destination)
	}
	return receipt, nil
}

// reopenable is a dead delivery that a duplicate makes pending again.
type reopenable struct {
	currentDelivery
	destination string
}

// reopenable lists the dead deliveries of an event that a duplicate makes pending
// again: bytes that can never pass are not sent again.
func (c *writeConn) reopenable(seq int64) ([]reopenable, error) {
	var list []reopenable
	const query = `SELECT destination, attempts, next_at FROM deliveries
		WHERE seq = +?1 AND state = 'dead' AND reason <> 'too_large' ORDER BY destination`
	err := c.each(query, []any{seq}, func(rows *sql.Rows) error {
		d := reopenable{currentDelivery: currentDelivery{seq: seq, state: webhook.Dead}}
		err := rows.Scan(&d.destination, &d.attempts, &d.nextAt)
		list = append(list, d)
		return err
	})
	return list, err
}

// restore brings a payload back that retention has removed, and a body back that
// has changed on the disk. Under
// IgnoreConflict the repeat's bytes may differ from the first copy's; then the
// event has these from now on, because the others no longer exist.
func (c *writeConn) restore(a *arrival, k existing) error {
	same := bytes.Equal(k.sha256, a.Event.SHA256[:])
	restoring := `INSERT INTO payloads (seq, header, body) VALUES (?1, ?2, ?3) ON CONFLICT `
	if same {
		restoring += `(seq) DO UPDATE SET body = excluded.body WHERE body <> excluded.body`
	} else {
		restoring += `DO NOTHING`
	}
	restored, err := c.execWith(len(a.Event.Body), restoring, k.seq, a.header, a.Event.Body)
	if err != nil || restored == 0 || same {
		return err
	}
	const describe = `UPDATE events SET size = ?2, sha256 = ?3 WHERE seq = +?1`
	_, err = c.exec(describe, k.seq, a.Event.Size, a.Event.SHA256[:])
	return err
}

// allowance is what a delivery that becomes pending again starts with.
type allowance struct {
	from   int64
	forced int
}

// reopen makes a finished delivery pending with a fresh allowance and age. Its
// history goes on.
func (c *writeConn) reopen(d currentDelivery, destination string, fresh allowance) error {
	c.counts.move(destination, d.class(), d.nextAt, classOf(webhook.Pending, d.attempts), fresh.from)
	const update = `UPDATE deliveries SET state = 'pending', reason = NULL, detail = '',
		spent = 0, misdirected = 0, refusals = 0, next_at = ?3, age_from = ?3, finished_at = NULL, forced = ?4
		WHERE seq = +?1 AND destination = +?2`
	_, err := c.exec(update, d.seq, destination, fresh.from, fresh.forced)
	return err
}
