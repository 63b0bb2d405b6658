package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"weir/webhook"
)

// bodyBytes are read without the copy that package database/sql would make for
// the case that a driver uses its memory again. This one does not: it makes a
// slice for each value, and a body can be a tenth of all the memory there is.
type bodyBytes []byte

// Scan implements sql.Scanner.
func (b *bodyBytes) Scan(value any) error {
	bytes, ok := value.([]byte)
	if !ok && value != nil {
		return fmt.Errorf("a body is of type %T", value)
	}
	*b = bytes
	return nil
}

// eventColumns are read by eventRow, from events e and payloads p; the header
// is null where retention has removed the payload.
const eventColumns = `e.seq, e.id, e.source, e.key, e.key_from, e.type, e.received_at, e.size, e.sha256,
	e.duplicates, e.last_duplicate_at, e.conflict_of, p.header, p.seq IS NULL`

// eventRow is one row of eventColumns.
type eventRow struct {
	seq           int64
	event         webhook.Event
	id            []byte
	receivedAt    int64
	sha256        []byte
	lastDuplicate sql.NullInt64
	conflictOf    []byte
	header        []byte
}

func (r *eventRow) dest() []any {
	e := &r.event
	return []any{&r.seq, &r.id, &e.Source, &e.Key, &e.KeyFrom, &e.Type, &r.receivedAt, &e.Size, &r.sha256,
		&e.Duplicates, &r.lastDuplicate, &r.conflictOf, &r.header, &e.BodyGone}
}

// read returns the event, without a body.
func (r *eventRow) read() (webhook.Event, error) {
	e := r.event
	copy(e.ID[:], r.id)
	copy(e.SHA256[:], r.sha256)
	copy(e.ConflictOf[:], r.conflictOf)
	e.ReceivedAt = timeAt(r.receivedAt)
	e.LastDuplicateAt = optionalTime(r.lastDuplicate)
	if e.BodyGone {
		return e, nil
	}
	header, err := decodeHeader(r.header)
	if err != nil {
		return e, fmt.Errorf("reading event %s: %w", e.ID, err)
	}
	e.Header = header
	return e, nil
}

// deliveryColumns are read by deliveryRow, from events e and deliveries d.
const deliveryColumns = `e.id, e.source, d.destination, d.state, coalesce(d.reason, ''), d.detail, e.size,
	d.attempts, d.spent, d.misdirected, d.next_at, d.age_from, d.finished_at, d.forced, d.refusals`

// deliveryRow is one row of deliveryColumns.
type deliveryRow struct {
	delivery        webhook.Delivery
	id              []byte
	nextAt, ageFrom int64
	finishedAt      sql.NullInt64
}

func (r *deliveryRow) dest() []any {
	d := &r.delivery
	return []any{&r.id, &d.Source, &d.Destination, &d.State, &d.Reason, &d.Detail, &d.Size,
		&d.Attempts, &d.Spent, &d.Misdirected, &r.nextAt, &r.ageFrom, &r.finishedAt, &d.Forced, &d.Refusals}
}

func (r *deliveryRow) read() webhook.Delivery {
	d := r.delivery
	copy(d.EventID[:], r.id)
	d.NextAttemptAt = timeAt(r.nextAt)
	d.AgeFrom = timeAt(r.ageFrom)
	d.FinishedAt = optionalTime(r.finishedAt)
	return d
}

// scanDeliveries returns a scan function that appends to a list.
func scanDeliveries(list *[]webhook.Delivery) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var row deliveryRow
		err := rows.Scan(row.dest()...)
		*list = append(*list, row.read())
		return err
	}
}

const attemptColumns = `number, at, duration_ns, sent_to, outcome, status, spent, probe,
	hint_ns, hint_from, rule, evidence, decision, next_at, presumed, renewed, witness_for`

// scanAttempt reads one row of attemptColumns.
func scanAttempt(rows *sql.Rows) (webhook.Attempt, error) {
	var (
		a                  webhook.Attempt
		at, duration, hint int64
		evidence           []byte
		nextAt             sql.NullInt64
		witnessFor         []byte
	)
	err := rows.Scan(&a.Number, &at, &duration, &a.SentTo, &a.Outcome, &a.Status, &a.Spent, &a.Probe,
		&hint, &a.Hint.From, &a.Rule, &evidence, &a.Decision, &nextAt,
		&a.Presumed, &a.Renewed, &witnessFor)
	if err != nil {
		return a, err
	}
	a.At, a.Duration = timeAt(at), time.Duration(duration)
	a.Hint.Wait = time.Duration(hint)
	copy(a.WitnessFor[:], witnessFor)
	a.NextAttemptAt = optionalTime(nextAt)
	if err := json.Unmarshal(evidence, &a.Evidence); err != nil {
		return a, fmt.Errorf("reading evidence: %w", err)
	}
	return a, nil
}
