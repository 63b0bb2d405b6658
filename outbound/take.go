package outbound

import (
	"context"
	"io"
	"net/http"
	"time"
)

// take reads the body of an answer: at most [maxBody], and only for a short
// time, since the status has decided the most already. It ends the connection
// where the body goes on, and gives it back where it does not.
func (c *Client) take(got *http.Response, cancel context.CancelFunc) Response {
	response := Response{Status: got.StatusCode, Header: got.Header, Secrets: c.secrets}
	defer got.Body.Close()
	if got.StatusCode < 200 {
		// The body of a 101 is the connection itself.
		return response
	}
	patience := refusedBody
	if got.StatusCode < 300 {
		patience = acceptedBody
	}
	late := time.AfterFunc(patience, cancel)
	defer late.Stop()
	// One byte more than is kept lets the end of a full body be seen.
	body, err := io.ReadAll(io.LimitReader(got.Body, maxBody+1))
	switch {
	case err != nil:
		response.Cut = "the body broke off"
	case len(body) > maxBody:
		body, response.Cut = body[:maxBody], "the body goes on"
	}
	response.Body = body
	return response
}
