package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

func TestConfigCheck(t *testing.T) {
	var out, warnings bytes.Buffer
	env := Env{Environ: environ(), Stdout: &out, Stderr: &warnings}
	if err := configCommand(context.Background(), env, []string{"--check"}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "ok\n" || !strings.Contains(warnings.String(), "WEIR_API_TOKEN") {
		t.Errorf("printed %q and the warnings %q", out.String(), warnings.String())
	}
	for _, args := range [][]string{{"--check"}, {}} {
		err := configCommand(context.Background(), Env{Stdout: io.Discard, Stderr: io.Discard}, args)
		if status := ExitStatus(err, io.Discard); status != ExitUsage {
			t.Errorf("%v without settings: %v, status %d", args, err, status)
		}
	}
	err := configCommand(context.Background(), Env{Environ: environ(), Stdout: io.Discard, Stderr: io.Discard}, []string{"--verbose"})
	if status := ExitStatus(err, io.Discard); status != ExitUsage {
		t.Errorf("an unknown argument: %v, status %d", err, status)
	}
}

func TestDemoTakesNoArguments(t *testing.T) {
	err := demoCommand(t.Context(), quietEnv(io.Discard), []string{"fast"})
	if ExitStatus(err, io.Discard) != ExitUsage {
		t.Errorf("got %v", err)
	}
}

func TestHelpRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{{"nonsense"}, {"a", "b"}} {
		err := helpCommand(context.Background(), Env{Stdout: io.Discard}, args)
		if status := ExitStatus(err, io.Discard); status != ExitUsage {
			t.Errorf("%v: status %d", args, status)
		}
	}
}
