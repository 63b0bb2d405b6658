package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	_ "github.com/mattn/go-sqlite3"
)

// The speed of weir is measured as ratios to two servers that do less. They live
// here, because one of them speaks SQL, and run as processes of their own, like
// weir, so that "make bench" measures all three alike.

// TestMain is one of these servers when BASELINE names it; else it runs the
// tests. A server prints its URL and ends with its standard input.
func TestMain(m *testing.M) {
	name := os.Getenv("BASELINE")
	if name == "" {
		os.Exit(m.Run())
	}
	if err := serveBaseline(name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveBaseline(name string) error {
	var handler http.HandlerFunc
	switch name {
	case "bare":
		handler = bare
	case "commit":
		db, err := openBaseline(os.Getenv("BASELINE_DATABASE"))
		if err != nil {
			return err
		}
		defer db.Close()
		handler = oneCommit(db)
	default:
		return fmt.Errorf("there is no baseline %q", name)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	router := chi.NewRouter()
	router.Post("/hooks/{source}", handler)
	server := &http.Server{Handler: router, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	fmt.Printf("http://%s\n", listener.Addr())
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	defer serving.Wait()
	return server.Close()
}

// bare reads the body and answers.
func bare(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, "cannot read", http.StatusBadRequest)
		return
	}
	fmt.Fprint(w, "{}")
}

// oneCommit stores each event in a transaction of its own, one after the
// other, as durably as weir does.
func oneCommit(db *sql.DB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "cannot read", http.StatusBadRequest)
			return
		}
		key := r.Header.Get("X-GitHub-Delivery")
		const insert = `INSERT INTO events (key, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING`
		if _, err := db.ExecContext(r.Context(), insert, key, body); err != nil {
			http.Error(w, "cannot store", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "{}")
	}
}

func openBaseline(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	const schema = `CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, key TEXT UNIQUE, body BLOB) STRICT`
	if _, err := db.ExecContext(context.Background(), schema); err != nil {
		return nil, fmt.Errorf("preparing %s: %w", path, err)
	}
	return db, nil
}

func TestBaselineStoresEachKeyOnce(t *testing.T) {
	db, err := openBaseline(t.TempDir() + "/baseline.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	handler := oneCommit(db)
	for _, key := range []string{"a", "a", "b"} {
		r := httptest.NewRequest(http.MethodPost, "/hooks/github", strings.NewReader("{}"))
		r.Header.Set("X-GitHub-Delivery", key)
		w := httptest.NewRecorder()
		if handler(w, r); w.Code != http.StatusOK {
			t.Fatalf("key %s: %d", key, w.Code)
		}
	}
	var n int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM events`).Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows, %v: want 2", n, err)
	}
}
