# frozen_string_literal: true

# A customer's program with the client that OpenAPI Generator generates for Ruby, and Debian's ruby-typhoeus.

require "json"
require "net/http"
require "openssl"

$LOAD_PATH.unshift("#{__dir__}/client/lib")
require "openapi_client"

include OpenapiClient

RECIPIENT = "15551234567"
PICTURE = "https://example.com/parcel.png"

OpenapiClient.configure do |config|
  base = URI(ENV.fetch("BASE_URL"))
  config.scheme = base.scheme
  config.host = "#{base.host}:#{base.port}"
  config.base_path = base.path
  config.access_token = ENV.fetch("API_KEY")
  config.logger = Logger.new($stderr)
end

MESSAGES = MessagesApi.new
WEBHOOKS = WebhooksApi.new

# The actions of the platform and the recipient, which are not in the gateway's contract.
def sandbox(path, body)
  url = URI("#{ENV.fetch('SANDBOX_URL')}/_sandbox/#{path}")
  answer = Net::HTTP.post(url, JSON.generate(body), "Content-Type" => "application/json")
  JSON.parse(answer.body)
end

# Connects a number through the public signup routes, like its owner.
def connect
  signup = SignupApi.new
  link = signup.get_signup_link(ENV.fetch("SLUG"))
  claim = sandbox("signup", {}).slice("code", "phone_number_id", "waba_id")
  signup.complete_signup(link.slug, CompleteSignupRequest.new(claim))
end

def send_message(request, idempotency_key)
  MESSAGES.send_message(request, idempotency_key: idempotency_key).id
end

def text(number)
  content = TextContent.new(body: "Your order has shipped.")
  SendTextRequest.new(number_id: number, to: RECIPIENT, type: "text", text: content)
end

# An image as a reply, a location, a list, a template and a reaction.
def others(number, answered)
  to = { number_id: number, to: RECIPIENT }
  context = MessageContext.new(message_id: answered)
  image = CaptionedMediaByLink.new(link: PICTURE, caption: "A parcel")
  place = LocationContent.new(latitude: 52.5, longitude: 13.25, name: "The shop")
  rows = [ListRow.new(id: "1", title: "Morning"), ListRow.new(id: "2", title: "Evening")]
  list = InteractiveList.new(
    type: "list",
    body: InteractiveListBody.new(text: "When?"),
    action: InteractiveListAction.new(button: "Pick", sections: [ListSection.new(rows: rows)])
  )
  thumb = ReactionContent.new(message_id: answered, emoji: "👍")
  {
    image: SendImageRequest.new(**to, type: "image", context: context, image: image),
    location: SendLocationRequest.new(**to, type: "location", location: place),
    interactive: SendInteractiveRequest.new(**to, type: "interactive", interactive: list),
    template: SendTemplateRequest.new(**to, type: "template", template: template),
    reaction: SendReactionRequest.new(**to, type: "reaction", reaction: thumb)
  }
end

# A template with a picture, a name and a button.
def template
  picture = ImageHeader.new(type: "image", image: MediaByLink.new(link: PICTURE))
  name = TextParameter.new(type: "text", text: "Ana")
  stop = PayloadParameter.new(type: "payload", payload: "STOP")
  TemplateContent.new(
    name: "order_update",
    language: TemplateLanguage.new(code: "en_US"),
    components: [
      TemplateHeader.new(type: "header", parameters: [picture]),
      TemplateBody.new(type: "body", parameters: [name]),
      TemplateButton.new(
        type: "button", sub_type: TemplateButtonKind::QUICK_REPLY, index: "0", parameters: [stop]
      )
    ]
  )
end

# Uploads a picture, has the recipient send it, and downloads it.
def exchange_picture(number, secret)
  File.write("parcel.png", "a picture")
  uploaded = MediaApi.new.upload_media(number.id, File.new("parcel.png"))
  sandbox("inbound", to: number.phone_number, from: RECIPIENT, type: "image", image: { id: uploaded.id })
  message = next_event(secret).data
  raise "the picture has another type" unless message.body["mime_type"] == uploaded.mime_type

  File.read(MediaApi.new.download_media(message.id).path)
end

# The event of the webhook's newest delivery, as the gateway stores it.
def newest_payload(webhook)
  deliveries = DeliveriesApi.new
  newest = deliveries.list_webhook_deliveries(webhook, limit: 1).data.first
  tell(deliveries.get_delivery(newest.id).payload)
end

def parse(body)
  Event.build(JSON.parse(body, symbolize_names: true))
end

# The event kind, the message or number, and the phone number in the event.
def tell(event)
  about = event.data
  return [event.event, about.id, about.name] if about.is_a?(Template)
  return [event.event, about.id, about.number_id] if about.is_a?(Contact) || about.is_a?(Broadcast)

  [event.event, about.id, about.is_a?(Message) || about.is_a?(Call) ? about.from_number : about.phone_number]
end

# Verifies and parses the next delivery.
def next_event(secret)
  delivery = JSON.parse($stdin.gets)
  expected = "sha256=#{OpenSSL::HMAC.hexdigest('SHA256', secret, delivery['body'])}"
  unless OpenSSL.secure_compare(expected, delivery["headers"]["x-service-signature"])
    raise "a wrong signature"
  end

  parse(delivery["body"])
end

def receive(secret, count)
  Array.new(count) { tell(next_event(secret)) }
end

# The error for a number that does not exist.
def refusal
  NumbersApi.new.get_number("num_unknown")
  raise "an unknown number was found"
rescue ApiError => e
  error = ErrorResponse.build_from_hash(JSON.parse(e.response_body, symbolize_names: true)).error
  { status: error.status, code: error.code }
end

subscription = { url: ENV.fetch("RECEIVER_URL"), events: EventKind.all_vars }
webhook, again = Array.new(2) { WEBHOOKS.create_webhook(CreateWebhookRequest.new(subscription), idempotency_key: "crm") }
raise "there are two webhooks" unless again == webhook
number = connect
received = receive(webhook.secret, 1)
first = send_message(text(number.id), "order-4711")
raise "it was sent twice" unless send_message(text(number.id), "order-4711") == first

received += receive(webhook.secret, 3)
picture = exchange_picture(number, webhook.secret)
rotated = WEBHOOKS.rotate_webhook_secret(webhook.id)
sent = { text: first }
others(number.id, first).each { |type, request| sent[type] = send_message(request, "ruby-#{type}") }
received += receive(rotated.secret, 15)
payload = newest_payload(webhook.id)
kind = TestWebhookRequest.new(event: EventKind::NUMBER_BANNED)
test = WEBHOOKS.test_webhook(webhook.id, test_webhook_request: kind)
sample = receive(rotated.secret, 1).first
WEBHOOKS.delete_webhook(webhook.id)
puts JSON.generate(
  number: number.id,
  sent: sent,
  history: MESSAGES.get_message(first).status_history.map(&:status),
  received: received,
  secrets: [webhook.secret, rotated.secret],
  picture: picture,
  payload: payload,
  test: { success: test.success, status: test.status_code },
  sample: sample,
  refusal: refusal,
  examples: File.readlines(ENV.fetch("EVENTS")).map { |line| tell(parse(line)) }
)
