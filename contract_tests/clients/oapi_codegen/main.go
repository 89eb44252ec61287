// A customer's program with the client that oapi-codegen generates.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"mime/multipart"
	"net/http"
	"os"
	"time"

	"example.com/customer/gateway"
	"example.com/customer/story"
)

var (
	background = context.Background()
	kinds      = gateway.EventKinds{
		gateway.EventKindMessageReceived,
		gateway.EventKindMessageSent,
		gateway.EventKindMessageDelivered,
		gateway.EventKindMessageRead,
		gateway.EventKindMessageFailed,
		gateway.EventKindMessageEchoed,
		gateway.EventKindMessageEdited,
		gateway.EventKindMessageDeleted,
		gateway.EventKindCallUpdated,
		gateway.EventKindNumberActivated,
		gateway.EventKindNumberDisconnected,
		gateway.EventKindNumberBanned,
		gateway.EventKindNumberUpdated,
		gateway.EventKindTemplateUpdated,
		gateway.EventKindContactUpdated,
		gateway.EventKindBroadcastStarted,
		gateway.EventKindBroadcastPaused,
		gateway.EventKindBroadcastCompleted,
	}
)

// client has the methods of the story.
type client struct{ api *gateway.ClientWithResponses }

func main() {
	withKey := gateway.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	})
	api := story.Must(gateway.NewClientWithResponses(os.Getenv("BASE_URL"), withKey))
	story.Run[gateway.SendMessageRequest](client{api})
}

func (c client) CreateWebhook(url, key string) story.Webhook {
	request := gateway.CreateWebhookRequest{Url: url, Events: kinds}
	parameters := &gateway.CreateWebhookParams{IdempotencyKey: &key}
	webhook := created(c.api.CreateWebhookWithResponse(background, parameters, request))
	return story.Webhook{ID: webhook.Id, Secret: webhook.Secret}
}

func (c client) RotateSecret(webhook string) story.Webhook {
	rotated := got(c.api.RotateWebhookSecretWithResponse(background, webhook))
	return story.Webhook{ID: webhook, Secret: rotated.Secret}
}

func (c client) TestWebhook(webhook string) story.Object {
	kind := gateway.EventKindNumberBanned
	result := got(c.api.TestWebhookWithResponse(background, webhook, gateway.TestWebhookRequest{Event: &kind}))
	return story.Object{"success": result.Success, "status": result.StatusCode}
}

func (c client) DeleteWebhook(webhook string) {
	story.Must(c.api.DeleteWebhookWithResponse(background, webhook))
}

// Connect completes the public signup, like the owner of a number.
func (c client) Connect(slug string, granted story.Signup) story.Number {
	link := got(c.api.GetSignupLinkWithResponse(background, slug))
	signup := gateway.CompleteSignupRequest{Code: granted.Code, PhoneNumberId: granted.PhoneNumberID, WabaId: granted.WabaID}
	number := created(c.api.CompleteSignupWithResponse(background, link.Slug, signup))
	return story.Number{ID: number.Id, PhoneNumber: number.PhoneNumber}
}

func (c client) Send(request gateway.SendMessageRequest, key string) string {
	parameters := &gateway.SendMessageParams{IdempotencyKey: &key}
	return got(c.api.SendMessageWithResponse(background, parameters, request)).Id
}

// Text has no type: the union sets the value of its discriminator.
func (client) Text(number string) (request gateway.SendMessageRequest) {
	content := gateway.TextContent{Body: "Your order has shipped."}
	story.Check(request.FromSendTextRequest(gateway.SendTextRequest{NumberId: number, To: story.Recipient, Text: content}))
	return request
}

func (client) Others(number, answered string) map[string]gateway.SendMessageRequest {
	var image, location, interactive, templated, reaction gateway.SendMessageRequest
	caption, shop := "A parcel", "The shop"
	var picture gateway.ImageContent
	story.Check(picture.FromCaptionedMediaByLink(gateway.CaptionedMediaByLink{Link: story.Picture, Caption: &caption}))
	story.Check(image.FromSendImageRequest(gateway.SendImageRequest{
		NumberId: number, To: story.Recipient, Image: picture,
		Context: &gateway.MessageContext{MessageId: answered},
	}))
	place := gateway.LocationContent{Latitude: 52.5, Longitude: 13.25, Name: &shop}
	story.Check(location.FromSendLocationRequest(gateway.SendLocationRequest{
		NumberId: number, To: story.Recipient, Location: place,
	}))
	story.Check(interactive.FromSendInteractiveRequest(gateway.SendInteractiveRequest{
		NumberId: number, To: story.Recipient, Interactive: list(),
	}))
	story.Check(templated.FromSendTemplateRequest(gateway.SendTemplateRequest{
		NumberId: number, To: story.Recipient, Template: template(),
	}))
	story.Check(reaction.FromSendReactionRequest(gateway.SendReactionRequest{
		NumberId: number, To: story.Recipient,
		Reaction: gateway.ReactionContent{MessageId: answered, Emoji: "👍"},
	}))
	return map[string]gateway.SendMessageRequest{
		"image": image, "location": location, "interactive": interactive, "template": templated, "reaction": reaction,
	}
}

// list is a list to pick from.
func list() (content gateway.InteractiveContent) {
	rows := []gateway.ListRow{{Id: "1", Title: "Morning"}, {Id: "2", Title: "Evening"}}
	story.Check(content.FromInteractiveList(gateway.InteractiveList{
		Body:   gateway.InteractiveListBody{Text: "When?"},
		Action: gateway.InteractiveListAction{Button: "Pick", Sections: []gateway.ListSection{{Rows: rows}}},
	}))
	return content
}

// template has a picture, a name and a button.
func template() gateway.TemplateContent {
	var link gateway.MediaSource
	var picture gateway.TemplateHeaderParameter
	var name gateway.TemplateBodyParameter
	var stop gateway.TemplateButtonParameter
	var header, body, button gateway.TemplateComponent
	story.Check(link.FromMediaByLink(gateway.MediaByLink{Link: story.Picture}))
	story.Check(picture.FromImageHeader(gateway.ImageHeader{Image: link}))
	story.Check(name.FromTextParameter(gateway.TextParameter{Text: "Ana"}))
	story.Check(stop.FromPayloadParameter(gateway.PayloadParameter{Payload: "STOP"}))
	story.Check(header.FromTemplateHeader(gateway.TemplateHeader{Parameters: []gateway.TemplateHeaderParameter{picture}}))
	story.Check(body.FromTemplateBody(gateway.TemplateBody{Parameters: []gateway.TemplateBodyParameter{name}}))
	story.Check(button.FromTemplateButton(gateway.TemplateButton{
		SubType: gateway.TemplateButtonKindQuickReply, Index: "0", Parameters: []gateway.TemplateButtonParameter{stop},
	}))
	return gateway.TemplateContent{
		Name:       "order_update",
		Language:   gateway.TemplateLanguage{Code: "en_US"},
		Components: &[]gateway.TemplateComponent{header, body, button},
	}
}

func (c client) Upload(number, name, content string) story.File {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part := story.Must(form.CreateFormFile("file", name))
	story.Must(part.Write([]byte(content)))
	story.Check(form.Close())
	uploaded := got(c.api.UploadMediaWithBodyWithResponse(background, number, nil, form.FormDataContentType(), &body))
	return story.File{ID: uploaded.Id, MimeType: uploaded.MimeType}
}

func (client) Received(body []byte) story.File {
	message := story.Must(parse(body).AsMessageReceivedEvent()).Data
	return story.File{ID: message.Id, MimeType: message.Body["mime_type"].(string)}
}

func (c client) Download(message string) string {
	return string(story.Must(c.api.DownloadMediaWithResponse(background, message)).Body)
}

func (c client) NewestPayload(webhook string) story.Told {
	limit := gateway.Limit(1)
	parameters := &gateway.ListWebhookDeliveriesParams{Limit: &limit}
	page := got(c.api.ListWebhookDeliveriesWithResponse(background, webhook, parameters))
	return tell(got(c.api.GetDeliveryWithResponse(background, page.Data[0].Id)).Payload)
}

func (c client) FailedDeliveries(webhook string) []string {
	failed := gateway.DELIVERYFAILED
	return c.deliveries(webhook, &gateway.ListWebhookDeliveriesParams{Status: &failed})
}

func (c client) ReadDeliveries(webhook string, since time.Time) []string {
	read := gateway.EventKindMessageRead
	return c.deliveries(webhook, &gateway.ListWebhookDeliveriesParams{Event: &read, Since: &since})
}

func (c client) deliveries(webhook string, parameters *gateway.ListWebhookDeliveriesParams) []string {
	found := got(c.api.ListWebhookDeliveriesWithResponse(background, webhook, parameters)).Data
	return story.Kinds(found, func(one gateway.Delivery) gateway.EventKind { return one.Event })
}

func (c client) Outcomes(since time.Time) []string {
	kinds := gateway.EventKinds{gateway.EventKindMessageRead, gateway.EventKindMessageFailed}
	parameters := &gateway.ListEventsParams{Event: &kinds, Since: &since}
	found := got(c.api.ListEventsWithResponse(background, parameters)).Data
	return story.Kinds(found, func(one gateway.EventRecord) gateway.EventKind { return one.Event })
}

func (c client) CreateTemplate(number, key string) string {
	words := "Your order has shipped."
	var body gateway.DraftTemplatePart
	story.Check(body.FromDraftTemplateBody(gateway.DraftTemplateBody{Text: &words}))
	draft := gateway.CreateTemplateRequest{
		Name: "order_shipped", Language: "en_US", Category: gateway.UTILITY,
		Components: []gateway.DraftTemplatePart{body},
	}
	parameters := &gateway.CreateTemplateParams{IdempotencyKey: &key}
	return created(c.api.CreateTemplateWithResponse(background, number, parameters, draft)).Id
}

func (c client) History(message string) any {
	var statuses []gateway.MessageStatus
	for _, step := range got(c.api.GetMessageWithResponse(background, message)).StatusHistory {
		statuses = append(statuses, step.Status)
	}
	return statuses
}

func (c client) Refusal() story.Object {
	refused := story.Must(c.api.GetNumberWithResponse(background, "num_unknown")).JSON404.Error
	return story.Object{"status": refused.Status, "code": refused.Code}
}

func (client) Tell(body []byte) story.Told { return tell(parse(body)) }

func parse(body []byte) (event gateway.Event) {
	story.Check(json.Unmarshal(body, &event))
	return event
}

// tell returns the event kind, the message or number, and the phone number in the event.
func tell(event gateway.Event) story.Told {
	switch happened := story.Must(event.ValueByDiscriminator()).(type) {
	case gateway.MessageReceivedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.FromNumber}
	case gateway.MessageSentEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.FromNumber}
	case gateway.MessageDeliveredEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.FromNumber}
	case gateway.MessageReadEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.FromNumber}
	case gateway.MessageFailedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.FromNumber}
	case gateway.MessageEchoedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.FromNumber}
	case gateway.MessageEditedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.FromNumber}
	case gateway.MessageDeletedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.FromNumber}
	case gateway.CallUpdatedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.FromNumber}
	case gateway.NumberActivatedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.PhoneNumber}
	case gateway.NumberDisconnectedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.PhoneNumber}
	case gateway.NumberBannedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.PhoneNumber}
	case gateway.NumberUpdatedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.PhoneNumber}
	case gateway.TemplateUpdatedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.Name}
	case gateway.ContactUpdatedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.NumberId}
	case gateway.BroadcastStartedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.NumberId}
	case gateway.BroadcastPausedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.NumberId}
	case gateway.BroadcastCompletedEvent:
		return story.Told{string(happened.Event), happened.Data.Id, happened.Data.NumberId}
	}
	log.Fatal("an event of no kind")
	return story.Told{}
}

// got is the object of a response of status 200.
func got[T any](response interface {
	GetJSON200() *T
	GetBody() []byte
}, err error,
) *T {
	story.Check(err)
	return found(response.GetJSON200(), response.GetBody())
}

// created is the object of a response of status 201.
func created[T any](response interface {
	GetJSON201() *T
	GetBody() []byte
}, err error,
) *T {
	story.Check(err)
	return found(response.GetJSON201(), response.GetBody())
}

func found[T any](object *T, body []byte) *T {
	if object == nil {
		log.Fatalf("refused: %s", body)
	}
	return object
}
