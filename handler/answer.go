package handler

import (
	"maps"
	"net/http"
	"strconv"

	"weir/signature"
	"weir/webhook"
)

// refusal says how each result that is not a success is answered. Results
// that differ only in what a check has found are answered alike, so that the
// answer teaches a stranger nothing.
func refusal(result webhook.Result) fault {
	switch result {
	case webhook.ResultUnknownSource:
		return fault{http.StatusNotFound, Code(webhook.ResultUnknownSource), "No source has this name. The last part of the path names it."}
	case webhook.ResultBadSignature, webhook.ResultStale:
		return fault{http.StatusUnauthorized, Code(webhook.ResultBadSignature),
			"The request could not be verified. The operator finds the reason in the log under this request id."}
	case webhook.ResultMalformed:
		return fault{http.StatusBadRequest, Code(result), "The body did not arrive whole, or a header that may come once came twice."}
	case webhook.ResultKeyConflict:
		return fault{http.StatusUnprocessableEntity, Code(result), "This key was used before with another body."}
	case webhook.ResultTooLarge:
		return fault{http.StatusRequestEntityTooLarge, Code(result), "The body is larger than this source takes."}
	case webhook.ResultUnsupported:
		return fault{http.StatusUnsupportedMediaType, Code(result), "This content encoding is not supported."}
	case webhook.ResultThrottled:
		return fault{http.StatusTooManyRequests, Code(result), "Too many requests. Retry-After says when to come back."}
	case webhook.ResultUnavailable:
		return fault{http.StatusServiceUnavailable, Code(result), "Not stored. Please send it again."}
	default:
		return fault{http.StatusInternalServerError, CodeInternal, ""}
	}
}

// answer writes the answer of a receive path.
func answer(w http.ResponseWriter, source Source, out outcome) {
	switch {
	case out.reply != nil:
		writeReply(w, out.reply)
	case out.result == webhook.ResultAccepted, out.result == webhook.ResultDuplicate:
		writeReceipt(w, source, out.receipt)
	case out.result == webhook.ResultChallenge:
		writeReply(w, &signature.Challenge{Status: http.StatusOK})
	default:
		writeProblem(w, refusal(out.result))
	}
}

// writeReply writes a prepared answer. Whatever a sender had echoed is plain
// text to a browser.
func writeReply(w http.ResponseWriter, reply *signature.Challenge) {
	header := w.Header()
	maps.Copy(header, reply.Header)
	header.Set("X-Content-Type-Options", "nosniff")
	if header.Get("Content-Type") == "" && len(reply.Body) > 0 {
		header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	if reply.Status != http.StatusNoContent {
		header.Set("Content-Length", strconv.Itoa(len(reply.Body)))
	}
	w.WriteHeader(reply.Status)
	if reply.Status != http.StatusNoContent {
		_, _ = w.Write(reply.Body)
	}
}

// writeReceipt answers an event that is stored.
func writeReceipt(w http.ResponseWriter, source Source, receipt webhook.Receipt) {
	body := make([]byte, 0, 96)
	body = append(body, `{"id":"`...)
	body = append(body, receipt.ID.String()...)
	body = append(body, `","duplicate":`...)
	body = strconv.AppendBool(body, receipt.Result == webhook.ResultDuplicate)
	if len(receipt.Reopened) > 0 {
		body = append(body, `,"reopened":true`...)
	}
	body = append(body, '}', '\n')
	status := source.Status
	if status == 0 {
		status = http.StatusOK
	}
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
