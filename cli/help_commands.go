package cli

import (
	"fmt"
	"io"
	"strings"
)

// printCommandHelp writes what there is to know about one command.
func printCommandHelp(out io.Writer, name string) error {
	for _, c := range Commands() {
		if c.Name != name {
			continue
		}
		text := fmt.Sprintf("weir %s: %s\n", c.Name, c.summary)
		if usage := usageOf(name); usage != "" {
			text += "\n" + usage
		}
		_, err := io.WriteString(out, text)
		return err
	}
	return usagef("there is no command %q; weir help lists them", name)
}

// usageOf returns the details of a command; "" where its line says it all.
func usageOf(name string) string {
	return map[string]string{
		"serve":       serveUsage,
		"demo":        demoUsage,
		"flaky":       flakyUsage(),
		"send":        sendUsage,
		"status":      statusUsage,
		"events":      eventsUsage,
		"redeliver":   redeliverUsage,
		"config":      configUsage,
		"explain":     explainUsage,
		"backup":      backupUsage,
		"healthcheck": healthcheckUsage,
		"help":        helpUsage,
	}[name]
}

const serveUsage = `usage: weir [serve]

Takes everything from the environment; weir help lists the settings, weir config
shows those in force. SIGTERM or SIGINT stops it: requests that are out may end,
the rest is sent after the next start. A second signal stops it at once.
Exit status: 0 stopped, 1 it could not start or go on, 2 wrong settings.
`

const configUsage = `usage: weir config [--check]

Prints every setting that is in force, with secrets masked. With --check it only
says whether they are right.
Exit status: 0 right, 2 wrong: every problem is named.
`

const healthcheckUsage = `usage: weir healthcheck

Asks the service at WEIR_ADDR (or PORT) on this machine, for images without a
client of HTTP. Exit status: 0 it can accept, 1 it cannot.
`

const helpUsage = `usage: weir help [COMMAND]
       weir help --markdown | --env

Without a word it lists commands and settings; with --markdown the settings as a
table, with --env as a file of the environment.
`

// flakyUsage lists the flags of weir flaky.
func flakyUsage() string {
	var text strings.Builder
	text.WriteString("usage: weir flaky [flags]\n\n")
	newFlakyFlags(&text).set.PrintDefaults()
	return text.String()
}

const demoUsage = `usage: weir demo [--stay]

Needs no settings and no network: everything runs on this machine's loopback,
with a database in a temporary folder. It ends by itself in half a minute with
a table, and with status 1 if a webhook was lost.

  --stay   keep running afterwards, with a delivery that waits and one that is
           dead, and print the address and the token of the dashboard
`

const sendUsage = `usage: weir send SOURCE [FILE] [flags]

Signs an event as the sender of SOURCE would, with the settings that the service
runs with (scheme and secret of the source), posts it to WEIR_URL, and prints
what becomes of it. Without FILE it is a sample event; FILE is the body of
another one, and - is standard input. With WEIR_API_TOKEN it also follows the
deliveries.

  --id ID          the sender's own id of the event; else a new one
  --url URL        where the service is, instead of WEIR_URL
  --header 'N: V'  a header to add or replace, such as 'X-GitHub-Event: push';
                   may be given several times
  --count N        send so many different events (1)
  --repeat N       send each so many more times, as senders do that have not
                   seen the answer (0)
  --wait LENGTH    how long to follow the deliveries (10s)

Exit status: 0 stored (and delivered or waiting), 1 refused or dead, 2 usage.
`

const statusUsage = `usage: weir status [ID|KEY]

Without an argument: every destination with its state and, where it is held,
why, since when, and when the next request goes; what is queued; every source
with when it was last heard of; the traffic of the last hour.
With the id of an event, or the sender's own id of it (the key): everything that
happened to it, each attempt with what was said and why the next time was chosen.

Asks the service at WEIR_URL with WEIR_API_TOKEN.
`

const eventsUsage = `usage: weir events [flags]

Lists events, newest first, with the state of their deliveries.

  --source NAME       of this source
  --key KEY           with this id of the sender
  --state STATE       with a delivery in this state: pending, delivered, dead
  --destination NAME  with a delivery to this destination
  --since, --until T  received from T on, or before T: a time such as
                      2026-11-30T03:27:11Z, or how long ago, such as 90m
  --limit N           at most so many (50)
  --json              one JSON object for each event and line, as the API gives it
  --follow            go on with new events as they come in, oldest first

Asks the service at WEIR_URL with WEIR_API_TOKEN.
`

const redeliverUsage = `usage: weir redeliver ID DESTINATION [--force]
       weir redeliver --filter NAME=VALUE,… [--force] [--yes]

Sends dead deliveries again: the same event id, the same bytes, a fresh
allowance of attempts and a fresh age. The first form sends one. The second
counts what matches, and sends it with --yes; without a state in the filter it
is what is dead. The gates of the destination keep the pace.

  --filter F  state, reason, waiting_for, destination, source, since, until:
              state=dead,reason=rejected,destination=app
  --force     also send what was delivered, or was too large
  --yes       do it

Asks the service at WEIR_URL with WEIR_API_TOKEN.
`

const explainUsage = `usage: weir explain request|response|wait [FILE]

Reads JSON from FILE or standard input, one object or an array of them, and
prints a line of JSON for each, by the code that serves.

  request   a signed request: {"name","scheme","secret","method","headers","body",…}
            → verdict, reason, delivery id; secrets are counted from 1 here,
            the current one first, and from 0 in the log and the metrics
  response  an answer of a downstream: {"id","status","headers","body"}
            → class, wait, pace, the rule that decided, evidence
  wait      a field that says when to come back: {"id","header","value",…}
            → milliseconds; "invalid" also where "header" is missing, which
            says how the value is read

It is the way to report an answer that was misread: see docs/outcomes.md.
`

const backupUsage = `usage: weir backup PATH

Copies the database WEIR_DATABASE to PATH, also while the service runs: the copy
is whole and consistent. To restore it, stop the service and put the copy in the
place of the database, without the -wal, -shm and -departures files of the old
one.
`
