package signature

import (
	"errors"
	"slices"
	"strings"
)

// maxType is the longest type in bytes that is kept.
const maxType = 128

// typeRules are the places of an event's type by scheme, from each sender's own
// documentation; the first that a request has counts. Schemes without an entry
// have no type of their own.
func typeRules(name string) []keyRule {
	switch name {
	case "github":
		return []keyRule{header("X-GitHub-Event")}
	case "gitlab":
		return []keyRule{member("object_kind"), member("event_name")}
	case "gitea":
		return []keyRule{
			header("X-Gitea-Event"), header("X-Forgejo-Event"), header("X-Gogs-Event"), header("X-GitHub-Event"),
		}
	case "bitbucket":
		return []keyRule{header("X-Event-Key")}
	case "shopify":
		return []keyRule{header("X-Shopify-Topic"), header("Shopify-Topic")}
	case "slack":
		return []keyRule{member("event.type"), field("command"), member("type")}
	case "twilio":
		return []keyRule{field("EventType"), field("MessageStatus"), field("SmsStatus"), field("CallStatus")}
	case "meta":
		return []keyRule{member("object")}
	case "pagerduty":
		return []keyRule{member("event.event_type")}
	case "typeform", "paddle":
		return []keyRule{member("event_type")}
	case "intercom":
		return []keyRule{member("topic")}
	case "lemonsqueezy":
		return []keyRule{header("X-Event-Name"), member("meta.event_name")}
	case "discord":
		return []keyRule{member("event.type"), member("type")}
	case "zoom", "sendgrid":
		return []keyRule{member("event")}
	case "twitch":
		return []keyRule{header("Twitch-Eventsub-Subscription-Type"), member("subscription.type")}
	case "hubspot":
		return []keyRule{member("subscriptionType"), member("eventTypeId")}
	case "mailgun":
		return []keyRule{member("event-data.event")}
	case "cloudevents":
		return []keyRule{header("Ce-Type"), member("type")}
	case "standard", "stripe", "linear", "square":
		return []keyRule{member("type")}
	}
	return nil
}

// typesFor reads the setting TYPE; empty means the scheme's own places.
func typesFor(definition scheme, setting string, problems *[]error) []keyRule {
	if setting == "" {
		return typeRules(definition.name)
	}
	rules, err := parseKey(setting)
	if err != nil || setting == string(wholeBody) {
		*problems = append(*problems, errors.New("type is not header:NAME, json:path.to.type or none"))
		return nil
	}
	return rules
}

// eventType reads the event's type; empty where it is none, too long or no plain
// text. GitHub's has the action behind it, where the body names one, and
// Telegram's is the name of the member that is not the update's id.
func (v *Verifier) eventType(in *input) string {
	if v.scheme.name == "telegram" && v.config.Type == "" {
		return plainType(telegramType(in.json()))
	}
	for _, rule := range v.types {
		found := rule.typeIn(in)
		if found == "" {
			continue
		}
		if v.scheme.name == "github" && v.config.Type == "" {
			if action := jsonText(in.json(), "action"); plainType(found+"."+action) != "" && action != "" {
				found += "." + action
			}
		}
		return plainType(found)
	}
	return ""
}

// typeIn is find for types: the type of a batch is that of all its elements.
func (k keyRule) typeIn(in *input) string {
	found := k.find("", in)
	if k.kind != inJSON || !strings.Contains(found, ",") {
		return found
	}
	parts := slices.Compact(strings.Split(found, ","))
	if len(parts) > 1 {
		return ""
	}
	return parts[0]
}

// plainType returns a type that can be kept and shown, or "".
func plainType(text string) string {
	if len(text) > maxType || !isPlain(text) {
		return ""
	}
	return text
}

// telegramType returns the name of an update's member beside its id: "message".
func telegramType(text []byte) string {
	for _, name := range []string{
		"message", "edited_message", "channel_post", "edited_channel_post", "callback_query", "inline_query",
		"chosen_inline_result", "my_chat_member", "chat_member", "chat_join_request", "message_reaction",
		"message_reaction_count", "shipping_query", "pre_checkout_query", "poll", "poll_answer", "chat_boost",
		"removed_chat_boost", "business_connection", "business_message", "edited_business_message",
		"deleted_business_messages", "purchased_paid_media",
	} {
		if jsonMember(trimBOM(text), name) != nil {
			return name
		}
	}
	return ""
}
