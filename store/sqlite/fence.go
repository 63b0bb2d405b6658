package sqlite

import (
	"context"
	"fmt"

	"weir/webhook"
)

// fencing is what fences a destination's gates. The zero value is that of a
// destination that nobody has owned yet.
type fencing struct{ epoch, rev int64 }

// fencing returns the epoch and newest rev of a destination, cached if possible.
func (c *writeConn) fencing(name string) (fencing, error) {
	if o, ok := c.fencings[name]; ok {
		return o, nil
	}
	var o fencing
	const query = `SELECT epoch, rev FROM destinations WHERE name = +?1`
	if _, err := c.row(query, []any{name}, &o.epoch, &o.rev); err != nil {
		return fencing{}, err
	}
	c.fencings[name] = o
	return o, nil
}

// fence returns webhook.ErrFenced for an epoch that is not the current one.
func (c *writeConn) fence(name string, epoch int64) error {
	o, err := c.fencing(name)
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
	err := s.writer.do(ctx, 0, func(conn *writeConn) (err error) {
		owned, err = conn.own(name)
		return err
	})
	if err != nil {
		return webhook.Destination{}, fmt.Errorf("owning destination %s: %w", name, err)
	}
	return owned, nil
}

func (c *writeConn) own(name string) (webhook.Destination, error) {
	if err := c.saveGates(); err != nil {
		return webhook.Destination{}, err
	}
	const take = `INSERT INTO destinations (name, epoch, rev, gates) VALUES (?1, 1, 0, '{}')
		ON CONFLICT (name) DO UPDATE SET epoch = epoch + 1`
	if _, err := c.exec(take, name); err != nil {
		return webhook.Destination{}, err
	}
	delete(c.fencings, name)
	d := webhook.Destination{Name: name}
	var text string
	const read = `SELECT epoch, rev, gates FROM destinations WHERE name = +?1`
	if _, err := c.row(read, []any{name}, &d.Epoch, &d.Rev, &text); err != nil {
		return d, err
	}
	return decodeGates(text, d)
}

// Save keeps a destination's gates if their Rev is higher than that of those
// stored; otherwise it does nothing. [webhook.ErrFenced] says that another
// owner has taken over.
func (s *Store) Save(ctx context.Context, d webhook.Destination) error {
	err := s.writer.do(ctx, 0, func(conn *writeConn) error {
		if err := conn.fence(d.Name, d.Epoch); err != nil {
			return err
		}
		return conn.keepGates(d)
	})
	if err != nil {
		return fmt.Errorf("saving destination %s: %w", d.Name, err)
	}
	return nil
}

// keepGates remembers gates until the end of the transaction, the newest only:
// of a batch of attempts all but the last would be written for nothing.
func (c *writeConn) keepGates(d webhook.Destination) error {
	o, err := c.fencing(d.Name)
	if err != nil || d.Rev <= o.rev {
		return err
	}
	c.fencings[d.Name] = fencing{epoch: o.epoch, rev: d.Rev}
	c.unsaved[d.Name] = d
	return nil
}

// saveGates writes what keepGates has gathered.
func (c *writeConn) saveGates() error {
	for name, d := range c.unsaved {
		text, err := encodeGates(d)
		if err != nil {
			return err
		}
		const write = `INSERT INTO destinations (name, epoch, rev, gates) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (name) DO UPDATE SET rev = excluded.rev, gates = excluded.gates`
		if _, err := c.exec(write, name, d.Epoch, d.Rev, text); err != nil {
			return err
		}
		delete(c.unsaved, name)
	}
	return nil
}
