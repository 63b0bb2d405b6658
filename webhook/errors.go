package webhook

import "errors"

// The errors that cross the walls between rooms. Test with errors.Is.
var (
	// ErrNotFound says that no such event, delivery or destination exists.
	ErrNotFound = errors.New("not found")
	// ErrState says that a delivery's state does not allow what was asked.
	ErrState = errors.New("not allowed in this state")
	// ErrFenced says that another owner has taken over the destination; the
	// late one must stop.
	ErrFenced = errors.New("destination has another owner")
	// ErrFull says that the store is at its cap and takes no new event.
	ErrFull = errors.New("store is full")
	// ErrUnavailable says that the store could not commit. What was asked
	// may be asked again.
	ErrUnavailable = errors.New("store is unavailable")
	// ErrDamaged says that a stored body is not the one that was received: it
	// does not have its SHA-256 any more, and is not sent.
	ErrDamaged = errors.New("the stored body has changed since it was received")
	// ErrCursor says that a list's cursor is not one that a list gave out.
	ErrCursor = errors.New("not a cursor of this list")
)
