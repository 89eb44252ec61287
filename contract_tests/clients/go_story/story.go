// Package story is the task of contract_tests/clients/story.py for all generated clients in Go.
package story

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	Recipient = "15551234567"
	Picture   = "https://example.com/parcel.png"
)

type Object = map[string]any

// Told is a kind of event, an identifier and a phone number.
type Told [3]string

type Webhook struct{ ID, Secret string }

type Number struct{ ID, PhoneNumber string }

// Signup is the result of the platform's signup.
type Signup struct {
	Code          string
	PhoneNumberID string `json:"phone_number_id"`
	WabaID        string `json:"waba_id"`
}

// File is a file of the network.
type File struct{ ID, MimeType string }

// Client is a generated client. Request is its class of a message to send. Its methods end the program if they fail.
type Client[Request any] interface {
	CreateWebhook(url, key string) Webhook
	RotateSecret(webhook string) Webhook
	TestWebhook(webhook string) Object
	DeleteWebhook(webhook string)
	Connect(slug string, granted Signup) Number
	Text(number string) Request
	// Others are an image as a reply, a location, a list, a template and a reaction.
	Others(number, answered string) map[string]Request
	Send(request Request, key string) string
	History(message string) any
	Upload(number string, name string, content string) File
	// Received has the message of an event and the type of its file.
	Received(body []byte) File
	Download(message string) string
	// NewestPayload is the event of the webhook's newest delivery, as the gateway stores it.
	NewestPayload(webhook string) Told
	// FailedDeliveries has the kinds of the webhook's failed deliveries, ReadDeliveries those of its message.read.
	FailedDeliveries(webhook string) []string
	ReadDeliveries(webhook string, since time.Time) []string
	// Outcomes has the kinds of the events message.read and message.failed.
	Outcomes(since time.Time) []string
	// CreateTemplate submits a template with one text, and returns its identifier.
	CreateTemplate(number, key string) string
	// Refusal is the error for a number that does not exist.
	Refusal() Object
	// Tell parses an event.
	Tell(body []byte) Told
}

var arriving = bufio.NewReader(os.Stdin)

// Run does the whole job with a client and prints the story.
func Run[Request any](api Client[Request]) {
	webhook := api.CreateWebhook(os.Getenv("RECEIVER_URL"), "crm")
	if api.CreateWebhook(os.Getenv("RECEIVER_URL"), "crm") != webhook {
		log.Fatal("there are two webhooks")
	}
	var granted Signup
	sandbox("signup", Object{}, &granted)
	number := api.Connect(os.Getenv("SLUG"), granted)
	received := receive(api, webhook.Secret, 1)
	first := api.Send(api.Text(number.ID), "order-4711")
	if again := api.Send(api.Text(number.ID), "order-4711"); again != first {
		log.Fatal("it was sent twice")
	}
	received = append(received, receive(api, webhook.Secret, 3)...)
	picture := exchangePicture(api, number, webhook.Secret)
	rotated := api.RotateSecret(webhook.ID)
	sent := Object{"text": first}
	for kind, request := range api.Others(number.ID, first) {
		sent[kind] = api.Send(request, "go-"+kind)
	}
	received = append(received, receive(api, rotated.Secret, 15)...)
	checkFilters(api, webhook.ID)
	payload := api.NewestPayload(webhook.ID)
	test := api.TestWebhook(webhook.ID)
	sample := receive(api, rotated.Secret, 1)[0]
	api.DeleteWebhook(webhook.ID)
	// After the deletion, because its review causes an event.
	template := api.CreateTemplate(number.ID, "order-shipped")
	if api.CreateTemplate(number.ID, "order-shipped") != template {
		log.Fatal("there are two templates")
	}
	write(os.Stdout, Object{
		"number":   number.ID,
		"sent":     sent,
		"history":  api.History(first),
		"received": received,
		"secrets":  []string{webhook.Secret, rotated.Secret},
		"picture":  picture,
		"payload":  payload,
		"test":     test,
		"sample":   sample,
		"refusal":  api.Refusal(),
		"examples": examples(api),
	})
}

// checkFilters lists deliveries and events, of which only message.read of the six messages fits. None failed.
func checkFilters[Request any](api Client[Request], webhook string) {
	earlier, later := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	reads := slices.Repeat([]string{"message.read"}, 6)
	expect("failed deliveries", api.FailedDeliveries(webhook), nil)
	expect("deliveries", api.ReadDeliveries(webhook, earlier), reads)
	expect("later deliveries", api.ReadDeliveries(webhook, later), nil)
	expect("events", api.Outcomes(earlier), reads)
	expect("later events", api.Outcomes(later), nil)
}

// expect ends the program if other kinds were found.
func expect(what string, found, expected []string) {
	if !slices.Equal(found, expected) {
		log.Fatal("other ", what, " were found: ", found)
	}
}

// Kinds returns the kind of each item.
func Kinds[Item any, Kind ~string](items []Item, kind func(Item) Kind) (found []string) {
	for _, item := range items {
		found = append(found, string(kind(item)))
	}
	return found
}

// exchangePicture uploads a picture, has the recipient send it, and downloads it.
func exchangePicture[Request any](api Client[Request], number Number, secret string) string {
	uploaded := api.Upload(number.ID, "parcel.png", "a picture")
	image := Object{"id": uploaded.ID}
	message := Object{"to": number.PhoneNumber, "from": Recipient, "type": "image", "image": image}
	sandbox("inbound", message, &Object{})
	received := api.Received(next(secret))
	if received.MimeType != uploaded.MimeType {
		log.Fatal("the picture has another type: ", received.MimeType)
	}
	return api.Download(received.ID)
}

// receive returns the next deliveries.
func receive[Request any](api Client[Request], secret string, count int) (received []Told) {
	for range count {
		received = append(received, api.Tell(next(secret)))
	}
	return received
}

// next returns the body of the next delivery, verified.
func next(secret string) []byte {
	var delivery struct {
		Headers map[string]string
		Body    string
	}
	Check(json.Unmarshal(Must(arriving.ReadBytes('\n')), &delivery))
	headers := http.Header{}
	for name, value := range delivery.Headers {
		headers.Set(name, value)
	}
	Check(Must(standardwebhooks.NewWebhook(secret)).Verify([]byte(delivery.Body), headers))
	return []byte(delivery.Body)
}

// examples parses the examples of the contract.
func examples[Request any](api Client[Request]) (parsed []Told) {
	lines := Must(os.ReadFile(os.Getenv("EVENTS")))
	for _, line := range bytes.Split(bytes.TrimSpace(lines), []byte("\n")) {
		parsed = append(parsed, api.Tell(line))
	}
	return parsed
}

// sandbox acts as the platform or the recipient, which are not in the contract.
func sandbox(path string, body Object, answer any) {
	var sent bytes.Buffer
	write(&sent, body)
	response := Must(http.Post(os.Getenv("SANDBOX_URL")+"/_sandbox/"+path, "application/json", &sent))
	defer response.Body.Close()
	Check(json.NewDecoder(response.Body).Decode(answer))
}

// Must returns the value of a call that cannot fail here.
func Must[T any](value T, rest ...any) T {
	if err, failed := rest[len(rest)-1].(error); failed {
		Check(err)
	}
	return value
}

// Check ends the program at an error, and prints the body of the response, if it has one.
func Check(err error) {
	var refused interface {
		error
		Body() []byte
	}
	if errors.As(err, &refused) {
		log.Fatalf("%v: %s", err, refused.Body())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func write(out io.Writer, value any) { Check(json.NewEncoder(out).Encode(value)) }
