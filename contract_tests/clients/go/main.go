// A customer's program with the client that OpenAPI Generator generates for Go.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"

	gateway "github.com/GIT_USER_ID/GIT_REPO_ID"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	recipient = "15551234567"
	picture   = "https://example.com/parcel.png"
)

type object = map[string]any

// told is a kind of event, an identifier and a phone number.
type told [3]string

var (
	owner    = context.WithValue(context.Background(), gateway.ContextAccessToken, os.Getenv("API_KEY"))
	arriving = bufio.NewReader(os.Stdin)
)

func main() {
	config := gateway.NewConfiguration()
	config.Servers = gateway.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	api := gateway.NewAPIClient(config)

	subscription := gateway.NewCreateWebhookRequest(os.Getenv("RECEIVER_URL"), gateway.AllowedEventKindEnumValues)
	webhook := must(api.WebhooksAPI.CreateWebhook(owner).CreateWebhookRequest(*subscription).Execute())
	number := connect(api)
	received := receive(webhook.Secret, 1)
	first := send(api, text(number.Id), "order-4711")
	if again := send(api, text(number.Id), "order-4711"); again != first {
		log.Fatal("it was sent twice")
	}
	received = append(received, receive(webhook.Secret, 3)...)
	picture := exchangePicture(api, number, webhook.Secret)
	rotated := must(api.WebhooksAPI.RotateWebhookSecret(owner, webhook.Id).Execute())
	sent := object{"text": first}
	for kind, request := range others(number.Id, first) {
		sent[kind] = send(api, request, "go-"+kind)
	}
	received = append(received, receive(rotated.Secret, 15)...)
	payload := newestPayload(api, webhook.Id)
	test := testWebhook(api, webhook.Id)
	sample := receive(rotated.Secret, 1)[0]
	must(api.WebhooksAPI.DeleteWebhook(owner, webhook.Id).Execute())
	write(os.Stdout, object{
		"number":   number.Id,
		"sent":     sent,
		"history":  history(api, first),
		"received": received,
		"secrets":  []string{webhook.Secret, rotated.Secret},
		"picture":  picture,
		"payload":  payload,
		"test":     test,
		"sample":   sample,
		"refusal":  refusal(api),
		"examples": examples(),
	})
}

// connect completes the public signup, like the owner of a number.
func connect(api *gateway.APIClient) *gateway.ConnectedNumber {
	visitor, slug := context.Background(), os.Getenv("SLUG")
	link := must(api.SignupAPI.GetSignupLink(visitor, slug).Execute())
	var signup gateway.CompleteSignupRequest
	granted := sandbox("signup", object{})
	signup.Code, signup.PhoneNumberId, signup.WabaId = granted["code"].(string), granted["phone_number_id"].(string), granted["waba_id"].(string)
	return must(api.SignupAPI.CompleteSignup(visitor, link.Slug).CompleteSignupRequest(signup).Execute())
}

func send(api *gateway.APIClient, request gateway.SendMessageRequest, key string) string {
	return must(api.MessagesAPI.SendMessage(owner).SendMessageRequest(request).IdempotencyKey(key).Execute()).Id
}

func text(number string) gateway.SendMessageRequest {
	content := gateway.NewTextContent("Your order has shipped.")
	return gateway.SendTextRequestAsSendMessageRequest(gateway.NewSendTextRequest(number, recipient, "text", *content))
}

// others has an image as a reply, a location, a list, a template and a reaction.
func others(number, answered string) map[string]gateway.SendMessageRequest {
	content := gateway.NewCaptionedMediaByLink(picture)
	content.SetCaption("A parcel")
	image := gateway.NewSendImageRequest(number, recipient, "image", gateway.CaptionedMediaByLinkAsImageContent(content))
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
			gateway.NewSendLocationRequest(number, recipient, "location", *location)),
		"interactive": gateway.SendInteractiveRequestAsSendMessageRequest(
			gateway.NewSendInteractiveRequest(number, recipient, "interactive", gateway.InteractiveListAsInteractiveContent(list))),
		"template": gateway.SendTemplateRequestAsSendMessageRequest(
			gateway.NewSendTemplateRequest(number, recipient, "template", *template())),
		"reaction": gateway.SendReactionRequestAsSendMessageRequest(
			gateway.NewSendReactionRequest(number, recipient, "reaction", *reaction)),
	}
}

// template has a picture, a name and a button.
func template() *gateway.TemplateContent {
	link := gateway.MediaByLinkAsMediaSource(gateway.NewMediaByLink(picture))
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

// exchangePicture uploads a picture, has the recipient send it, and downloads it.
func exchangePicture(api *gateway.APIClient, number *gateway.ConnectedNumber, secret string) string {
	file := must(os.Create("parcel.png"))
	must(file.WriteString("a picture"))
	must(file.Seek(0, io.SeekStart))
	uploaded := must(api.MediaAPI.UploadMedia(owner, number.Id).File(file).Execute())
	image := object{"id": uploaded.Id}
	sandbox("inbound", object{"to": number.PhoneNumber, "from": recipient, "type": "image", "image": image})
	message := next(secret).MessageReceivedEvent.Data
	if message.Body["mime_type"] != uploaded.MimeType {
		log.Fatal("the picture has another type: ", message.Body)
	}
	return string(must(io.ReadAll(must(api.MediaAPI.DownloadMedia(owner, message.Id).Execute()))))
}

// newestPayload is the event of the webhook's newest delivery, as the gateway stores it.
func newestPayload(api *gateway.APIClient, webhook string) told {
	page := must(api.DeliveriesAPI.ListWebhookDeliveries(owner, webhook).Limit(1).Execute())
	return tell(must(api.DeliveriesAPI.GetDelivery(owner, page.Data[0].Id).Execute()).Payload)
}

func testWebhook(api *gateway.APIClient, webhook string) object {
	request := gateway.NewTestWebhookRequest()
	request.SetEvent(gateway.NUMBER_BANNED)
	result := must(api.WebhooksAPI.TestWebhook(owner, webhook).TestWebhookRequest(*request).Execute())
	return object{"success": result.Success, "status": result.StatusCode}
}

func history(api *gateway.APIClient, message string) (statuses []gateway.MessageStatus) {
	for _, step := range must(api.MessagesAPI.GetMessage(owner, message).Execute()).StatusHistory {
		statuses = append(statuses, step.Status)
	}
	return statuses
}

// refusal returns the error for a number that does not exist.
func refusal(api *gateway.APIClient) object {
	_, _, err := api.NumbersAPI.GetNumber(owner, "num_unknown").Execute()
	var refused *gateway.GenericOpenAPIError
	if !errors.As(err, &refused) {
		log.Fatal("the error has no type: ", err)
	}
	answer := refused.Model().(gateway.ErrorResponse)
	if answer.Error.Code != gateway.NOT_FOUND {
		log.Fatal("another error: ", answer.Error.Message)
	}
	return object{"status": answer.Error.Status, "code": answer.Error.Code}
}

// receive returns the next deliveries.
func receive(secret string, count int) (received []told) {
	for range count {
		received = append(received, tell(next(secret)))
	}
	return received
}

// next verifies and parses the next delivery.
func next(secret string) gateway.Event {
	var delivery struct {
		Headers map[string]string
		Body    string
	}
	check(json.Unmarshal(must(arriving.ReadBytes('\n')), &delivery))
	headers := http.Header{}
	for name, value := range delivery.Headers {
		headers.Set(name, value)
	}
	check(must(standardwebhooks.NewWebhook(secret)).Verify([]byte(delivery.Body), headers))
	return parse([]byte(delivery.Body))
}

// examples parses the examples of the contract.
func examples() (parsed []told) {
	lines := must(os.ReadFile(os.Getenv("EVENTS")))
	for _, line := range bytes.Split(bytes.TrimSpace(lines), []byte("\n")) {
		parsed = append(parsed, tell(parse(line)))
	}
	return parsed
}

func parse(body []byte) (event gateway.Event) {
	check(json.Unmarshal(body, &event))
	return event
}

// tell returns the event kind, the message or number, and the phone number in the event.
func tell(event gateway.Event) told {
	switch happened := event.GetActualInstance().(type) {
	case *gateway.MessageReceivedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageSentEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageDeliveredEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageReadEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageFailedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageEchoedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageEditedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.MessageDeletedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.CallUpdatedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.FromNumber}
	case *gateway.NumberActivatedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.PhoneNumber}
	case *gateway.NumberDisconnectedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.PhoneNumber}
	case *gateway.NumberBannedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.PhoneNumber}
	case *gateway.TemplateUpdatedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.Name}
	case *gateway.ContactUpdatedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.NumberId}
	case *gateway.NumberUpdatedEvent:
		return told{happened.Event, happened.Data.Id, happened.Data.PhoneNumber}
	}
	log.Fatal("an event of no kind")
	return told{}
}

// sandbox acts as the platform or the recipient, which are not in the contract.
func sandbox(path string, body object) object {
	var sent bytes.Buffer
	write(&sent, body)
	response := must(http.Post(os.Getenv("SANDBOX_URL")+"/_sandbox/"+path, "application/json", &sent))
	defer response.Body.Close()
	var answer object
	check(json.NewDecoder(response.Body).Decode(&answer))
	return answer
}

// must returns the value of a call that cannot fail here.
func must[T any](value T, rest ...any) T {
	if err, failed := rest[len(rest)-1].(error); failed {
		check(err)
	}
	return value
}

func check(err error) {
	var refused *gateway.GenericOpenAPIError
	if errors.As(err, &refused) {
		log.Fatalf("%v: %s", err, refused.Body())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func write(out io.Writer, value any) { check(json.NewEncoder(out).Encode(value)) }
