package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// source is one Go file of the tree.
type source struct {
	path string
	set  *token.FileSet
	file *ast.File
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// suite reports whether the file is a test in all but its name.
func (s source) suite() bool { return s.test() || strings.Contains(s.path, "storetest/") }

// at names a place for a message.
func (s source) at(node ast.Node) token.Position { return s.set.Position(node.Pos()) }

// lines counts the lines of a node.
func (s source) lines(node ast.Node) int {
	return s.set.Position(node.End()).Line - s.set.Position(node.Pos()).Line + 1
}

// sources parses every Go file of the tree.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		all = append(all, source{path: path, set: set, file: file})
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("reading the tree: %d files, %v", len(all), err)
	}
	return all
}

// functions returns the declared functions and methods of a file.
func (s source) functions() []*ast.FuncDecl {
	var found []*ast.FuncDecl
	for _, decl := range s.file.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok {
			found = append(found, function)
		}
	}
	return found
}

func TestFunctionsAreShort(t *testing.T) {
	const longest, median = 80, 15
	var lengths []int
	for _, s := range sources(t) {
		if s.suite() {
			continue
		}
		for _, f := range s.functions() {
			lengths = append(lengths, s.lines(f))
			if n := s.lines(f); n > longest {
				t.Errorf("%s: %s has %d lines, at most %d", s.at(f), f.Name.Name, n, longest)
			}
		}
	}
	slices.Sort(lengths)
	if got := lengths[len(lengths)/2]; got >= median {
		t.Errorf("half of the functions have %d lines or more, want under %d", got, median)
	}
}

// In tests a goroutine may also hand its result over a channel.
func TestNothingRunsBeforeMainOrUnwatched(t *testing.T) {
	for _, s := range sources(t) {
		for _, f := range s.functions() {
			if f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s: init runs before main; construct what is needed", s.at(f))
			}
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if statement, ok := node.(*ast.GoStmt); ok && !s.suite() {
				t.Errorf("%s: nobody waits for this goroutine; use sync.WaitGroup.Go", s.at(statement))
			}
			return true
		})
	}
}

// A package-level variable without a value is there to be changed.
func TestPackagesHaveNoMutableState(t *testing.T) {
	for _, s := range sources(t) {
		for _, decl := range s.file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok || general.Tok != token.VAR || embedded(general) {
				continue
			}
			for _, spec := range general.Specs {
				if value := spec.(*ast.ValueSpec); len(value.Values) == 0 && !s.test() {
					t.Errorf("%s: %s has no value, so something must change it", s.at(value), value.Names[0].Name)
				}
			}
		}
	}
}

// embedded reports whether the compiler fills a variable from a file.
func embedded(decl *ast.GenDecl) bool {
	return decl.Doc != nil && slices.ContainsFunc(decl.Doc.List, func(line *ast.Comment) bool {
		return strings.HasPrefix(line.Text, "//go:embed ")
	})
}

// banned are names of other packages that must not be used, by why not.
var banned = []struct {
	names  []string
	where  func(source) bool
	reason string
}{
	{
		[]string{"middleware.RealIP", "httprate.KeyByRealIP", "httprate.LimitByRealIP"}, always,
		"they believe headers that any stranger can send",
	},
	{
		[]string{"time.Sleep"}, source.suite,
		"a test that sleeps is slow and fails by chance; use testing/synctest or wait for a condition",
	},
	{
		[]string{"t.Skip", "t.Skipf", "t.SkipNow", "b.Skip", "f.Skip"}, source.suite,
		"a test that is skipped proves nothing",
	},
	{
		[]string{"os.Exit", "log.Fatal", "log.Fatalf", "log.Panic"}, outsideMain,
		"only main ends the process, so that everything else can clean up and be tested",
	},
	{
		[]string{"http.ListenAndServe", "http.DefaultServeMux", "http.Handle", "http.HandleFunc"}, always,
		"they share state of the whole process and have no timeouts",
	},
	{
		[]string{"http.DefaultClient", "http.Get", "http.Post"}, program,
		"the default client has no timeout and follows redirects",
	},
	{
		[]string{"bytes.Equal"}, signing,
		"signatures and secrets are compared in constant time",
	},
}

func always(source) bool    { return true }
func program(s source) bool { return !s.suite() }

// outsideMain leaves out main.go, and tests, which may run as a process of
// their own.
func outsideMain(s source) bool { return s.path != "main.go" && !s.test() }
func signing(s source) bool     { return strings.HasPrefix(s.path, "signature/") && !s.test() }

func TestBannedNamesAreNotUsed(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			receiver, ok := selector.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := receiver.Name + "." + selector.Sel.Name
			for _, ban := range banned {
				if slices.Contains(ban.names, name) && ban.where(s) {
					t.Errorf("%s: %s: %s", s.at(selector), name, ban.reason)
				}
			}
			return true
		})
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		folder := filepath.Dir(s.path)
		documented[folder] = documented[folder] || (!s.test() && s.file.Doc != nil)
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("%s: no file has a package comment", folder)
		}
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, decl := range s.file.Decls {
			for _, name := range undocumented(decl) {
				t.Errorf("%s: %s is exported and not documented", s.at(name), name.Name)
			}
		}
	}
}

// undocumented returns the exported names of a declaration that no comment
// stands at. In a group of constants or variables the group's comment will do.
func undocumented(decl ast.Decl) []*ast.Ident {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Doc == nil && decl.Name.IsExported() && exportedReceiver(decl) {
			return []*ast.Ident{decl.Name}
		}
	case *ast.GenDecl:
		if decl.Doc != nil {
			return nil
		}
		var names []*ast.Ident
		for _, spec := range decl.Specs {
			names = append(names, undocumentedSpec(spec)...)
		}
		return names
	}
	return nil
}

func undocumentedSpec(spec ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Doc == nil {
			names = []*ast.Ident{spec.Name}
		}
	case *ast.ValueSpec:
		if spec.Doc == nil && spec.Comment == nil {
			names = spec.Names
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name *ast.Ident) bool { return !name.IsExported() })
}

// exportedReceiver reports whether a function is no method, or one of an
// exported type.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(f.Recv.List[0].Type, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok {
			exported = exported || name.IsExported()
		}
		return true
	})
	return exported
}

func TestFilesAreNamedByWhatTheyHold(t *testing.T) {
	for _, s := range sources(t) {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(s.path), ".go"), "_test")
		if slices.Contains([]string{"util", "utils", "helper", "helpers", "types", "common", "misc"}, name) {
			t.Errorf("%s: the name says nothing", s.path)
		}
	}
}

func TestNoCommentPromisesWorkToCome(t *testing.T) {
	// Put together, so that this file does not hold them itself.
	words := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X:", "not yet " + "implemented"}
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, word := range words {
				if strings.Contains(group.Text(), word) {
					t.Errorf("%s: %q: finish it, or say it in an issue", s.at(group), word)
				}
			}
		}
	}
}

// TestFieldsOfLinesAreNamedInOnePlace: no call of a logger has a name of its
// own, so that a field means the same wherever it stands.
func TestFieldsOfLinesAreNamedInOnePlace(t *testing.T) {
	methods := map[string]int{ // where the pairs begin
		"Debug": 1, "Info": 1, "Warn": 1, "Error": 1,
		"DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2,
	}
	makers := map[string]bool{"String": true, "Int": true, "Int64": true, "Any": true, "Duration": true, "Time": true, "Bool": true, "Float64": true}
	calls := 0
	for _, s := range sources(t) {
		if s.suite() || s.path == "service/logging_start.go" {
			continue // settings are named like their variables
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			receiver, _ := selector.X.(*ast.Ident)
			if receiver != nil && receiver.Name == "slog" && makers[selector.Sel.Name] && literal(call.Args[0]) {
				t.Errorf("%s: a field without a name in webhook/logfields.go", s.at(call))
			}
			if first, logs := methods[selector.Sel.Name]; logs && loggers(selector.X) {
				calls++
				for i := first; i < len(call.Args); i += 2 {
					if literal(call.Args[i]) {
						t.Errorf("%s: a field without a name in webhook/logfields.go", s.at(call.Args[i]))
					}
				}
			}
			return true
		})
	}
	if calls < 15 {
		t.Errorf("only %d calls of loggers were found", calls)
	}
}

// literal reports whether an expression is a string that stands there.
func literal(e ast.Expr) bool {
	basic, ok := e.(*ast.BasicLit)
	return ok && basic.Kind == token.STRING
}

// loggers reports whether an expression is called like a logger.
func loggers(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.EqualFold(e.Name, "log")
	case *ast.SelectorExpr:
		return strings.EqualFold(e.Sel.Name, "log")
	}
	return false
}
