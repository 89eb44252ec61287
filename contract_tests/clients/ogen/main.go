// A customer's program with the client that ogen generates.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"example.com/customer/gateway"
	"example.com/customer/story"
	"github.com/ogen-go/ogen/http"
)

var background = context.Background()

// key is the source of the API key.
type key string

func (k key) BearerAuth(context.Context, gateway.OperationName) (gateway.BearerAuth, error) {
	return gateway.BearerAuth{Token: string(k)}, nil
}

// client has the methods of the story.
type client struct{ api *gateway.Client }

func main() {
	api := story.Must(gateway.NewClient(os.Getenv("BASE_URL"), key(os.Getenv("API_KEY"))))
	story.Run[gateway.SendMessageRequest](client{api})
}

// withWebhook is a response with a webhook. ogen names its class after the first operation that has it.
type withWebhook interface{ GetResponse() gateway.Webhook }

func (c client) CreateWebhook(url, key string) story.Webhook {
	request := &gateway.CreateWebhookRequest{
		URL:    gateway.WebhookUrl(url),
		Events: gateway.EventKind("").AllValues(),
	}
	parameters := gateway.CreateWebhookParams{IdempotencyKey: gateway.NewOptString(key)}
	webhook := as[withWebhook](c.api.CreateWebhook(background, request, parameters)).GetResponse()
	return story.Webhook{ID: string(webhook.ID), Secret: webhook.Secret}
}

func (c client) RotateSecret(webhook string) story.Webhook {
	parameters := gateway.RotateWebhookSecretParams{WebhookID: gateway.Identifier(webhook)}
	rotated := as[withWebhook](c.api.RotateWebhookSecret(background, parameters)).GetResponse()
	return story.Webhook{ID: webhook, Secret: rotated.Secret}
}

func (c client) TestWebhook(webhook string) story.Object {
	request := gateway.TestWebhookRequest{Event: gateway.NewOptEventKind(gateway.EventKindNumberBanned)}
	parameters := gateway.TestWebhookParams{WebhookID: gateway.Identifier(webhook)}
	response, err := c.api.TestWebhook(background, gateway.NewOptTestWebhookRequest(request), parameters)
	result := as[*gateway.WebhookTestResultHeaders](response, err).Response
	return story.Object{"success": result.Success, "status": result.StatusCode}
}

func (c client) DeleteWebhook(webhook string) {
	parameters := gateway.DeleteWebhookParams{WebhookID: gateway.Identifier(webhook)}
	as[*gateway.DeleteWebhookNoContent](c.api.DeleteWebhook(background, parameters))
}

// Connect completes the public signup, like the owner of a number.
func (c client) Connect(slug string, granted story.Signup) story.Number {
	link := as[*gateway.SignupLinkHeaders](c.api.GetSignupLink(background, gateway.GetSignupLinkParams{Slug: slug})).Response
	signup := &gateway.CompleteSignupRequest{Code: granted.Code, PhoneNumberID: granted.PhoneNumberID, WabaID: granted.WabaID}
	parameters := gateway.CompleteSignupParams{Slug: link.Slug}
	number := as[*gateway.ConnectedNumberHeaders](c.api.CompleteSignup(background, signup, parameters)).Response
	return story.Number{ID: string(number.ID), PhoneNumber: string(number.PhoneNumber)}
}

func (c client) Send(request gateway.SendMessageRequest, key string) string {
	parameters := gateway.SendMessageParams{IdempotencyKey: gateway.NewOptString(key)}
	return string(as[*gateway.SentMessageHeaders](c.api.SendMessage(background, request, parameters)).Response.ID)
}

func (client) Text(number string) gateway.SendMessageRequest {
	return gateway.NewSendTextRequestSendMessageRequest(gateway.SendTextRequest{
		NumberID: gateway.Identifier(number), To: story.Recipient, Type: gateway.SendTextRequestTypeText,
		Text: gateway.TextContent{Body: "Your order has shipped."},
	})
}

func (client) Others(number, answered string) map[string]gateway.SendMessageRequest {
	from, first := gateway.Identifier(number), gateway.Identifier(answered)
	picture := gateway.CaptionedMediaByLink{Link: story.Picture, Caption: gateway.NewOptString("A parcel")}
	place := gateway.LocationContent{Latitude: 52.5, Longitude: 13.25, Name: gateway.NewOptString("The shop")}
	return map[string]gateway.SendMessageRequest{
		"image": gateway.NewSendImageRequestSendMessageRequest(gateway.SendImageRequest{
			NumberID: from, To: story.Recipient, Type: gateway.SendImageRequestTypeImage,
			Image:   gateway.NewCaptionedMediaByLinkImageContent(picture),
			Context: gateway.NewOptMessageContext(gateway.MessageContext{MessageID: first}),
		}),
		"location": gateway.NewSendLocationRequestSendMessageRequest(gateway.SendLocationRequest{
			NumberID: from, To: story.Recipient, Type: gateway.SendLocationRequestTypeLocation, Location: place,
		}),
		"interactive": gateway.NewSendInteractiveRequestSendMessageRequest(gateway.SendInteractiveRequest{
			NumberID: from, To: story.Recipient, Type: gateway.SendInteractiveRequestTypeInteractive,
			Interactive: gateway.NewInteractiveListInteractiveContent(list()),
		}),
		"template": gateway.NewSendTemplateRequestSendMessageRequest(gateway.SendTemplateRequest{
			NumberID: from, To: story.Recipient, Type: gateway.SendTemplateRequestTypeTemplate, Template: template(),
		}),
		"reaction": gateway.NewSendReactionRequestSendMessageRequest(gateway.SendReactionRequest{
			NumberID: from, To: story.Recipient, Type: gateway.SendReactionRequestTypeReaction,
			Reaction: gateway.ReactionContent{MessageID: first, Emoji: "👍"},
		}),
	}
}

// list is a list to pick from.
func list() gateway.InteractiveList {
	rows := []gateway.ListRow{{ID: "1", Title: "Morning"}, {ID: "2", Title: "Evening"}}
	return gateway.InteractiveList{
		Type:   gateway.InteractiveListTypeList,
		Body:   gateway.InteractiveListBody{Text: "When?"},
		Action: gateway.InteractiveListAction{Button: "Pick", Sections: []gateway.ListSection{{Rows: rows}}},
	}
}

// template has a picture, a name and a button.
func template() gateway.TemplateContent {
	link := gateway.NewMediaByLinkMediaSource(gateway.MediaByLink{Link: story.Picture})
	picture := gateway.ImageHeader{Type: gateway.ImageHeaderTypeImage, Image: link}
	name := gateway.TextParameter{Type: gateway.TextParameterTypeText, Text: "Ana"}
	stop := gateway.PayloadParameter{Type: gateway.PayloadParameterTypePayload, Payload: "STOP"}
	return gateway.TemplateContent{
		Name:     "order_update",
		Language: gateway.TemplateLanguage{Code: "en_US"},
		Components: []gateway.TemplateComponent{
			gateway.NewTemplateHeaderTemplateComponent(gateway.TemplateHeader{
				Type:       gateway.TemplateHeaderTypeHeader,
				Parameters: []gateway.TemplateHeaderParameter{gateway.NewImageHeaderTemplateHeaderParameter(picture)},
			}),
			gateway.NewTemplateBodyTemplateComponent(gateway.TemplateBody{
				Type:       gateway.TemplateBodyTypeBody,
				Parameters: []gateway.TemplateBodyParameter{gateway.NewTextParameterTemplateBodyParameter(name)},
			}),
			gateway.NewTemplateButtonTemplateComponent(gateway.TemplateButton{
				Type: gateway.TemplateButtonTypeButton, SubType: gateway.TemplateButtonKindQuickReply, Index: "0",
				Parameters: []gateway.TemplateButtonParameter{gateway.NewPayloadParameterTemplateButtonParameter(stop)},
			}),
		},
	}
}

func (c client) Upload(number, name, content string) story.File {
	request := &gateway.UploadMediaRequestMultipart{File: http.MultipartFile{Name: name, File: strings.NewReader(content)}}
	parameters := gateway.UploadMediaParams{NumberID: gateway.Identifier(number)}
	uploaded := as[*gateway.UploadedMediaHeaders](c.api.UploadMedia(background, request, parameters)).Response
	return story.File{ID: uploaded.ID, MimeType: uploaded.MimeType}
}

func (client) Received(body []byte) story.File {
	message := parse(body).MessageReceivedEvent.Data
	var mimeType string
	story.Check(json.Unmarshal(message.Body["mime_type"], &mimeType))
	return story.File{ID: string(message.ID), MimeType: mimeType}
}

func (c client) Download(message string) string {
	parameters := gateway.DownloadMediaParams{MessageID: gateway.Identifier(message)}
	response := as[*gateway.DownloadMediaOKRawImage](c.api.DownloadMedia(background, parameters)).Response
	defer response.Body.Close()
	return string(story.Must(io.ReadAll(response.Body)))
}

func (c client) NewestPayload(webhook string) story.Told {
	parameters := gateway.ListWebhookDeliveriesParams{WebhookID: gateway.Identifier(webhook), Limit: gateway.NewOptInt32(1)}
	page := as[*gateway.DeliveryPageHeaders](c.api.ListWebhookDeliveries(background, parameters)).Response
	one := gateway.GetDeliveryParams{DeliveryID: page.Data[0].ID}
	return tell(as[*gateway.DeliveryDetailHeaders](c.api.GetDelivery(background, one)).Response.Payload)
}

func (c client) FailedDeliveries(webhook string) []string {
	return c.deliveries(gateway.ListWebhookDeliveriesParams{
		WebhookID: gateway.Identifier(webhook), Status: gateway.NewOptDeliveryState(gateway.DeliveryStateFailed),
	})
}

func (c client) ReadDeliveries(webhook string, since time.Time) []string {
	return c.deliveries(gateway.ListWebhookDeliveriesParams{
		WebhookID: gateway.Identifier(webhook), Since: gateway.NewOptDateTime(since),
		Event: gateway.NewOptEventKind(gateway.EventKindMessageRead),
	})
}

func (c client) deliveries(parameters gateway.ListWebhookDeliveriesParams) []string {
	found := as[*gateway.DeliveryPageHeaders](c.api.ListWebhookDeliveries(background, parameters)).Response.Data
	return story.Kinds(found, func(one gateway.Delivery) gateway.EventKind { return one.Event })
}

func (c client) Outcomes(since time.Time) []string {
	kinds := gateway.EventKinds{gateway.EventKindMessageRead, gateway.EventKindMessageFailed}
	parameters := gateway.ListEventsParams{Event: kinds, Since: gateway.NewOptDateTime(since)}
	found := as[*gateway.EventPageHeaders](c.api.ListEvents(background, parameters)).Response.Data
	return story.Kinds(found, func(one gateway.EventRecord) gateway.EventKind { return one.Event })
}

func (c client) CreateTemplate(number, key string) string {
	draft := &gateway.CreateTemplateRequest{
		Name: "order_shipped", Language: "en_US", Category: gateway.TemplateCategoryUTILITY,
		Components: []gateway.DraftTemplatePart{gateway.NewDraftTemplateBodyDraftTemplatePart(gateway.DraftTemplateBody{
			Type: gateway.DraftTemplateBodyTypeBODY, Text: gateway.NewOptString("Your order has shipped."),
		})},
	}
	parameters := gateway.CreateTemplateParams{
		NumberID: gateway.Identifier(number), IdempotencyKey: gateway.NewOptString(key),
	}
	return as[*gateway.TemplateHeaders](c.api.CreateTemplate(background, draft, parameters)).Response.ID
}

func (c client) History(message string) any {
	parameters := gateway.GetMessageParams{MessageID: gateway.Identifier(message)}
	var statuses []gateway.MessageStatus
	for _, step := range as[*gateway.MessageDetailHeaders](c.api.GetMessage(background, parameters)).Response.StatusHistory {
		statuses = append(statuses, step.Status)
	}
	return statuses
}

func (c client) Refusal() story.Object {
	parameters := gateway.GetNumberParams{NumberID: "num_unknown"}
	refused := as[*gateway.NotFoundHeaders](c.api.GetNumber(background, parameters)).Response.Error
	return story.Object{"status": refused.Status, "code": refused.Code}
}

func (client) Tell(body []byte) story.Told { return tell(parse(body)) }

func parse(body []byte) (event gateway.WebhookEvent) {
	story.Check(json.Unmarshal(body, &event))
	return event
}

// tell returns the event kind, the message or number, and the phone number in the event.
func tell(event gateway.WebhookEvent) story.Told {
	message := func(data gateway.Message) story.Told {
		return story.Told{string(event.Type), string(data.ID), data.FromNumber}
	}
	number := func(data gateway.ConnectedNumber) story.Told {
		return story.Told{string(event.Type), string(data.ID), string(data.PhoneNumber)}
	}
	broadcast := func(data gateway.Broadcast) story.Told {
		return story.Told{string(event.Type), string(data.ID), string(data.NumberId)}
	}
	switch event.Type {
	case gateway.MessageReceivedEventWebhookEvent:
		return message(event.MessageReceivedEvent.Data)
	case gateway.MessageSentEventWebhookEvent:
		return message(event.MessageSentEvent.Data)
	case gateway.MessageDeliveredEventWebhookEvent:
		return message(event.MessageDeliveredEvent.Data)
	case gateway.MessageReadEventWebhookEvent:
		return message(event.MessageReadEvent.Data)
	case gateway.MessageFailedEventWebhookEvent:
		return message(event.MessageFailedEvent.Data)
	case gateway.MessageEchoedEventWebhookEvent:
		return message(event.MessageEchoedEvent.Data)
	case gateway.MessageEditedEventWebhookEvent:
		return message(event.MessageEditedEvent.Data)
	case gateway.MessageDeletedEventWebhookEvent:
		return message(event.MessageDeletedEvent.Data)
	case gateway.NumberActivatedEventWebhookEvent:
		return number(event.NumberActivatedEvent.Data)
	case gateway.NumberDisconnectedEventWebhookEvent:
		return number(event.NumberDisconnectedEvent.Data)
	case gateway.NumberBannedEventWebhookEvent:
		return number(event.NumberBannedEvent.Data)
	case gateway.NumberUpdatedEventWebhookEvent:
		return number(event.NumberUpdatedEvent.Data)
	case gateway.CallUpdatedEventWebhookEvent:
		call := event.CallUpdatedEvent.Data
		return story.Told{string(event.Type), string(call.ID), call.FromNumber}
	case gateway.TemplateUpdatedEventWebhookEvent:
		template := event.TemplateUpdatedEvent.Data
		return story.Told{string(event.Type), template.ID, template.Name}
	case gateway.ContactUpdatedEventWebhookEvent:
		contact := event.ContactUpdatedEvent.Data
		return story.Told{string(event.Type), string(contact.ID), string(contact.NumberId)}
	case gateway.BroadcastStartedEventWebhookEvent:
		return broadcast(event.BroadcastStartedEvent.Data)
	case gateway.BroadcastPausedEventWebhookEvent:
		return broadcast(event.BroadcastPausedEvent.Data)
	case gateway.BroadcastCompletedEventWebhookEvent:
		return broadcast(event.BroadcastCompletedEvent.Data)
	}
	log.Fatal("an event of no kind")
	return story.Told{}
}

// as is a response of the expected class.
func as[T any](response any, err error) T {
	story.Check(err)
	expected, ok := response.(T)
	if !ok {
		log.Fatalf("another response: %+v", response)
	}
	return expected
}
