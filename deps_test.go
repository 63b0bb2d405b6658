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
func within(path string, trees ...string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool {
		return path == tree || strings.HasPrefix(path, tree+"/")
	})
}

// wall is something that only some packages may reach.
type wall struct {
	what string
	// trees are the packages that may reach it, with all that lies below them;
	// packages those that may by themselves. What lies inside may, too.
	trees    []string
	packages []string
	reason   string
}

// above are the packages in which the others are brought together; aboveConfig
// are those of them that know the settings.
var (
	above       = []string{"weir", "weir/cli", "weir/cli/demo", "weir/cli/client", "weir/cli/explain", "weir/service", "weir/service/alert", "weir/service/metrics"}
	aboveConfig = []string{"weir", "weir/cli", "weir/cli/demo", "weir/service"}
)

var walls = []wall{
	{"database/sql", []string{"weir/store"}, aboveConfig, "SQL stays behind the store, so that another engine can take its place"},
	{"github.com/mattn/go-sqlite3", []string{"weir/store"}, aboveConfig, "the engine is cgo; the other packages build and test without a C compiler"},
	{"github.com/go-chi/httprate", []string{"weir/ratelimit"}, above, "httprate has defaults that trust strangers' headers; ratelimit wraps them once"},
	{"github.com/kelseyhightower/envconfig", []string{"weir/config"}, aboveConfig, "settings are read and checked in one place"},
	{"github.com/alecthomas/kong", nil, []string{"weir", "weir/cli"}, "commands are declared in one place, and nothing below knows how it was called"},
	{"github.com/coreos/go-systemd", nil, []string{"weir"}, "sockets come from the real environment, which only main sees"},
	{"weir/store/sqlite", nil, aboveConfig, "only the service and backup name an engine"},
	{"weir/handler", nil, above, "packages are connected in service"},
	{"weir/ratelimit", nil, slices.Concat(above, []string{"weir/config"}), "packages are connected in service"},
	{"weir/dashboard", nil, above, "packages are connected in service"},
	{"weir/outbound", nil, slices.Concat(above, []string{"weir/config"}), "outbound reads answers and dispatch decides; service brings them together"},
	{"weir/dispatch", nil, above, "outbound reads answers and dispatch decides; service brings them together"},
	{"weir/signature", []string{"weir/handler", "weir/config"}, above, "only receiving, checking settings and sending a sample need signatures"},
	{"weir/flaky", nil, []string{"weir", "weir/cli", "weir/cli/demo"}, "the scripted downstream is no part of the service"},
	{"weir/config", nil, aboveConfig, "packages get what they need as arguments, not as settings"},
	{"weir/service", []string{"weir/service"}, []string{"weir", "weir/cli", "weir/cli/demo"}, "nothing below the service knows it"},
	{"weir/cli", []string{"weir/cli"}, []string{"weir"}, "nothing below the commands knows them"},
	{"weir/internal/memorynet", nil, nil, "it is for tests"},
	{"testing", nil, []string{"weir/store/storetest"}, "tests stay out of the program"},
}

// holds reports whether a package stands behind the wall: of ours also those
// below it. database/sql/driver, for one, is not behind database/sql: google/uuid
// implements its interfaces without reaching any database.
func (w wall) holds(path string) bool {
	return path == w.what || (within(w.what, "weir") && within(path, w.what))
}

// mayPass reports whether a package stands on the allowed side of the wall.
func (w wall) mayPass(path string) bool {
	return within(path, w.trees...) || slices.Contains(w.packages, path) || w.holds(path)
}

func TestOnlyThePackagesThatMayReachBehindAWallDo(t *testing.T) {
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

// The tests of a package keep to the same walls, by what they import themselves.
func TestTestsKeepToTheWallsToo(t *testing.T) {
	for _, p := range goList(t, "./...") {
		for _, w := range walls {
			if w.what == "testing" || w.what == "weir/internal/memorynet" || w.mayPass(p.ImportPath) || within(p.ImportPath, "weir/e2e") {
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

func TestAllButServiceCliAndStoreTestWithoutCgo(t *testing.T) {
	for _, p := range goList(t, "-deps", "-test", "./handler", "./outbound", "./dispatch", "./dashboard", "./ratelimit", "./config", "./service/alert", "./service/metrics") {
		if !p.Standard && len(p.CgoFiles) > 0 {
			t.Errorf("a package below the service, or its tests, reach %s: only the store, what connects it and the commands need a C compiler", p.ImportPath)
		}
	}
}

// Every package that a wall names must exist: a rule about one that was renamed
// would hold forever.
func TestEveryPackageOfTheWallsExists(t *testing.T) {
	var existing []string
	for _, p := range goList(t, "./...") {
		existing = append(existing, p.ImportPath)
	}
	for _, w := range walls {
		for _, named := range slices.Concat(w.trees, w.packages, []string{w.what}) {
			if within(named, "weir") && !slices.Contains(existing, named) && named != "weir/store" {
				t.Errorf("a wall names %s, and there is no such package", named)
			}
		}
	}
}
