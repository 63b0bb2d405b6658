package sqlite

import (
	"context"
	"fmt"

	"weir/webhook"
)

// owner is what fences a destination's gates. The zero owner is that of a
// destination that nobody has owned yet.
type owner struct{ epoch, rev int64 }

// owner returns the owner of a destination, from the cache where it can.
func (s *session) owner(name string) (owner, error) {
	if o, ok := s.owners[name]; ok {
		return o, nil
	}
	var o owner
	const query = `SELECT epoch, rev FROM destinations WHERE name = +?1`
	if _, err := s.row(query, []any{name}, &o.epoch, &o.rev); err != nil {
		return owner{}, err
	}
	s.owners[name] = o
	return o, nil
}

// fence refuses an epoch that is not the present one.
func (s *session) fence(name string, epoch int64) error {
	o, err := s.owner(name)
	if err == nil && epoch != o.epoch {
		err = fmt.Errorf("%w: %s has epoch %d, not %d", webhook.ErrFenced, name, o.epoch, epoch)
	}
	return err
}

// Own takes a destination over and returns the state last saved with a higher
// Epoch; a destination that is not known yet has a zero state. From then on
// Save and Record with another epoch are refused ([webhook.ErrFenced]).
func (s *Store) Own(ctx context.Context, name string) (webhook.Destination, error) {
	var owned webhook.Destination
	err := s.writer.do(ctx, 0, func(session *session) (err error) {
		owned, err = session.own(name)
		return err
	})
	if err != nil {
		return webhook.Destination{}, fmt.Errorf("owning destination %s: %w", name, err)
	}
	return owned, nil
}

func (s *session) own(name string) (webhook.Destination, error) {
	if err := s.saveGates(); err != nil {
		return webhook.Destination{}, err
	}
	const take = `INSERT INTO destinations (name, epoch, rev, gates) VALUES (?1, 1, 0, '{}')
		ON CONFLICT (name) DO UPDATE SET epoch = epoch + 1`
	if _, err := s.exec(take, name); err != nil {
		return webhook.Destination{}, err
	}
	delete(s.owners, name)
	d := webhook.Destination{Name: name}
	var text string
	const read = `SELECT epoch, rev, gates FROM destinations WHERE name = +?1`
	if _, err := s.row(read, []any{name}, &d.Epoch, &d.Rev, &text); err != nil {
		return d, err
	}
	return decodeGates(text, d)
}

// Save keeps a destination's gates if their Rev is higher than that of those
// stored; otherwise it does nothing. [webhook.ErrFenced] says that another
// owner has taken over.
func (s *Store) Save(ctx context.Context, d webhook.Destination) error {
	err := s.writer.do(ctx, 0, func(session *session) error {
		if err := session.fence(d.Name, d.Epoch); err != nil {
			return err
		}
		return session.keepGates(d)
	})
	if err != nil {
		return fmt.Errorf("saving destination %s: %w", d.Name, err)
	}
	return nil
}

// keepGates remembers gates until the end of the transaction, the newest only:
// of a batch of attempts all but the last would be written for nothing.
func (s *session) keepGates(d webhook.Destination) error {
	o, err := s.owner(d.Name)
	if err != nil || d.Rev <= o.rev {
		return err
	}
	s.owners[d.Name] = owner{epoch: o.epoch, rev: d.Rev}
	s.unsaved[d.Name] = d
	return nil
}

// saveGates writes what keepGates has gathered.
func (s *session) saveGates() error {
	for name, d := range s.unsaved {
		text, err := encodeGates(d)
		if err != nil {
			return err
		}
		const write = `INSERT INTO destinations (name, epoch, rev, gates) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (name) DO UPDATE SET rev = excluded.rev, gates = excluded.gates`
		if _, err := s.exec(write, name, d.Epoch, d.Rev, text); err != nil {
			return err
		}
		delete(s.unsaved, name)
	}
	return nil
}
