package dashboard

import (
	"strconv"
	"time"

	"weir/webhook"
)

// overviewMinutes is how far back the overview looks.
const overviewMinutes = 60

// overviewView is what the overview shows.
type overviewView struct {
	Verdict verdict
	Figures []field
	Minutes []minuteView
	// Start is when counting began, none where that is longer ago than the
	// overview looks back.
	Start        moment
	Destinations []destinationView
}

// minuteView is a row of the table of traffic, from which the chart is drawn.
type minuteView struct {
	webhook.Minute
	At moment
}

// overview is GET /.
func (d *Dashboard) overview(v visit) (page, error) {
	destinations, err := d.views(v)
	if err != nil {
		return page{}, err
	}
	view := overviewView{
		Destinations: destinations,
		Verdict:      judge(destinations, d.config.Stuck(v.now), d.config.StallAfter),
	}
	if v.now.Sub(d.config.Since) < overviewMinutes*time.Minute {
		view.Start = v.at(d.config.Since)
	}
	var sum webhook.Minute
	for _, m := range d.config.Minutes(v.now, overviewMinutes) {
		view.Minutes = append(view.Minutes, minuteView{Minute: m, At: v.at(m.At)})
		sum = sum.Plus(m)
	}
	view.Figures = figures(sum, destinations)
	return page{name: "overview", title: view.Verdict.Short, data: view}, nil
}

// figures are the numbers under the verdict.
func figures(sum webhook.Minute, destinations []destinationView) []field {
	waiting, dead := 0, 0
	for _, destination := range destinations {
		waiting += destination.Queue.Pending
		dead += destination.Queue.Dead
	}
	return []field{
		{"received", strconv.Itoa(sum.Received)},
		{"repeats", strconv.Itoa(sum.Duplicates)},
		{"refused", strconv.Itoa(sum.Refused)},
		{"requests sent", strconv.Itoa(sum.Outgoing())},
		{"delivered", strconv.Itoa(sum.Delivered)},
		{"waiting now", strconv.Itoa(waiting)},
		{"dead now", strconv.Itoa(dead)},
	}
}
