import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.standardwebhooks.Webhook;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.DeliveriesApi;
import org.openapitools.client.api.MediaApi;
import org.openapitools.client.api.MessagesApi;
import org.openapitools.client.api.NumbersApi;
import org.openapitools.client.api.SignupApi;
import org.openapitools.client.api.WebhooksApi;
import org.openapitools.client.model.*;

/** A customer's program with the client that OpenAPI Generator generates for Java. */
public class Main {
  private static final String RECIPIENT = "15551234567";
  private static final String PICTURE = "https://example.com/parcel.png";
  private static final ApiClient API = new ApiClient().setBasePath(System.getenv("BASE_URL"));
  private static final MessagesApi MESSAGES = new MessagesApi(API);
  private static final WebhooksApi WEBHOOKS = new WebhooksApi(API);
  private static final BufferedReader ARRIVING =
      new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

  public static void main(String[] arguments) throws Exception {
    API.setBearerToken(System.getenv("API_KEY"));
    var kinds = List.of(EventKind.values());
    var subscription = new CreateWebhookRequest().url(System.getenv("RECEIVER_URL")).events(kinds);
    var webhook = WEBHOOKS.createWebhook(subscription, "crm");
    if (!WEBHOOKS.createWebhook(subscription, "crm").equals(webhook)) throw new AssertionError("there are two");
    ConnectedNumber number = connect();
    var received = receive(webhook.getSecret(), 1);
    String first = send(text(number.getId()), "order-4711");
    if (!send(text(number.getId()), "order-4711").equals(first)) throw new AssertionError("it was sent twice");
    received.addAll(receive(webhook.getSecret(), 3));
    String picture = exchangePicture(number, webhook.getSecret());
    var rotated = WEBHOOKS.rotateWebhookSecret(webhook.getId());
    Map<String, String> sent = new LinkedHashMap<>(Map.of("text", first));
    for (var other : others(number.getId(), first).entrySet()) {
      sent.put(other.getKey(), send(other.getValue(), "java-" + other.getKey()));
    }
    received.addAll(receive(rotated.getSecret(), 15));
    List<String> payload = newestPayload(webhook.getId());
    var test = WEBHOOKS.testWebhook(webhook.getId(), new TestWebhookRequest().event(EventKind.NUMBER_BANNED));
    var sample = receive(rotated.getSecret(), 1).get(0);
    WEBHOOKS.deleteWebhook(webhook.getId());
    Map<String, Object> story = new LinkedHashMap<>();
    story.put("number", number.getId());
    story.put("sent", sent);
    story.put("history", MESSAGES.getMessage(first).getStatusHistory().stream().map(StatusChange::getStatus).toList());
    story.put("received", received);
    story.put("secrets", List.of(webhook.getSecret(), rotated.getSecret()));
    story.put("picture", picture);
    story.put("payload", payload);
    story.put("test", Map.of("success", test.getSuccess(), "status", test.getStatusCode()));
    story.put("sample", sample);
    story.put("refusal", refusal());
    story.put("examples", examples());
    System.out.println(new Gson().toJson(story));
  }

  /** Connects a number through the public signup routes, like its owner. */
  private static ConnectedNumber connect() throws Exception {
    var signup = new SignupApi(API);
    SignupLink link = signup.getSignupLink(System.getenv("SLUG"));
    JsonObject granted = sandbox("signup", Map.of());
    var claim = new CompleteSignupRequest()
        .code(granted.get("code").getAsString())
        .phoneNumberId(granted.get("phone_number_id").getAsString())
        .wabaId(granted.get("waba_id").getAsString());
    return signup.completeSignup(link.getSlug(), claim);
  }

  private static String send(SendMessageRequest request, String idempotencyKey) throws ApiException {
    return MESSAGES.sendMessage(request, idempotencyKey).getId();
  }

  private static SendMessageRequest text(String number) {
    return new SendMessageRequest(new SendTextRequest()
        .numberId(number).to(RECIPIENT).type(SendTextRequest.TypeEnum.TEXT)
        .text(new TextContent().body("Your order has shipped.")));
  }

  /** An image as a reply, a location, a list, a template and a reaction. */
  private static Map<String, SendMessageRequest> others(String number, String answered) {
    var image = new CaptionedMediaByLink().link(PICTURE).caption("A parcel");
    var rows = List.of(new ListRow().id("1").title("Morning"), new ListRow().id("2").title("Evening"));
    var list = new InteractiveList()
        .type(InteractiveList.TypeEnum.LIST)
        .body(new InteractiveListBody().text("When?"))
        .action(new InteractiveListAction().button("Pick").addSectionsItem(new ListSection().rows(rows)));
    return Map.of(
        "image", new SendMessageRequest(new SendImageRequest()
            .numberId(number).to(RECIPIENT).type(SendImageRequest.TypeEnum.IMAGE)
            .context(new MessageContext().messageId(answered)).image(new ImageContent(image))),
        "location", new SendMessageRequest(new SendLocationRequest()
            .numberId(number).to(RECIPIENT).type(SendLocationRequest.TypeEnum.LOCATION)
            .location(new LocationContent().latitude(52.5).longitude(13.25).name("The shop"))),
        "interactive", new SendMessageRequest(new SendInteractiveRequest()
            .numberId(number).to(RECIPIENT).type(SendInteractiveRequest.TypeEnum.INTERACTIVE)
            .interactive(new InteractiveContent(list))),
        "template", new SendMessageRequest(new SendTemplateRequest()
            .numberId(number).to(RECIPIENT).type(SendTemplateRequest.TypeEnum.TEMPLATE).template(template())),
        "reaction", new SendMessageRequest(new SendReactionRequest()
            .numberId(number).to(RECIPIENT).type(SendReactionRequest.TypeEnum.REACTION)
            .reaction(new ReactionContent().messageId(answered).emoji("👍"))));
  }

  /** A template with a picture, a name and a button. */
  private static TemplateContent template() {
    var picture = new ImageHeader()
        .type(ImageHeader.TypeEnum.IMAGE)
        .image(new MediaSource(new MediaByLink().link(PICTURE)));
    var header = new TemplateHeader()
        .type(TemplateHeader.TypeEnum.HEADER)
        .addParametersItem(new TemplateHeaderParameter(picture));
    var name = new TextParameter().type(TextParameter.TypeEnum.TEXT).text("Ana");
    var body = new TemplateBody()
        .type(TemplateBody.TypeEnum.BODY)
        .addParametersItem(new TemplateBodyParameter(name));
    var stop = new PayloadParameter().type(PayloadParameter.TypeEnum.PAYLOAD).payload("STOP");
    var button = new TemplateButton()
        .type(TemplateButton.TypeEnum.BUTTON)
        .subType(TemplateButtonKind.QUICK_REPLY)
        .index("0")
        .addParametersItem(new TemplateButtonParameter(stop));
    return new TemplateContent()
        .name("order_update")
        .language(new TemplateLanguage().code("en_US"))
        .addComponentsItem(new TemplateComponent(header))
        .addComponentsItem(new TemplateComponent(body))
        .addComponentsItem(new TemplateComponent(button));
  }

  /** Uploads a picture, has the recipient send it, and downloads it. */
  private static String exchangePicture(ConnectedNumber number, String secret) throws Exception {
    var media = new MediaApi(API);
    Path picture = Files.writeString(Path.of("parcel.png"), "a picture");
    UploadedMedia uploaded = media.uploadMedia(number.getId(), picture.toFile(), null);
    sandbox("inbound", Map.of(
        "to", number.getPhoneNumber(), "from", RECIPIENT, "type", "image", "image", Map.of("id", uploaded.getId())));
    var inbound = (MessageReceivedEvent) next(secret).getActualInstance();
    if (!uploaded.getMimeType().equals(inbound.getData().getBody().get("mime_type"))) throw new AssertionError(inbound);
    return Files.readString(media.downloadMedia(inbound.getData().getId()).toPath());
  }

  /** The event of the webhook's newest delivery, as the gateway stores it. */
  private static List<String> newestPayload(String webhook) throws ApiException {
    var deliveries = new DeliveriesApi(API);
    var page = deliveries.listWebhookDeliveries(webhook, null, null, null, null, 1, null, null, null);
    return tell(deliveries.getDelivery(page.getData().get(0).getId()).getPayload());
  }

  private static List<List<String>> receive(String secret, int count) throws Exception {
    List<List<String>> received = new ArrayList<>();
    while (received.size() < count) received.add(tell(next(secret)));
    return received;
  }

  /** Verifies and parses the next delivery. */
  private static Event next(String secret) throws Exception {
    JsonObject delivery = JsonParser.parseString(ARRIVING.readLine()).getAsJsonObject();
    String body = delivery.get("body").getAsString();
    Map<String, List<String>> headers = new LinkedHashMap<>();
    for (Map.Entry<String, JsonElement> header : delivery.getAsJsonObject("headers").entrySet()) {
      headers.put(header.getKey(), List.of(header.getValue().getAsString()));
    }
    new Webhook(secret).verify(body, HttpHeaders.of(headers, (name, value) -> true));
    return Event.fromJson(body);
  }

  /** The error for a number that does not exist. */
  private static Map<String, Object> refusal() throws IOException {
    try {
      new NumbersApi(API).getNumber("num_unknown");
    } catch (ApiException refused) {
      ErrorBody error = ErrorResponse.fromJson(refused.getResponseBody()).getError();
      return Map.of("status", error.getStatus(), "code", error.getCode());
    }
    throw new AssertionError("an unknown number was found");
  }

  private static List<List<String>> examples() throws IOException {
    List<List<String>> told = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of(System.getenv("EVENTS")))) {
      told.add(tell(Event.fromJson(line)));
    }
    return told;
  }

  /** The event kind, the message or number, and the phone number in the event. */
  private static List<String> tell(Event event) {
    Object happened = event.getActualInstance();
    if (happened instanceof MessageReceivedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof MessageSentEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof MessageDeliveredEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof MessageReadEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof MessageFailedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof MessageEchoedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof MessageEditedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof MessageDeletedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof CallUpdatedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof NumberActivatedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof NumberDisconnectedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof NumberBannedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof TemplateUpdatedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof NumberUpdatedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof ContactUpdatedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof BroadcastStartedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof BroadcastPausedEvent e) return of(e.getEvent(), e.getData());
    if (happened instanceof BroadcastCompletedEvent e) return of(e.getEvent(), e.getData());
    throw new AssertionError("an event of no kind");
  }

  private static List<String> of(Object kind, Message message) {
    return List.of(kind.toString(), message.getId(), message.getFromNumber());
  }

  private static List<String> of(Object kind, Call call) {
    return List.of(kind.toString(), call.getId(), call.getFromNumber());
  }

  private static List<String> of(Object kind, ConnectedNumber number) {
    return List.of(kind.toString(), number.getId(), number.getPhoneNumber());
  }

  private static List<String> of(Object kind, Contact contact) {
    return List.of(kind.toString(), contact.getId(), contact.getNumberId());
  }

  private static List<String> of(Object kind, Broadcast broadcast) {
    return List.of(kind.toString(), broadcast.getId(), broadcast.getNumberId());
  }

  private static List<String> of(Object kind, Template template) {
    return List.of(kind.toString(), template.getId(), template.getName());
  }

  /** The actions of the platform and the recipient, which are not in the gateway's contract. */
  private static JsonObject sandbox(String path, Map<String, ?> body) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(System.getenv("SANDBOX_URL") + "/_sandbox/" + path))
        .version(HttpClient.Version.HTTP_1_1)
        .header("Content-Type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(new Gson().toJson(body)))
        .build();
    var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    return JsonParser.parseString(answer.body()).getAsJsonObject();
  }
}
