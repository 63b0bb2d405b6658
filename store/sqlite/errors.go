package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"

	"weir/webhook"
)

// rejection reports whether err is an answer to the caller and not a fault: the
// operation looked, decided, and wrote nothing.
func rejection(err error) bool {
	return errors.Is(err, webhook.ErrNotFound) || errors.Is(err, webhook.ErrState) ||
		errors.Is(err, webhook.ErrFenced) || errors.Is(err, webhook.ErrFull)
}

// transient reports whether err tells about the disk or about another process,
// and not about what was asked: every operation would meet it, and the same
// may be asked again later.
func transient(err error) bool {
	if errors.Is(err, errMoved) {
		return true
	}
	fault, ok := errors.AsType[sqlite3.Error](err)
	if !ok {
		return false
	}
	switch fault.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrFull, sqlite3.ErrIoErr,
		sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrPerm,
		sqlite3.ErrNomem, sqlite3.ErrProtocol, sqlite3.ErrInterrupt:
		return true
	}
	return false
}

// fatal reports whether err means that the connection, or the file, can no
// longer be trusted.
func fatal(err error) bool {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return true
	}
	fault, ok := errors.AsType[sqlite3.Error](err)
	return ok && (fault.Code == sqlite3.ErrCorrupt || fault.Code == sqlite3.ErrNotADB ||
		fault.Code == sqlite3.ErrMisuse)
}

// unavailable wraps err so that callers know that asking again is right.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", webhook.ErrUnavailable, err)
}

// isFullDatabase reports whether err says that the volume has no space left.
func isFullDatabase(err error) bool {
	fault, ok := errors.AsType[sqlite3.Error](err)
	return ok && fault.Code == sqlite3.ErrFull
}
