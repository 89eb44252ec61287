//! A customer's program with the client that OpenAPI Generator generates for Rust.

use std::collections::HashMap;
use std::env::var;
use std::error::Error;
use std::io::stdin;

use openapi::apis;
use openapi::apis::configuration::Configuration;
use openapi::apis::{deliveries_api, media_api, messages_api, numbers_api, signup_api, webhooks_api};
use openapi::models::*;
use serde_json::{from_str, from_value, json, Value};

const RECIPIENT: &str = "15551234567";
const PICTURE: &str = "https://example.com/parcel.png";
const KINDS: [EventKind; 18] = [
    EventKind::MessageReceived,
    EventKind::MessageSent,
    EventKind::MessageDelivered,
    EventKind::MessageRead,
    EventKind::MessageFailed,
    EventKind::MessageEchoed,
    EventKind::MessageEdited,
    EventKind::MessageDeleted,
    EventKind::CallUpdated,
    EventKind::NumberActivated,
    EventKind::NumberDisconnected,
    EventKind::NumberBanned,
    EventKind::TemplateUpdated,
    EventKind::NumberUpdated,
    EventKind::ContactUpdated,
    EventKind::BroadcastStarted,
    EventKind::BroadcastPaused,
    EventKind::BroadcastCompleted,
];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let api = Configuration {
        base_path: var("BASE_URL")?,
        bearer_access_token: Some(var("API_KEY")?),
        ..Configuration::default()
    };
    let subscription = CreateWebhookRequest::new(var("RECEIVER_URL")?, KINDS.to_vec());
    let webhook = webhooks_api::create_webhook(&api, subscription.clone(), Some("crm")).await?;
    assert_eq!(webhooks_api::create_webhook(&api, subscription, Some("crm")).await?, webhook);
    let number = connect(&api).await?;
    let mut received = receive(&webhook.secret, 1)?;
    let first = send(&api, text(&number.id), "order-4711").await?;
    assert_eq!(send(&api, text(&number.id), "order-4711").await?, first);
    received.extend(receive(&webhook.secret, 3)?);
    let picture = exchange_picture(&api, &number, &webhook.secret).await?;
    let rotated = webhooks_api::rotate_webhook_secret(&api, &webhook.id).await?;
    let mut sent = HashMap::from([("text", first.clone())]);
    for (kind, request) in others(&number.id, &first) {
        sent.insert(kind, send(&api, request, &format!("rust-{kind}")).await?);
    }
    received.extend(receive(&rotated.secret, 15)?);
    let payload = newest_payload(&api, &webhook.id).await?;
    let of_kind = TestWebhookRequest { event: Some(EventKind::NumberBanned) };
    let test = webhooks_api::test_webhook(&api, &webhook.id, Some(of_kind)).await?;
    let sample = receive(&rotated.secret, 1)?.remove(0);
    webhooks_api::delete_webhook(&api, &webhook.id).await?;
    let message = messages_api::get_message(&api, &first).await?;
    let story = json!({
        "number": number.id,
        "sent": sent,
        "history": message.status_history.iter().map(|step| step.status).collect::<Vec<_>>(),
        "received": received,
        "secrets": [webhook.secret, rotated.secret],
        "picture": picture,
        "payload": payload,
        "test": {"success": test.success, "status": test.status_code},
        "sample": sample,
        "refusal": refusal(&api).await?,
        "examples": examples()?,
    });
    println!("{story}");
    Ok(())
}

/// Connects a number through the public signup routes, like its owner.
async fn connect(api: &Configuration) -> Result<ConnectedNumber> {
    let link = signup_api::get_signup_link(api, &var("SLUG")?).await?;
    let claim: CompleteSignupRequest = from_value(sandbox("signup", json!({})).await?)?;
    Ok(signup_api::complete_signup(api, &link.slug, claim).await?)
}

async fn send(api: &Configuration, request: SendMessageRequest, idempotency_key: &str) -> Result<String> {
    Ok(messages_api::send_message(api, request, Some(idempotency_key)).await?.id)
}

fn text(number: &str) -> SendMessageRequest {
    let content = TextContent::new("Your order has shipped.".into());
    let kind = send_text_request::Type::Text;
    SendMessageRequest::Text(SendTextRequest::new(number.into(), RECIPIENT.into(), kind, content).into())
}

/// An image as a reply, a location, a list, a template and a reaction.
fn others(number: &str, answered: &str) -> Vec<(&'static str, SendMessageRequest)> {
    let number = || number.to_owned();
    let to = || RECIPIENT.to_owned();
    let content = CaptionedMediaByLink { caption: Some("A parcel".into()), ..CaptionedMediaByLink::new(PICTURE.into()) };
    let content = ImageContent::CaptionedMediaByLink(content.into());
    let mut image = SendImageRequest::new(number(), to(), send_image_request::Type::Image, content);
    image.context = Some(MessageContext::new(answered.into()).into());
    let place = LocationContent { name: Some("The shop".into()), ..LocationContent::new(52.5, 13.25) };
    let place = SendLocationRequest::new(number(), to(), send_location_request::Type::Location, place);
    let list = InteractiveContent::List(list().into());
    let list = SendInteractiveRequest::new(number(), to(), send_interactive_request::Type::Interactive, list);
    let template = SendTemplateRequest::new(number(), to(), send_template_request::Type::Template, template());
    let reaction = ReactionContent::new(answered.into(), "👍".into());
    let reaction = SendReactionRequest::new(number(), to(), send_reaction_request::Type::Reaction, reaction);
    vec![
        ("image", SendMessageRequest::Image(image.into())),
        ("location", SendMessageRequest::Location(place.into())),
        ("interactive", SendMessageRequest::Interactive(list.into())),
        ("template", SendMessageRequest::Template(template.into())),
        ("reaction", SendMessageRequest::Reaction(reaction.into())),
    ]
}

/// A list to pick from.
fn list() -> InteractiveList {
    let rows = vec![
        ListRow::new("1".into(), "Morning".into()),
        ListRow::new("2".into(), "Evening".into()),
    ];
    InteractiveList::new(
        interactive_list::Type::List,
        InteractiveListBody::new("When?".into()),
        InteractiveListAction::new("Pick".into(), vec![ListSection::new(rows)]),
    )
}

/// A template with a picture, a name and a button.
fn template() -> TemplateContent {
    let link = MediaSource::MediaByLink(MediaByLink::new(PICTURE.into()).into());
    let picture = ImageHeader::new(image_header::Type::Image, link);
    let name = TextParameter::new(text_parameter::Type::Text, "Ana".into());
    let stop = PayloadParameter::new(payload_parameter::Type::Payload, "STOP".into());
    let header = TemplateHeader::new(
        template_header::Type::Header,
        vec![TemplateHeaderParameter::Image(picture.into())],
    );
    let body = TemplateBody::new(
        template_body::Type::Body,
        vec![TemplateBodyParameter::Text(name.into())],
    );
    let button = TemplateButton::new(
        template_button::Type::Button,
        TemplateButtonKind::QuickReply,
        "0".into(),
        vec![TemplateButtonParameter::Payload(stop.into())],
    );
    let components = vec![
        TemplateComponent::Header(header.into()),
        TemplateComponent::Body(body.into()),
        TemplateComponent::Button(button.into()),
    ];
    let content = TemplateContent::new("order_update".into(), TemplateLanguage::new("en_US".into()));
    TemplateContent { components: Some(components), ..content }
}

/// Uploads a picture, has the recipient send it, and downloads it.
async fn exchange_picture(api: &Configuration, number: &ConnectedNumber, secret: &str) -> Result<String> {
    std::fs::write("parcel.png", "a picture")?;
    let uploaded = media_api::upload_media(api, &number.id, "parcel.png".into(), None).await?;
    let image = json!({"id": uploaded.id});
    let inbound = json!({"to": number.phone_number, "from": RECIPIENT, "type": "image", "image": image});
    sandbox("inbound", inbound).await?;
    let Happened::Received(event) = next(secret)? else {
        return Err("the inbound message did not come".into());
    };
    assert_eq!(event.data.body["mime_type"], uploaded.mime_type);
    Ok(media_api::download_media(api, &event.data.id).await?.text().await?)
}

/// The event of the webhook's newest delivery, as the gateway stores it. `deliveries_api::get_delivery` cannot parse it,
/// for the reason above `Happened`.
async fn newest_payload(api: &Configuration, webhook: &str) -> Result<Value> {
    let page = deliveries_api::list_webhook_deliveries(api, webhook, None, None, None, None, Some(1), None, None, None).await?;
    let url = format!("{}/deliveries/{}", api.base_path, page.data[0].id);
    let key = api.bearer_access_token.as_ref().ok_or("no key")?;
    let delivery: Value = api.client.get(url).bearer_auth(key).send().await?.json().await?;
    Ok(tell(parse(delivery["payload"].clone())?))
}

fn receive(secret: &str, count: usize) -> Result<Vec<Value>> {
    (0..count).map(|_| Ok(tell(next(secret)?))).collect()
}

/// Verifies and parses the next delivery.
fn next(secret: &str) -> Result<Happened> {
    let mut line = String::new();
    stdin().read_line(&mut line)?;
    let delivery: Value = from_str(&line)?;
    let headers: HashMap<String, String> = from_value(delivery["headers"].clone())?;
    let body = delivery["body"].as_str().ok_or("a delivery without a body")?;
    standardwebhooks::Webhook::new(secret)?.verify(body.as_bytes(), &(&headers).try_into()?)?;
    parse(from_str(body)?)
}

fn examples() -> Result<Vec<Value>> {
    let lines = std::fs::read_to_string(var("EVENTS")?)?;
    lines.lines().map(|line| Ok(tell(parse(from_str(line)?)?))).collect()
}

/// The events by their kind. `models::Event` itself cannot be parsed: serde takes its tag out, and the members require it.
enum Happened {
    Received(MessageReceivedEvent),
    Sent(MessageSentEvent),
    Delivered(MessageDeliveredEvent),
    Read(MessageReadEvent),
    Failed(MessageFailedEvent),
    Echoed(MessageEchoedEvent),
    Edited(MessageEditedEvent),
    Deleted(MessageDeletedEvent),
    CallUpdated(CallUpdatedEvent),
    Activated(NumberActivatedEvent),
    Disconnected(NumberDisconnectedEvent),
    Banned(NumberBannedEvent),
    TemplateUpdated(TemplateUpdatedEvent),
    NumberUpdated(NumberUpdatedEvent),
    ContactUpdated(ContactUpdatedEvent),
    BroadcastStarted(BroadcastStartedEvent),
    BroadcastPaused(BroadcastPausedEvent),
    BroadcastCompleted(BroadcastCompletedEvent),
}

fn parse(event: Value) -> Result<Happened> {
    Ok(match event["event"].as_str().unwrap_or_default() {
        "message.received" => Happened::Received(from_value(event)?),
        "message.sent" => Happened::Sent(from_value(event)?),
        "message.delivered" => Happened::Delivered(from_value(event)?),
        "message.read" => Happened::Read(from_value(event)?),
        "message.failed" => Happened::Failed(from_value(event)?),
        "message.echoed" => Happened::Echoed(from_value(event)?),
        "message.edited" => Happened::Edited(from_value(event)?),
        "message.deleted" => Happened::Deleted(from_value(event)?),
        "call.updated" => Happened::CallUpdated(from_value(event)?),
        "number.activated" => Happened::Activated(from_value(event)?),
        "number.disconnected" => Happened::Disconnected(from_value(event)?),
        "number.banned" => Happened::Banned(from_value(event)?),
        "template.updated" => Happened::TemplateUpdated(from_value(event)?),
        "number.updated" => Happened::NumberUpdated(from_value(event)?),
        "contact.updated" => Happened::ContactUpdated(from_value(event)?),
        "broadcast.started" => Happened::BroadcastStarted(from_value(event)?),
        "broadcast.paused" => Happened::BroadcastPaused(from_value(event)?),
        "broadcast.completed" => Happened::BroadcastCompleted(from_value(event)?),
        unknown => return Err(format!("an unknown event: {unknown}").into()),
    })
}

/// The event kind, the message or number, and the phone number in the event.
fn tell(event: Happened) -> Value {
    let message = |kind: &str, message: &Message| json!([kind, message.id, message.from_number]);
    let number = |kind: &str, number: &ConnectedNumber| json!([kind, number.id, number.phone_number]);
    let broadcast = |kind: &str, broadcast: &Broadcast| json!([kind, broadcast.id, broadcast.number_id]);
    match event {
        Happened::Received(event) => message("message.received", &event.data),
        Happened::Sent(event) => message("message.sent", &event.data),
        Happened::Delivered(event) => message("message.delivered", &event.data),
        Happened::Read(event) => message("message.read", &event.data),
        Happened::Failed(event) => message("message.failed", &event.data),
        Happened::Echoed(event) => message("message.echoed", &event.data),
        Happened::Edited(event) => message("message.edited", &event.data),
        Happened::Deleted(event) => message("message.deleted", &event.data),
        Happened::CallUpdated(event) => json!(["call.updated", event.data.id, event.data.from_number]),
        Happened::Activated(event) => number("number.activated", &event.data),
        Happened::Disconnected(event) => number("number.disconnected", &event.data),
        Happened::Banned(event) => number("number.banned", &event.data),
        Happened::TemplateUpdated(event) => json!(["template.updated", event.data.id, event.data.name]),
        Happened::NumberUpdated(event) => number("number.updated", &event.data),
        Happened::ContactUpdated(event) => json!(["contact.updated", event.data.id, event.data.number_id]),
        Happened::BroadcastStarted(event) => broadcast("broadcast.started", &event.data),
        Happened::BroadcastPaused(event) => broadcast("broadcast.paused", &event.data),
        Happened::BroadcastCompleted(event) => broadcast("broadcast.completed", &event.data),
    }
}

/// The error for a number that does not exist.
async fn refusal(api: &Configuration) -> Result<Value> {
    match numbers_api::get_number(api, "num_unknown").await {
        // `entity` is always the first alternative, because all have one shape. So the body is parsed instead.
        Err(apis::Error::ResponseError(refused)) => {
            let ErrorResponse { error } = from_str(&refused.content)?;
            Ok(json!({"status": error.status, "code": error.code}))
        }
        other => Err(format!("an unknown number was found: {other:?}").into()),
    }
}

/// The actions of the platform and the recipient, which are not in the gateway's contract.
async fn sandbox(path: &str, body: Value) -> Result<Value> {
    let url = format!("{}/_sandbox/{path}", var("SANDBOX_URL")?);
    Ok(reqwest::Client::new().post(url).json(&body).send().await?.error_for_status()?.json().await?)
}
