package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"weir/webhook"
)

// The bounds of looking through dead deliveries.
const (
	// maxCounted is how many one page counts.
	maxCounted = 10_000
	// maxExamples is how many of a group are listed.
	maxExamples = 5
)

// group is the dead deliveries that share a destination and a reason.
type group struct {
	Destination string
	Reason      webhook.DeadReason
	Words       string
	N           int
	// Newest are the last received, at most maxExamples.
	Newest []deliveryView
	// Served says that the destination is still configured.
	Served bool
	Link   string
}

// deadView is what the page of dead letters shows.
type deadView struct {
	Groups []group
	Total  int
	// More says that there are more than were counted.
	More bool
}

// deadLetters is GET /dead.
func (d *Dashboard) deadLetters(v visit) (page, error) {
	groups := map[string]*group{}
	var view deadView
	more, err := d.eachDead(v.Context(), webhook.DeliveryQuery{}, func(list []webhook.Delivery) error {
		for _, delivery := range list {
			d.sort(v, groups, delivery)
		}
		view.Total += len(list)
		return nil
	})
	if err != nil {
		return page{}, err
	}
	view.More = more
	for _, g := range groups {
		view.Groups = append(view.Groups, *g)
	}
	slices.SortFunc(view.Groups, func(a, b group) int {
		return cmp.Or(b.N-a.N, cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Reason, b.Reason))
	})
	return page{name: "dead", title: "Dead letters", data: view}, nil
}

// sort puts a delivery into its group.
func (d *Dashboard) sort(v visit, groups map[string]*group, of webhook.Delivery) {
	key := of.Destination + "\x00" + string(of.Reason)
	g := groups[key]
	if g == nil {
		query := url.Values{"destination": {of.Destination}, "reason": {string(of.Reason)}}
		g = &group{
			Destination: of.Destination, Reason: of.Reason, Words: deadWords(of.Reason),
			Served: d.serves(of.Destination), Link: "/dead/redeliver?" + query.Encode(),
		}
		groups[key] = g
	}
	g.N++
	if len(g.Newest) < maxExamples {
		g.Newest = append(g.Newest, d.delivery(v, of))
	}
}

// serves reports whether a destination is configured.
func (d *Dashboard) serves(name string) bool {
	return slices.ContainsFunc(d.config.Downstreams, func(of Downstream) bool { return of.Name == name })
}

// eachDead goes through dead deliveries page by page, newest first, up to
// maxCounted of them, and reports whether there are more.
func (d *Dashboard) eachDead(ctx context.Context, query webhook.DeliveryQuery, do func([]webhook.Delivery) error) (bool, error) {
	if d.config.Deliveries == nil {
		return false, nil
	}
	query.State, query.Limit = webhook.Dead, webhook.MaxPage
	for seen := 0; ; {
		found, err := d.config.Deliveries.Deliveries(ctx, query)
		if err != nil {
			return false, fmt.Errorf("list of dead deliveries: %w", err)
		}
		if err := do(found.Items); err != nil {
			return false, err
		}
		seen += len(found.Items)
		if found.Next == "" || seen >= maxCounted {
			return found.Next != "", nil
		}
		query.After = found.Next
	}
}

// selected reads which group is meant, by destination and reason.
func selected(values url.Values) (webhook.DeliveryQuery, error) {
	reason := webhook.DeadReason(values.Get("reason"))
	destination := values.Get("destination")
	if destination == "" || !slices.Contains(webhook.DeadReasons(), reason) {
		return webhook.DeliveryQuery{}, fault{http.StatusBadRequest, "A redelivery of many needs a destination and a reason."}
	}
	return webhook.DeliveryQuery{Destination: destination, Reason: reason}, nil
}

// bulkView is what is shown before a bulk redelivery.
type bulkView struct {
	Destination string
	Reason      webhook.DeadReason
	Words       string
	N           int
	More        bool
	Force       bool
	// Takes is the time over which the first attempts are spread.
	Takes time.Duration
}

// confirmBulk is GET /dead/redeliver: the count first.
func (d *Dashboard) confirmBulk(v visit) (page, error) {
	query, err := selected(v.URL.Query())
	if err != nil {
		return page{}, err
	}
	if !d.serves(query.Destination) {
		return page{}, webhook.ErrNotFound
	}
	view := bulkView{
		Destination: query.Destination, Reason: query.Reason, Words: deadWords(query.Reason),
		Force: query.Reason == webhook.DeadTooLarge,
	}
	view.More, err = d.eachDead(v.Context(), query, func(list []webhook.Delivery) error {
		view.N += len(list)
		return nil
	})
	view.Takes = time.Duration(view.N) * bulkSpacing
	return page{name: "bulk", title: "Redeliver", data: view}, err
}
