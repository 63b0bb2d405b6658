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
	if err := Run(context.Background(), env, []string{"config", "--check"}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "ok\n" || !strings.Contains(warnings.String(), "WEIR_API_TOKEN") {
		t.Errorf("printed %q and the warnings %q", out.String(), warnings.String())
	}
	for _, args := range [][]string{{"--check"}, {}} {
		err := Run(context.Background(), Env{Stdout: io.Discard, Stderr: io.Discard}, append([]string{"config"}, args...))
		if status := ExitStatus(err, io.Discard); status != ExitUsage {
			t.Errorf("%v without settings: %v, status %d", args, err, status)
		}
	}
	err := Run(context.Background(), Env{Environ: environ(), Stdout: io.Discard, Stderr: io.Discard}, []string{"config", "--verbose"})
	if status := ExitStatus(err, io.Discard); status != ExitUsage {
		t.Errorf("an unknown argument: %v, status %d", err, status)
	}
}

func TestDemoTakesNoArguments(t *testing.T) {
	err := Run(t.Context(), quietEnv(io.Discard), []string{"demo", "fast"})
	if ExitStatus(err, io.Discard) != ExitUsage {
		t.Errorf("got %v", err)
	}
}

func TestHelpRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{{"nonsense"}, {"a", "b"}} {
		err := Run(context.Background(), Env{Stdout: io.Discard}, append([]string{"help"}, args...))
		if status := ExitStatus(err, io.Discard); status != ExitUsage {
			t.Errorf("%v: status %d", args, status)
		}
	}
}
