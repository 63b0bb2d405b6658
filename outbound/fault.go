package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"weir/webhook"
)

// fault is a kind of connection fault: the name of its rule, and whether it
// heals on the slow schedule only.
type fault struct {
	rule string
	pace schedule
}

// schedule tells which faults do not heal in seconds.
type schedule int

const (
	normal schedule = iota
	slow
)

// phaseError is a timeout together with the phase that it hit.
type phaseError struct {
	phase phase
	error
}

// Unwrap returns the timeout.
func (e phaseError) Unwrap() error { return e.error }

// explain adds the phase to a timeout.
func (p *progress) explain(err error) error {
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return phaseError{phase(p.phase.Load()), err}
	}
	return err
}

// timeouts names the fault of each phase.
func (p phase) timeout() fault {
	switch p {
	case resolving:
		return fault{RuleDNS, slow}
	case shaking:
		return fault{RuleTLSTimeout, normal}
	case writing:
		return fault{RuleWriteTimeout, normal}
	case answering:
		return fault{RuleHeaderTimeout, normal}
	case waiting, connecting:
	}
	return fault{RuleConnectTimeout, normal}
}

// faultOf classifies why no answer came: by the error's type where it has
// one, else by its text (a transport error that was written down).
func faultOf(err error) fault {
	for _, classify := range [...]func(error) (fault, bool){
		nameFault, certificateFault, timeoutFault, systemFault,
	} {
		if f, ok := classify(err); ok {
			return f
		}
	}
	return textFault(strings.ToLower(err.Error()))
}

func nameFault(err error) (fault, bool) {
	return fault{RuleDNS, slow}, errors.As(err, new(*net.DNSError))
}

func certificateFault(err error) (fault, bool) {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return fault{RuleTLSAuthority, slow}, true
	case errors.As(err, new(x509.HostnameError)):
		return fault{RuleTLSName, slow}, true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fault{RuleTLSExpired, slow}, true
	case errors.As(err, &invalid), errors.As(err, new(*tls.CertificateVerificationError)):
		return fault{RuleTLSCertificate, slow}, true
	case errors.As(err, new(tls.AlertError)), errors.As(err, new(tls.RecordHeaderError)):
		return fault{RuleTLSHandshake, slow}, true
	}
	return fault{}, false
}

func timeoutFault(err error) (fault, bool) {
	var at phaseError
	if errors.As(err, &at) {
		return at.phase.timeout(), true
	}
	return fault{}, false
}

func systemFault(err error) (fault, bool) {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault{RuleRefused, normal}, true
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fault{RuleUnreachable, normal}, true
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fault{RuleReset, normal}, true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault{RuleEOF, normal}, true
	}
	return fault{}, false
}

// textFaults are the words of transport errors, the most telling first.
var textFaults = [...]struct {
	words string
	fault
}{
	{"no such host", fault{RuleDNS, slow}},
	{"server misbehaving", fault{RuleDNS, slow}},
	{"name resolution", fault{RuleDNS, slow}},
	{"unknown authority", fault{RuleTLSAuthority, slow}},
	{"self-signed", fault{RuleTLSAuthority, slow}},
	{"has expired or is not yet valid", fault{RuleTLSExpired, slow}},
	{"certificate is valid for", fault{RuleTLSName, slow}},
	{"certificate is not valid for", fault{RuleTLSName, slow}},
	{"x509:", fault{RuleTLSCertificate, slow}},
	{"tls handshake timeout", fault{RuleTLSTimeout, normal}},
	{"http response to https client", fault{RuleTLSHandshake, slow}},
	{"timeout awaiting response headers", fault{RuleHeaderTimeout, normal}},
	{"response headers exceeded", fault{RuleHeaderTooLarge, normal}},
	{"response header list larger", fault{RuleHeaderTooLarge, normal}},
	{"connection refused", fault{RuleRefused, normal}},
	{"no route to host", fault{RuleUnreachable, normal}},
	{"network is unreachable", fault{RuleUnreachable, normal}},
	{"connection reset", fault{RuleReset, normal}},
	{"broken pipe", fault{RuleReset, normal}},
	{"malformed http", fault{RuleMalformed, normal}},
	{"malformed mime", fault{RuleMalformed, normal}},
	{"1xx informational", fault{RuleMalformed, normal}},
	{"http2:", fault{RuleHTTP2, normal}},
	{"stream error:", fault{RuleHTTP2, normal}},
	{"remote error: tls", fault{RuleTLSHandshake, slow}},
	{"tls:", fault{RuleTLSHandshake, slow}},
	{"dial tcp", fault{RuleConnectTimeout, normal}},
	{"connect: ", fault{RuleConnectTimeout, normal}},
	{"deadline exceeded", fault{RuleHeaderTimeout, normal}},
	{"timeout", fault{RuleHeaderTimeout, normal}},
	{"timed out", fault{RuleHeaderTimeout, normal}},
	{"lookup ", fault{RuleDNS, slow}},
	{"server closed idle connection", fault{RuleEOF, normal}},
	{"eof", fault{RuleEOF, normal}},
}

// textFault classifies by the words of the message, in lower case.
func textFault(text string) fault {
	for _, known := range textFaults {
		if !strings.Contains(text, known.words) {
			continue
		}
		if known.rule == RuleConnectTimeout && !strings.Contains(text, "time") {
			continue
		}
		return known.fault
	}
	return fault{RuleNetwork, normal}
}

// readFault makes the answer of a request that got none.
func readFault(r Response) webhook.Answer {
	f := faultOf(r.Err)
	return webhook.Answer{
		Outcome: webhook.OutcomeNetwork,
		Rule:    f.rule,
		Slow:    f.pace == slow,
		Raced:   r.raced,
		Evidence: webhook.Evidence{
			Headers: map[string]string{},
			Note:    r.Secrets.Redact(withoutQueries(r.Err.Error()), maxNote),
		},
	}
}
