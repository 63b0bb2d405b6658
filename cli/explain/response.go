package explain

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"weir/outbound"
	"weir/webhook"
)

// responseCase is an answer as testdata/vectors/responses.json describes it.
type responseCase struct {
	ID         string     `json:"id"`
	Status     int        `json:"status"`
	Headers    fieldLines `json:"headers"`
	Body       string     `json:"body"`
	BodyBase64 string     `json:"body_base64"`
	Error      string     `json:"error"`
	Now        *time.Time `json:"now"`
}

// fieldLines are header lines: a list of pairs of name and value, or an object
// as in the cases of requests.
type fieldLines http.Header

// UnmarshalJSON reads either form.
func (l *fieldLines) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(text, []byte("[")) {
		return (*headerLines)(l).UnmarshalJSON(text)
	}
	var pairs [][]string
	if err := json.Unmarshal(text, &pairs); err != nil {
		return err
	}
	lines := http.Header{}
	for _, pair := range pairs {
		if len(pair) != 2 {
			return errors.New("a header line is a pair of name and value")
		}
		lines.Add(pair[0], pair[1])
	}
	*l = fieldLines(lines)
	return nil
}

// responseExplanation is what weir makes of an answer.
type responseExplanation struct {
	ID           string           `json:"id"`
	Class        webhook.Outcome  `json:"class"`
	RetryAfterMS *int64           `json:"retry_after_ms"`
	PaceMS       *int64           `json:"pace_ms"`
	Rule         string           `json:"rule"`
	Presumed     bool             `json:"presumed"`
	Evidence     webhook.Evidence `json:"evidence"`
}

// Response reads answers, as objects, arrays of them or objects with
// the member "cases", and writes one line of JSON for each. Input of another
// form is a usage error.
func Response(in io.Reader, out io.Writer) error {
	return explainEach(in, out, responseCase.explain)
}

// explain reads the answer by the code that serves.
func (c responseCase) explain() (responseExplanation, error) {
	response := outbound.Response{Status: c.Status, Header: http.Header(c.Headers), Body: []byte(c.Body)}
	if c.BodyBase64 != "" {
		body, err := base64.StdEncoding.DecodeString(c.BodyBase64)
		if err != nil {
			return responseExplanation{}, fmt.Errorf("body_base64: %w", err)
		}
		response.Body = body
	}
	if c.Error != "" && c.Status == 0 {
		response.Err = errors.New(c.Error)
	}
	answer := outbound.Read(response, orNow(c.Now))
	explained := responseExplanation{
		ID: c.ID, Class: answer.Outcome, Rule: answer.Rule, Presumed: answer.Presumed, Evidence: answer.Evidence,
	}
	if answer.Hint.Given() {
		explained.RetryAfterMS = new(answer.Hint.Wait.Milliseconds())
	}
	if answer.Pacing.NotBefore > 0 {
		explained.PaceMS = new(answer.Pacing.NotBefore.Milliseconds())
	}
	return explained, nil
}

// waitCase is a value as testdata/vectors/durations.json describes it.
type waitCase struct {
	ID     string     `json:"id"`
	Header string     `json:"header"`
	Value  string     `json:"value"`
	Date   string     `json:"date"`
	Now    *time.Time `json:"now"`
}

// waitExplanation is what weir makes of a value: milliseconds or "invalid".
type waitExplanation struct {
	ID string `json:"id"`
	MS any    `json:"ms"`
}

// Wait reads values that say when to come back, in the forms of
// [explainResponse], and writes one line of JSON for each.
func Wait(in io.Reader, out io.Writer) error {
	return explainEach(in, out, waitCase.explain)
}

// explain reads the value by the code that serves.
func (c waitCase) explain() (waitExplanation, error) {
	base := outbound.Base(http.Header{"Date": {c.Date}}, orNow(c.Now))
	wait, ok := outbound.Wait(c.Header, c.Value, base)
	if !ok {
		return waitExplanation{c.ID, "invalid"}, nil
	}
	return waitExplanation{c.ID, wait.Milliseconds()}, nil
}

// explainEach reads the cases and writes what explain makes of each.
func explainEach[C, E any](in io.Reader, out io.Writer, explain func(C) (E, error)) error {
	cases, err := readCases[C](in)
	if err != nil {
		return ErrInput{fmt.Errorf("reading the cases to explain: %w", err)}
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i, c := range cases {
		explained, err := explain(c)
		if err != nil {
			return ErrInput{fmt.Errorf("explaining case %d: %w", i+1, err)}
		}
		if err := encoder.Encode(explained); err != nil {
			return fmt.Errorf("writing the explanation: %w", err)
		}
	}
	return nil
}

// readCases reads one value after the other: a case, an array of cases, or an
// object that holds them as "cases".
func readCases[C any](in io.Reader) ([]C, error) {
	var all []C
	decoder := json.NewDecoder(in)
	for values := 0; ; values++ {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) && values > 0 {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		cases, err := casesOf[C](raw)
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
}

// casesOf returns the cases of one value.
func casesOf[C any](raw json.RawMessage) ([]C, error) {
	var several []C
	if bytes.HasPrefix(raw, []byte("[")) {
		err := json.Unmarshal(raw, &several)
		return several, err
	}
	var holder struct{ Cases *[]C }
	if err := json.Unmarshal(raw, &holder); err == nil && holder.Cases != nil {
		return *holder.Cases, nil
	}
	var one C
	if err := json.Unmarshal(raw, &one); err != nil {
		return nil, err
	}
	return []C{one}, nil
}

// orNow returns the given moment, or the present one.
func orNow(given *time.Time) time.Time {
	if given != nil {
		return *given
	}
	return time.Now()
}

// ErrInput is a fault of what was given to explain.
type ErrInput struct{ error }

// Unwrap returns what was wrong.
func (e ErrInput) Unwrap() error { return e.error }
