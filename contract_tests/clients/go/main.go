// A customer's program with the client that OpenAPI Generator generates for Go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"time"

	"example.com/customer/story"
	gateway "github.com/GIT_USER_ID/GIT_REPO_ID"
)

var owner = context.WithValue(context.Background(), gateway.ContextAccessToken, os.Getenv("API_KEY"))

// client has the methods of the story.
type client struct{ api *gateway.APIClient }

func main() {
	config := gateway.NewConfiguration()
	config.Servers = gateway.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	story.Run[gateway.SendMessageRequest](client{gateway.NewAPIClient(config)})
}

func (c client) CreateWebhook(url, key string) story.Webhook {
	subscription := gateway.NewCreateWebhookRequest(url, gateway.AllowedEventKindEnumValues)
	request := c.api.WebhooksAPI.CreateWebhook(owner).CreateWebhookRequest(*subscription).IdempotencyKey(key)
	created := story.Must(request.Execute())
	return story.Webhook{ID: created.Id, Secret: created.Secret}
}

func (c client) RotateSecret(webhook string) story.Webhook {
	rotated := story.Must(c.api.WebhooksAPI.RotateWebhookSecret(owner, webhook).Execute())
	return story.Webhook{ID: webhook, Secret: rotated.Secret}
}

func (c client) DeleteWebhook(webhook string) {
	story.Must(c.api.WebhooksAPI.DeleteWebhook(owner, webhook).Execute())
}

// Connect completes the public signup, like the owner of a number.
func (c client) Connect(slug string, granted story.Signup) story.Number {
	visitor := context.Background()
	link := story.Must(c.api.SignupAPI.GetSignupLink(visitor, slug).Execute())
	signup := gateway.CompleteSignupRequest{
		Code: granted.Code, PhoneNumberId: granted.PhoneNumberID, WabaId: granted.WabaID,
	}
	number := story.Must(c.api.SignupAPI.CompleteSignup(visitor, link.Slug).CompleteSignupRequest(signup).Execute())
	return story.Number{ID: number.Id, PhoneNumber: number.PhoneNumber}
}

func (c client) Send(request gateway.SendMessageRequest, key string) string {
	return story.Must(c.api.MessagesAPI.SendMessage(owner).SendMessageRequest(request).IdempotencyKey(key).Execute()).Id
}

func (client) Text(number string) gateway.SendMessageRequest {
	content := gateway.NewTextContent("Your order has shipped.")
	return gateway.SendTextRequestAsSendMessageRequest(gateway.NewSendTextRequest(number, story.Recipient, "text", *content))
}

func (client) Others(number, answered string) map[string]gateway.SendMessageRequest {
	content := gateway.NewCaptionedMediaByLink(story.Picture)
	content.SetCaption("A parcel")
	image := gateway.NewSendImageRequest(number, story.Recipient, "image", gateway.CaptionedMediaByLinkAsImageContent(content))
	image.SetContext(*gateway.NewMessageContext(answered))
	location := gateway.NewLocationContent(52.5, 13.25)
	location.SetName("The shop")
	rows := []gateway.ListRow{*gateway.NewListRow("1", "Morning"), *gateway.NewListRow("2", "Evening")}
	list := gateway.NewInteractiveList(
		"list",
		*gateway.NewInteractiveListBody("When?"),
		*gateway.NewInteractiveListAction("Pick", []gateway.ListSection{*gateway.NewListSection(rows)}),
	)
	reaction := gateway.NewReactionContent(answered, "👍")
	return map[string]gateway.SendMessageRequest{
		"image": gateway.SendImageRequestAsSendMessageRequest(image),
		"location": gateway.SendLocationRequestAsSendMessageRequest(
			gateway.NewSendLocationRequest(number, story.Recipient, "location", *location)),
		"interactive": gateway.SendInteractiveRequestAsSendMessageRequest(
			gateway.NewSendInteractiveRequest(number, story.Recipient, "interactive", gateway.InteractiveListAsInteractiveContent(list))),
		"template": gateway.SendTemplateRequestAsSendMessageRequest(
			gateway.NewSendTemplateRequest(number, story.Recipient, "template", *template())),
		"reaction": gateway.SendReactionRequestAsSendMessageRequest(
			gateway.NewSendReactionRequest(number, story.Recipient, "reaction", *reaction)),
	}
}

// template has a picture, a name and a button.
func template() *gateway.TemplateContent {
	link := gateway.MediaByLinkAsMediaSource(gateway.NewMediaByLink(story.Picture))
	header := gateway.ImageHeaderAsTemplateHeaderParameter(gateway.NewImageHeader("image", link))
	name := gateway.TextParameterAsTemplateBodyParameter(gateway.NewTextParameter("text", "Ana"))
	stop := gateway.PayloadParameterAsTemplateButtonParameter(gateway.NewPayloadParameter("payload", "STOP"))
	button := gateway.NewTemplateButton("button", gateway.QUICK_REPLY, "0", []gateway.TemplateButtonParameter{stop})
	content := gateway.NewTemplateContent("order_update", *gateway.NewTemplateLanguage("en_US"))
	content.SetComponents([]gateway.TemplateComponent{
		gateway.TemplateHeaderAsTemplateComponent(
			gateway.NewTemplateHeader("header", []gateway.TemplateHeaderParameter{header})),
		gateway.TemplateBodyAsTemplateComponent(
			gateway.NewTemplateBody("body", []gateway.TemplateBodyParameter{name})),
		gateway.TemplateButtonAsTemplateComponent(button),
	})
	return content
}

func (c client) Upload(number string, name string, content string) story.File {
	file := story.Must(os.Create(name))
	story.Must(file.WriteString(content))
	story.Must(file.Seek(0, io.SeekStart))
	uploaded := story.Must(c.api.MediaAPI.UploadMedia(owner, number).File(file).Execute())
	return story.File{ID: uploaded.Id, MimeType: uploaded.MimeType}
}

func (client) Received(body []byte) story.File {
	message := parse(body).MessageReceivedEvent.Data
	return story.File{ID: message.Id, MimeType: message.Body["mime_type"].(string)}
}

func (c client) Download(message string) string {
	return string(story.Must(io.ReadAll(story.Must(c.api.MediaAPI.DownloadMedia(owner, message).Execute()))))
}

func (c client) NewestPayload(webhook string) story.Told {
	page := story.Must(c.api.DeliveriesAPI.ListWebhookDeliveries(owner, webhook).Limit(1).Execute())
	return tell(story.Must(c.api.DeliveriesAPI.GetDelivery(owner, page.Data[0].Id).Execute()).Payload)
}

func (c client) FailedDeliveries(webhook string) []string {
	return c.deliveries(c.api.DeliveriesAPI.ListWebhookDeliveries(owner, webhook).Status(gateway.DELIVERY_FAILED))
}

func (c client) ReadDeliveries(webhook string, since time.Time) []string {
	request := c.api.DeliveriesAPI.ListWebhookDeliveries(owner, webhook)
	return c.deliveries(request.Event(gateway.MESSAGE_READ).Since(since))
}

func (client) deliveries(request gateway.ApiListWebhookDeliveriesRequest) []string {
	found := story.Must(request.Execute()).Data
	return story.Kinds(found, func(one gateway.Delivery) gateway.EventKind { return one.Event })
}

func (c client) Outcomes(since time.Time) []string {
	kinds := []gateway.EventKind{gateway.MESSAGE_READ, gateway.MESSAGE_FAILED}
	found := story.Must(c.api.EventsAPI.ListEvents(owner).Event(kinds).Since(since).Execute()).Data
	return story.Kinds(found, func(one gateway.EventRecord) gateway.EventKind { return one.Event })
}

func (c client) CreateTemplate(number, key string) string {
	body := gateway.NewDraftTemplateBody("BODY")
	body.SetText("Your order has shipped.")
	parts := []gateway.DraftTemplatePart{gateway.DraftTemplateBodyAsDraftTemplatePart(body)}
	draft := gateway.NewCreateTemplateRequest("order_shipped", "en_US", gateway.UTILITY, parts)
	request := c.api.TemplatesAPI.CreateTemplate(owner, number).CreateTemplateRequest(*draft).IdempotencyKey(key)
	return story.Must(request.Execute()).Id
}

func (c client) TestWebhook(webhook string) story.Object {
	request := gateway.NewTestWebhookRequest()
	request.SetEvent(gateway.NUMBER_BANNED)
	result := story.Must(c.api.WebhooksAPI.TestWebhook(owner, webhook).TestWebhookRequest(*request).Execute())
	return story.Object{"success": result.Success, "status": result.StatusCode}
}

func (c client) History(message string) any {
	var statuses []gateway.MessageStatus
	for _, step := range story.Must(c.api.MessagesAPI.GetMessage(owner, message).Execute()).StatusHistory {
		statuses = append(statuses, step.Status)
	}
	return statuses
}

func (c client) Refusal() story.Object {
	_, _, err := c.api.NumbersAPI.GetNumber(owner, "num_unknown").Execute()
	var refused *gateway.GenericOpenAPIError
	if !errors.As(err, &refused) {
		log.Fatal("the error has no type: ", err)
	}
	answer := refused.Model().(gateway.ErrorResponse)
	if answer.Error.Code != gateway.NOT_FOUND {
		log.Fatal("another error: ", answer.Error.Message)
	}
	return story.Object{"status": answer.Error.Status, "code": answer.Error.Code}
}

func (client) Tell(body []byte) story.Told { return tell(parse(body)) }

func parse(body []byte) (event gateway.Event) {
	story.Check(json.Unmarshal(body, &event))
	return event
}

// tell returns the event kind, the message or number, and the phone number in the event.
func tell(event gateway.Event) story.Told {
	switch happened := event.GetActualInstance().(type) {
	case *gateway.MessageReceivedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageSentEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageDeliveredEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageReadEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageFailedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageEchoedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageEditedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageDeletedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.CallUpdatedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.NumberActivatedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.PhoneNumber}
	case *gateway.NumberDisconnectedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.PhoneNumber}
	case *gateway.NumberBannedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.PhoneNumber}
	case *gateway.TemplateUpdatedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.Name}
	case *gateway.ContactUpdatedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.NumberId}
	case *gateway.BroadcastStartedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.NumberId}
	case *gateway.BroadcastPausedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.NumberId}
	case *gateway.BroadcastCompletedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.NumberId}
	case *gateway.NumberUpdatedEvent:
		return story.Told{happened.Event, happened.Data.Id, happened.Data.PhoneNumber}
	}
	log.Fatal("an event of no kind")
	return story.Told{}
}
