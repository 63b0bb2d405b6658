//go:build interop

package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// packages are the senders' libraries, of versions that run on Node 20.
var packages = []string{
	"stripe@23.2.0", "svix@1.99.1", "standardwebhooks@1.3.0", "openai@6.49.0", "resend@6.38.0",
	"@clerk/backend@3.25.0", "@slack/bolt@5.1.0", "@hubspot/api-client@13.5.0",
	"@paddle/paddle-node-sdk@3.10.0", "@octokit/webhooks@14.2.0", "twilio@6.3.1",
	"@shopify/shopify-api@13.1.0", "square@46.0.0", "discord-interactions@4.4.0",
	"@linear/sdk@98.0.0", "razorpay@2.9.8", "@sendgrid/eventwebhook@8.0.0",
}

// libraries is the Node process that has them; the tests share it.
var libraries *process

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run installs the libraries into a folder that is thrown away, starts Node and
// runs the tests. Without a registry nothing is run, and that is said.
func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "weir-interop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if err := install(folder); errors.Is(err, errUnreachable) {
		fmt.Println("interop skipped: npm unreachable")
		return 0
	} else if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	libraries, err = start(filepath.Join(folder, "node_modules"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer libraries.stop()
	weir, err = build(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// errUnreachable means that no registry answers.
var errUnreachable = errors.New("npm is unreachable")

// network matches how npm tells that it reached no registry.
var network = regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|FETCH_ERROR`)

func install(folder string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return errUnreachable
	}
	// A short question first: npm itself waits for minutes.
	quick, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if exec.CommandContext(quick, "npm", "view", packages[0], "version", "--fetch-retries=0").Run() != nil {
		return errUnreachable
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	args := []string{
		"install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts",
		"--fetch-retries=1", "--fetch-timeout=30000", "--loglevel=error",
	}
	out, err := exec.CommandContext(ctx, "npm", append(args, packages...)...).CombinedOutput()
	switch {
	case err == nil:
		return nil
	case network.Match(out):
		return errUnreachable
	}
	return fmt.Errorf("npm install: %w\n%s", err, out)
}

// question is what the Node process is asked.
type question struct {
	Library string            `json:"library"`
	Op      string            `json:"op"`
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body"`
	URL     string            `json:"url"`
	ID      string            `json:"id"`
	Time    int64             `json:"time"`
}

type reply struct {
	OK      bool
	Error   string
	Headers map[string]string
}

// process is a Node process that answers one question at a time.
type process struct {
	mu      sync.Mutex
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func start(modules string) (*process, error) {
	p := &process{command: exec.Command("node", "testdata/libraries.mjs")}
	p.command.Env = append(os.Environ(), "NODE_PATH="+modules)
	p.command.Stderr = os.Stderr
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.command.Start()
}

func (p *process) stop() {
	p.in.Close()
	_ = p.command.Wait()
}

// ask puts one question. The error is that of the process, not of the library.
func (p *process) ask(q question) (reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line, err := json.Marshal(q)
	if err != nil {
		return reply{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return reply{}, fmt.Errorf("asking Node: %w", err)
	}
	text, err := p.out.ReadBytes('\n')
	if err != nil {
		return reply{}, fmt.Errorf("Node does not answer: %w", err)
	}
	var r reply
	return r, json.Unmarshal(text, &r)
}

// accepts asks a library about a request; the error says why it refuses.
func accepts(library, secret, url string, header http.Header, body []byte) error {
	r, err := libraries.ask(question{
		Library: library, Op: "verify", Secret: secret, Headers: lower(header), Body: body, URL: url,
	})
	if err == nil && !r.OK {
		err = errors.New(r.Error)
	}
	return err
}

// lower gives headers as Node does: names in lower case, one value each.
func lower(header http.Header) map[string]string {
	plain := map[string]string{}
	for name, values := range header {
		plain[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return plain
}
