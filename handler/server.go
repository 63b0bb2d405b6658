package handler

import (
	"log/slog"
	"net/http"
	"time"
)

// The bounds of a connection. A body has its own, Config.BodyTimeout, which
// must lie below readTimeout.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 60 * time.Second
	writeTimeout  = 90 * time.Second
	idleTimeout   = 75 * time.Second
	maxHeader     = 32 << 10
)

// NewServer returns a server in which no client can hold a connection for
// ever: a request's header may take 10 s and 32 KiB (431 beyond), all of a
// request 60 s, its answer 90 s, and the pause before the next request 75 s.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		// net/http allows another 4 KiB on top.
		MaxHeaderBytes: maxHeader - 4<<10,
		// What net/http has to say is about clients, and they are many.
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
