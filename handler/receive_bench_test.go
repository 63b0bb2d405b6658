package handler

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"

	"weir/webhook"
)

// sink is an Intake that stores nothing, to measure what is around it.
type sink struct{}

func (sink) Accept(_ context.Context, arrival webhook.Arrival) (webhook.Receipt, error) {
	return webhook.Receipt{ID: arrival.Event.ID, Result: webhook.ResultAccepted}, nil
}

// BenchmarkReceive compares the receive path with a bare handler that reads
// the body and answers.
func BenchmarkReceive(b *testing.B) {
	bare := chi.NewRouter()
	bare.Post("/hooks/{source}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write([]byte("{}"))
	})
	weir := New(Config{
		Sources: map[string]Source{"github": {Verifier: signed{}, To: []string{"app"}}},
		Intake:  sink{},
		Log:     slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	body := bytes.Repeat([]byte("x"), 1024)
	for name, handler := range map[string]http.Handler{"bare": bare, "weir": weir} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				request := httptest.NewRequest(http.MethodPost, "/hooks/github", bytes.NewReader(body))
				request.Header.Set("X-Signature", "valid")
				handler.ServeHTTP(httptest.NewRecorder(), request)
			}
		})
	}
}
