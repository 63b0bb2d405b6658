package sqlite_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// bareParameter is a comparison or a limit that shows SQLite a parameter as it
// is; see "Statements" in the package's documentation.
var bareParameter = regexp.MustCompile(`(?:^.|WHERE|AND|ON)\s*[\w.]* = \?|LIMIT \?`)

func TestNoStatementIsCompiledAnewForItsParameters(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set, statements := token.NewFileSet(), 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			text, ok := node.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				return true
			}
			statements += strings.Count(text.Value, "+?")
			if found := bareParameter.FindString(text.Value); found != "" {
				t.Errorf("%s: %q: write +?", set.Position(text.Pos()), found)
			}
			return true
		})
	}
	if statements == 0 {
		t.Error("no parameter was found")
	}
}
