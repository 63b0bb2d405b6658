package dashboard

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/webhook"
)

// eventView is an event with its story.
type eventView struct {
	ID            webhook.ID
	Source        string
	Type          string
	Key           string
	KeyFrom       string
	ReceivedAt    moment
	Size          int64
	SHA256        string
	ContentType   string
	Duplicates    int64
	LastDuplicate moment
	ConflictOf    string
	BodyGone      bool
	Fields        []field
	Body          bodyView
	Deliveries    []deliveryView
}

// event is GET /events/{id}.
func (d *Dashboard) event(v visit) (page, error) {
	detail, err := d.eventOf(v)
	if err != nil {
		return page{}, err
	}
	view := d.eventView(v, detail)
	if view.Body, err = d.body(v, detail.Event); err != nil {
		return page{}, err
	}
	for _, history := range detail.Deliveries {
		view.Deliveries = append(view.Deliveries, d.story(v, history))
	}
	return page{name: "event", title: "Event " + view.ID.String(), data: view}, nil
}

// eventOf reads the event that the path names.
func (d *Dashboard) eventOf(v visit) (webhook.EventDetail, error) {
	id, err := webhook.ParseID(v.PathValue("id"))
	if err != nil || d.config.Events == nil {
		return webhook.EventDetail{}, webhook.ErrNotFound
	}
	detail, err := d.config.Events.Event(v.Context(), id)
	if err != nil {
		return detail, fmt.Errorf("event of a page: %w", err)
	}
	return detail, nil
}

func (d *Dashboard) eventView(v visit, detail webhook.EventDetail) eventView {
	event := detail.Event
	view := eventView{
		ID: event.ID, Source: event.Source, Type: event.Type, Key: clip(event.Key, maxField), KeyFrom: clip(event.KeyFrom, maxField),
		ReceivedAt: v.at(event.ReceivedAt), Size: event.Size, SHA256: hex.EncodeToString(event.SHA256[:]),
		ContentType: clip(event.Header.Get("Content-Type"), maxField),
		Duplicates:  event.Duplicates, LastDuplicate: v.at(event.LastDuplicateAt),
		BodyGone: event.BodyGone, Fields: d.headerFields(event),
	}
	if !event.ConflictOf.IsZero() {
		view.ConflictOf = event.ConflictOf.String()
	}
	return view
}

// headerFields lists header fields by name, bounded, without the values of
// credentials and signatures.
func (d *Dashboard) headerFields(event webhook.Event) []field {
	var list []field
	for _, name := range slices.Sorted(maps.Keys(event.Header)) {
		if len(list) == maxFields {
			break
		}
		value := strings.Join(event.Header[name], ", ")
		if d.private(event.Source, name) {
			value = notShown
		}
		list = append(list, field{clip(name, maxField), clip(value, maxField)})
	}
	return list
}

// changeDelivery is POST /events/{id}/deliveries/{destination}/{action}.
func (d *Dashboard) changeDelivery(v visit) (string, error) {
	id, err := webhook.ParseID(v.PathValue("id"))
	if err != nil || d.config.Operator == nil {
		return "", webhook.ErrNotFound
	}
	name, now := v.PathValue("destination"), webhook.Ceil(v.now)
	done := ""
	switch v.PathValue("action") {
	case "redeliver":
		done = "redelivered"
		err = d.config.Operator.Redeliver(v.Context(), webhook.Redelivery{
			EventID: id, Destination: name, Force: v.PostForm.Get("force") == "yes", At: now,
		})
		d.config.Wake(name)
	case "cancel":
		done = "cancelled"
		err = d.config.Operator.Cancel(v.Context(), id, name, now)
	default:
		return "", webhook.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", done, err)
	}
	return "/events/" + id.String() + "?done=" + done, nil
}
