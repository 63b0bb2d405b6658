package sqlite

import (
	"bytes"
	"database/sql"
	"errors"

	"weir/webhook"
)

// known is a stored event that an arrival was compared with.
type known struct {
	seq        int64
	id         webhook.ID
	receivedAt int64
	sha256     []byte
}

const selectKnown = `SELECT seq, id, received_at, sha256 FROM events `

func (s *session) known(where string, arg any) (known, bool, error) {
	var k known
	var id []byte
	found, err := s.row(selectKnown+where, []any{arg}, &k.seq, &id, &k.receivedAt, &k.sha256)
	copy(k.id[:], id)
	return k, found, err
}

// byName finds the event that has a key now. No name finds nothing.
func (s *session) byName(dedupe []byte) (known, bool, error) {
	seq, found, err := s.holder(dedupe)
	if err != nil || !found {
		return known{}, false, err
	}
	return s.known(`WHERE seq = +?1`, seq)
}

// find looks for what an arrival repeats or conflicts with: the event that has
// its key, else the event itself, from a call whose answer was lost.
func (s *session) find(a *arrival) (known, bool, error) {
	k, found, err := s.byName(a.dedupe)
	if err != nil || found {
		return k, found, err
	}
	return s.known(`WHERE id = +?1`, a.Event.ID[:])
}

// forgotten reports whether the window of a stored key has passed.
func (s *session) forgotten(k known, a *arrival) bool {
	return k.receivedAt < a.receivedAt-s.window
}

// places bounds the search for a free place. Two events in one place need a
// clock set back to the very millisecond and a counter gone round.
const places = 16

// acceptKnown is the path of everything that the insert refused.
func (s *session) acceptKnown(a *arrival) (webhook.Receipt, error) {
	first, found, err := s.find(a)
	if err != nil {
		return webhook.Receipt{}, err
	}
	if found {
		return s.compare(a, first)
	}
	return s.acceptElsewhere(a, a.dedupe, nil)
}

// acceptElsewhere stores an event that has no equal: only its place can be
// taken, and the next one is tried.
func (s *session) acceptElsewhere(a *arrival, name, conflictOf []byte) (webhook.Receipt, error) {
	for range places {
		inserted, err := s.insert(a, name, conflictOf)
		if err != nil || inserted {
			return a.accepted(), err
		}
	}
	return webhook.Receipt{}, errors.New("no free place in the order of receipt")
}

// compare decides between a repeat, a new use of a forgotten key, and a
// conflict. A kept conflict is looked for before anything else is decided: its
// key is remembered as long as that of the first copy.
func (s *session) compare(a *arrival, first known) (webhook.Receipt, error) {
	fresh := !s.forgotten(first, a)
	if first.id == a.Event.ID || fresh && bytes.Equal(first.sha256, a.Event.SHA256[:]) {
		return s.repeat(a, first)
	}
	variant, found, err := s.byName(a.variant)
	if err != nil {
		return webhook.Receipt{}, err
	}
	switch {
	case found && !s.forgotten(variant, a):
		return s.repeat(a, variant)
	case !fresh:
		return s.acceptAnew(a, first.seq, a.dedupe, nil)
	case a.OnConflict == webhook.IgnoreConflict:
		return s.repeat(a, first)
	case a.OnConflict == webhook.KeepConflict:
		return s.acceptAnew(a, variant.seq, a.variant, first.id[:])
	}
	return webhook.Receipt{ID: first.id, Result: webhook.ResultKeyConflict}, nil
}

// acceptAnew stores the event under a name that an older one (if any) gives
// up.
func (s *session) acceptAnew(a *arrival, older int64, name, conflictOf []byte) (webhook.Receipt, error) {
	if a.size() > s.room {
		return webhook.Receipt{}, webhook.ErrFull
	}
	const giveUp = `UPDATE events SET dedupe = NULL WHERE seq = +?1 AND dedupe = +?2`
	if _, err := s.exec(giveUp, older, name); err != nil {
		return webhook.Receipt{}, err
	}
	if older != 0 {
		s.keys.give(held{keyName(name), older})
	}
	if err := s.release(name, older); err != nil {
		return webhook.Receipt{}, err
	}
	return s.acceptElsewhere(a, name, conflictOf)
}

// repeat counts a duplicate and makes the event's dead deliveries pending
// again, so that the sender's own "redeliver" button works.
func (s *session) repeat(a *arrival, k known) (webhook.Receipt, error) {
	receipt := webhook.Receipt{ID: k.id, Result: webhook.ResultDuplicate}
	const count = `UPDATE events SET duplicates = duplicates + 1,
		last_duplicate_at = max(coalesce(last_duplicate_at, ?2), ?2) WHERE seq = +?1`
	if _, err := s.exec(count, k.seq, a.receivedAt); err != nil {
		return receipt, err
	}
	dead, err := s.reopenable(k.seq)
	if err != nil || len(dead) == 0 {
		return receipt, err
	}
	if err := s.restore(a, k); err != nil {
		return receipt, err
	}
	for _, destination := range dead {
		if err := s.reopen(k.seq, destination, allowance{from: a.receivedAt}); err != nil {
			return receipt, err
		}
	}
	receipt.Reopened = dead
	return receipt, nil
}

// reopenable names the destinations of an event whose deliveries a repeat may
// revive: bytes that can never pass are not sent again.
func (s *session) reopenable(seq int64) ([]string, error) {
	var names []string
	const dead = `SELECT destination FROM deliveries
		WHERE seq = +?1 AND state = 'dead' AND reason <> 'too_large' ORDER BY destination`
	err := s.each(dead, []any{seq}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	return names, err
}

// restore brings a payload back that retention had removed. Under
// IgnoreConflict the repeat's bytes may differ from the first copy's; then the
// event has these from now on, because the others no longer exist.
func (s *session) restore(a *arrival, k known) error {
	const anew = `INSERT INTO payloads (seq, header, body) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`
	restored, err := s.execWith(len(a.Event.Body), anew, k.seq, a.header, a.Event.Body)
	if err != nil || restored == 0 || bytes.Equal(k.sha256, a.Event.SHA256[:]) {
		return err
	}
	const describe = `UPDATE events SET size = ?2, sha256 = ?3 WHERE seq = +?1`
	_, err = s.exec(describe, k.seq, a.Event.Size, a.Event.SHA256[:])
	return err
}

// allowance is what a delivery that becomes pending again starts with.
type allowance struct {
	from   int64
	forced int
}

// reopen makes a finished delivery pending with a fresh allowance and age. Its
// history goes on.
func (s *session) reopen(seq int64, destination string, fresh allowance) error {
	const update = `UPDATE deliveries SET state = 'pending', reason = NULL, detail = '',
		spent = 0, misdirected = 0, next_at = ?3, age_from = ?3, finished_at = NULL, forced = ?4
		WHERE seq = +?1 AND destination = +?2`
	_, err := s.exec(update, seq, destination, fresh.from, fresh.forced)
	return err
}
