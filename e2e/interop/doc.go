// Package interop has tests only: the senders' own libraries from npm verify
// what weir signs and sign what weir verifies, and they stand behind a running
// weir, as in an application. The tests have the build tag interop, because they
// need Node and a registry: run them with "make interop".
//
// The libraries run in one Node process (testdata/libraries.mjs), which is asked
// over its standard input: a line of JSON for a question, and one for its answer.
package interop
