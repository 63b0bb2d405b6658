package dashboard

import (
	"fmt"

	"weir/webhook"
)

// destinations is GET /destinations.
func (d *Dashboard) destinations(v visit) (page, error) {
	views, err := d.views(v)
	return page{name: "destinations", title: "Destinations", data: views}, err
}

// changeDestination is POST /destinations/{name}/{action}.
func (d *Dashboard) changeDestination(v visit) (string, error) {
	name := v.PathValue("name")
	if d.config.Destinations == nil {
		return "", webhook.ErrNotFound
	}
	done := ""
	var err error
	switch v.PathValue("action") {
	case "pause":
		done = "paused"
		err = d.config.Destinations.Pause(v.Context(), name)
	case "resume":
		done = "resumed"
		err = d.config.Destinations.Resume(v.Context(), name)
		d.config.Wake(name)
	default:
		return "", webhook.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("destination %s, %s: %w", name, done, err)
	}
	return "/destinations?done=" + done, nil
}
