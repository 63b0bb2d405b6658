package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// listed is what "go list" tells of a package.
type listed struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
	CgoFiles     []string
}

// goList asks the go command about packages, and is never empty.
func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	const fields = "-json=ImportPath,Standard,Imports,TestImports,XTestImports,Deps,CgoFiles"
	command := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", fields}, args...)...)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	packages := decodeList(t, out)
	if err := command.Wait(); err != nil || len(packages) == 0 {
		t.Fatalf("go list %v: %d packages, %v", args, len(packages), err)
	}
	return packages
}

func decodeList(t *testing.T, from io.Reader) []listed {
	t.Helper()
	var packages []listed
	for decoder := json.NewDecoder(from); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// within reports whether a package is, or lies below, one of these.
func within(path string, rooms ...string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool {
		return path == room || strings.HasPrefix(path, room+"/")
	})
}

// wall is something that only some packages may reach.
type wall struct {
	// what may be reached only from the packages of from.
	what   string
	from   []string
	reason string
}

var walls = []wall{
	{"database/sql", []string{"weir", "weir/store"}, "SQL stays behind the store, so that another engine can take its place"},
	{"github.com/mattn/go-sqlite3", []string{"weir", "weir/store"}, "the engine is cgo; the other rooms build and test without a C compiler"},
	{"github.com/go-chi/httprate", []string{"weir", "weir/ratelimit"}, "httprate has defaults that trust strangers' headers; ratelimit wraps them once"},
	{"github.com/kelseyhightower/envconfig", []string{"weir"}, "settings are read and checked in one place"},
	{"weir/store", []string{"weir", "weir/store"}, "rooms ask for what they need by interfaces of their own"},
	{"weir/handler", []string{"weir", "weir/handler"}, "rooms are wired in main"},
	{"weir/ratelimit", []string{"weir", "weir/ratelimit"}, "rooms are wired in main"},
	{"weir/dashboard", []string{"weir", "weir/dashboard"}, "rooms are wired in main"},
	{"weir/outbound", []string{"weir", "weir/outbound"}, "outbound reads answers and dispatch decides; main brings them together"},
	{"weir/dispatch", []string{"weir", "weir/dispatch"}, "outbound reads answers and dispatch decides; main brings them together"},
	{"weir/signature", []string{"weir", "weir/signature", "weir/handler"}, "only receiving and sending a sample need signatures"},
	{"weir/flaky", []string{"weir", "weir/flaky"}, "the scripted downstream is no part of the service"},
	{"testing", []string{"weir/store/storetest"}, "tests stay out of the program"},
}

// holds reports whether a package stands behind the wall: of ours also those
// below it. database/sql/driver, for one, is not behind database/sql: google/uuid
// implements its interfaces without reaching any database.
func (w wall) holds(path string) bool {
	return path == w.what || (within(w.what, "weir") && within(path, w.what))
}

// mayPass reports whether a package stands on the allowed side of the wall.
// Main alone is "weir": the rooms below it are not meant by its name.
func (w wall) mayPass(path string) bool {
	return slices.ContainsFunc(w.from, func(room string) bool {
		return path == room || (room != "weir" && within(path, room))
	})
}

func TestOnlyTheRoomsThatMayReachBehindAWallDo(t *testing.T) {
	for _, p := range goList(t, "./...") {
		for _, w := range walls {
			if w.mayPass(p.ImportPath) {
				continue
			}
			for _, dep := range p.Deps {
				if w.holds(dep) {
					t.Errorf("%s reaches %s: %s", p.ImportPath, dep, w.reason)
				}
			}
		}
	}
}

// The tests of a room keep to the same walls, by what they import themselves.
func TestTestsKeepToTheWallsToo(t *testing.T) {
	for _, p := range goList(t, "./...") {
		for _, w := range walls {
			if w.what == "testing" || w.mayPass(p.ImportPath) {
				continue
			}
			for _, dep := range slices.Concat(p.TestImports, p.XTestImports) {
				if w.holds(dep) && dep != "weir/flaky" {
					t.Errorf("the tests of %s import %s: %s", p.ImportPath, dep, w.reason)
				}
			}
		}
	}
}

func TestWebhookAndSignatureImportTheStandardLibraryOnly(t *testing.T) {
	for _, p := range goList(t, "-deps", "./webhook", "./signature") {
		if !p.Standard && !within(p.ImportPath, "weir/webhook", "weir/signature") {
			t.Errorf("webhook or signature reaches %s: whoever reads the rules of a scheme shall need nothing else", p.ImportPath)
		}
	}
}

func TestHandlerOutboundAndDispatchTestWithoutCgo(t *testing.T) {
	for _, p := range goList(t, "-deps", "-test", "./handler", "./outbound", "./dispatch") {
		if !p.Standard && len(p.CgoFiles) > 0 {
			t.Errorf("handler, outbound or dispatch, or their tests, reach %s: they shall build without a C compiler", p.ImportPath)
		}
	}
}

// Every room that a wall names must be there: a rule about a room that was
// renamed would hold for ever.
func TestEveryRoomOfTheWallsExists(t *testing.T) {
	var rooms []string
	for _, p := range goList(t, "./...") {
		rooms = append(rooms, p.ImportPath)
	}
	for _, w := range walls {
		for _, room := range append(w.from, w.what) {
			if within(room, "weir") && !slices.Contains(rooms, room) {
				t.Errorf("a wall names %s, and there is no such package", room)
			}
		}
	}
}
