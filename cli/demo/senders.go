package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"weir/cli/client"
	"weir/config"
	"weir/flaky"
	"weir/signature"
	"weir/webhook"
)

// senders are the demo's outside world. They sign like the providers do, send
// every webhook to weir, and give the naive loop a copy of the same one at the
// same time.
type senders struct {
	plan      plan
	start     time.Time
	api       *client.Client
	toNaive   chan<- flaky.Webhook
	verifiers map[string]*signature.Verifier

	// mu guards what is below.
	mu    sync.Mutex
	count sendCount
	// stored are the events that weir answered for with 2xx.
	stored map[webhook.ID]bool
	// sent are the different webhooks, by id.
	sent map[string]bool
}

// sendCount is what weir answered.
type sendCount struct {
	received   int
	duplicates int
	throttled  int
	other      int
	// different counts the different webhooks; done says that all were sent.
	different int
	done      bool
}

// newSenders makes a signer for each source.
func newSenders(d *demo, s config.Settings) (*senders, error) {
	made := &senders{
		plan: d.plan, api: d.api, toNaive: d.toNaive,
		verifiers: map[string]*signature.Verifier{},
		stored:    map[webhook.ID]bool{}, sent: map[string]bool{},
	}
	for _, source := range s.Sources {
		verifier, err := signature.New(source.SignatureConfig(s.PublicURL))
		if err != nil {
			return nil, fmt.Errorf("demo: source %s: %w", source.Name, err)
		}
		made.verifiers[source.Name] = verifier
	}
	return made, nil
}

// run sends both bursts and returns when all is sent.
func (s *senders) run(ctx context.Context) {
	s.start = time.Now()
	var both sync.WaitGroup
	both.Go(func() { s.send(ctx, honestSource, s.plan.honest) })
	both.Go(func() { s.send(ctx, greedySource, s.plan.greedy) })
	both.Wait()
	close(s.toNaive)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.done = ctx.Err() == nil
}

// send sends one burst, each webhook at its own time.
func (s *senders) send(ctx context.Context, source string, b burst) {
	gap := b.over / time.Duration(b.events)
	for i := range b.events {
		at := s.start.Add(b.from + time.Duration(i)*gap)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(at)):
		}
		id := fmt.Sprintf("%s-%03d-%s", source, i+1, rand.Text()[:8])
		s.one(ctx, source, id)
		if b.repeatEach > 0 && (i+1)%b.repeatEach == 0 {
			s.one(ctx, source, id)
		}
	}
}

// one sends one webhook to both and notes what weir answered. What is not
// answered 2xx is not sent again: these senders are impatient.
func (s *senders) one(ctx context.Context, source, id string) {
	signed, status, receipt, err := s.post(ctx, source, id)
	if err != nil && ctx.Err() != nil {
		return // the demo is over
	}
	s.toNaive <- flaky.Webhook{ID: id, Body: signed.Body}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[id] = true
	s.count.different = len(s.sent)
	s.count.received++
	switch {
	case err == nil && status/100 == 2:
		s.stored[receipt.ID] = true
		if receipt.Duplicate {
			s.count.duplicates++
		}
	case status == http.StatusTooManyRequests:
		s.count.throttled++
	default:
		s.count.other++
	}
}

// post signs a webhook as the provider would and sends it to weir.
func (s *senders) post(ctx context.Context, source, id string) (signature.Request, int, client.Receipt, error) {
	var receipt client.Receipt
	signed, err := sign(s.verifiers[source], id)
	if err != nil {
		return signed, 0, receipt, err
	}
	response, answer, err := s.api.Send(ctx, signed)
	if err != nil {
		return signed, 0, receipt, err
	}
	if response.StatusCode/100 == 2 {
		err = json.Unmarshal(answer, &receipt)
	}
	return signed, response.StatusCode, receipt, err
}

// sign returns a sample event, signed as its provider would.
func sign(v *signature.Verifier, id string) (signature.Request, error) {
	now := time.Now()
	return v.Sign(v.Sample(id, now), id, now)
}

// leaveTrouble sends the two webhooks of --stay: one to a destination that
// refuses the credentials, one to a destination that refuses the payload.
func (s *senders) leaveTrouble(ctx context.Context) error {
	for _, source := range [...]string{crmSource, archiveSource} {
		_, status, _, err := s.post(ctx, source, "evt_"+rand.Text())
		if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		if status/100 != 2 {
			return fmt.Errorf("demo: weir answers %d", status)
		}
	}
	return nil
}

// counts returns the counts so far.
func (s *senders) counts() sendCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// answeredFor lists the events that weir said it has.
func (s *senders) answeredFor() []webhook.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.stored))
}
