// Every call of whatsapp-api-js for messages, media, QR codes and blocking. The first
// argument is its input as JSON. Each line of output is JSON: the method, the kind of call, the response.
import { WhatsAppAPI } from "whatsapp-api-js";
import * as m from "whatsapp-api-js/messages";

const { token, phone, person, inbound, mediaId, qrCode, link } = JSON.parse(process.argv[2]);
const api = new WhatsAppAPI({ token, secure: false, v: "v25.0" });

const say = (method, kind, answer) => console.log(JSON.stringify({ method, kind, answer }));
const body = new m.Body("Which one?");
const fish = new m.Product("sku-1");
const soldFish = new m.CatalogProduct("sku-1", "4711");
const messages = {
    text: new m.Text("Hello", true),
    image: new m.Image(`${link}.png`, false, "A picture"),
    "image by id": new m.Image(mediaId, true),
    audio: new m.Audio(`${link}.ogg`, false, true),
    document: new m.Document(`${link}.pdf`, false, "A bill", "bill.pdf"),
    sticker: new m.Sticker(`${link}.webp`),
    video: new m.Video(`${link}.mp4`),
    location: new m.Location(18.42, -33.92, "Harbour", "1 Quay"),
    reaction: new m.Reaction(inbound, "\u{1F44D}"),
    contacts: new m.Contacts([
        new m.Name("Ana Diaz", "Ana"),
        new m.Phone("+1 650 555 1234", "CELL", person),
        new m.Email("ana@example.com", "WORK"),
        new m.Birthday("1990", "01", "31"),
        new m.Organization("Example", "Sales"),
        new m.Url("https://example.com", "WORK"),
        new m.Address("South Africa", "za", "WC", "Cape Town", "1 Quay", "8001", "WORK"),
    ]),
    buttons: new m.Interactive(
        new m.ActionButtons(new m.Button("yes", "Yes"), new m.Button("no", "No")),
        body,
        new m.Header("Size"),
        new m.Footer("-"),
    ),
    list: new m.Interactive(
        new m.ActionList("Choose", new m.ListSection("All", new m.Row("s", "Small"), new m.Row("l", "Large", "2 l"))),
        body,
    ),
    "link button": new m.Interactive(new m.ActionCTA("Look", "https://example.com"), body),
    flow: new m.Interactive(new m.ActionNavigateFlow("booking-1", "1234567890", "Book", "DAY", { day: "Friday" }), body),
    "flow with data": new m.Interactive(new m.ActionDataExchangeFlow("booking-1", "1234567890", "Book"), body),
    "location request": new m.Interactive(new m.ActionLocation(), body),
    "contact request": new m.Interactive(new m.ActionContactRequest(), body),
    "leave to call": new m.Interactive(new m.ActionCallPermission(), body),
    catalog: new m.Interactive(new m.ActionCatalog(fish), body),
    "catalog without a picture": new m.Interactive(new m.ActionCatalog(), body),
    product: new m.Interactive(new m.ActionProduct(soldFish)),
    products: new m.Interactive(
        new m.ActionProductList("4711", new m.ProductSection("Fresh", fish), new m.ProductSection("Dry", fish)),
        body,
        new m.Header("Fish"),
    ),
    "template without variables": new m.Template("hello_world", "en_US"),
    template: new m.Template(
        "order_update",
        new m.Language("en_US", "deterministic"),
        new m.HeaderComponent(new m.HeaderParameter(new m.Image(`${link}.png`))),
        new m.BodyComponent(
            new m.BodyParameter("Ana"),
            new m.BodyParameter(new m.Currency(1000, "USD", "$1")),
            new m.BodyParameter(new m.DateTime("May 1")),
        ),
        new m.PayloadComponent("yes"),
        new m.URLComponent("4711"),
    ),
    "template with a place": new m.Template(
        "order_update",
        "en_US",
        new m.HeaderComponent(new m.HeaderParameter(new m.Location(18.42, -33.92, "Harbour", "1 Quay"))),
    ),
    "template with an offer": new m.Template(
        "order_update",
        "en_US",
        new m.LTOComponent(1893456000000),
        new m.CopyComponent("FISH25"),
    ),
    "template with a catalog": new m.Template("order_update", "en_US", new m.CatalogComponent(fish)),
    "template with products": new m.Template(
        "order_update",
        "en_US",
        new m.MPMComponent(fish, new m.ProductSection("Fresh", fish)),
    ),
    "template with a flow": new m.Template("order_update", "en_US", new m.FlowComponent("booking-1", { day: "Friday" })),
    "template with a second button": new m.Template(
        "order_update",
        "en_US",
        new m.SkipButtonComponent(),
        new m.PayloadComponent("yes"),
    ),
    "template with cards": new m.Template(
        "order_update",
        "en_US",
        new m.CarouselComponent(
            new m.CarouselCard(new m.Image(`${link}.png`), new m.BodyComponent(new m.BodyParameter("Ana"))),
            new m.CarouselCard(soldFish, new m.PayloadComponent("yes")),
        ),
    ),
    "template with an address for a tap": new m.Template(
        "order_update",
        "en_US",
        new m.TapTargetComponent("Shop", "https://example.com"),
    ),
};
for (const [kind, message] of Object.entries(messages)) {
    say("sendMessage", kind, await api.sendMessage(phone, person, message, undefined, "order-1"));
}
say("sendMessage", "reply", await api.sendMessage(phone, person, new m.Text("Yes"), inbound));
say("sendMessage", "refused", await api.sendMessage(phone, "15550100001", new m.Text("Hello")));
const sent = api.broadcastMessage(phone, [person, person], new m.Text("News"), 2, 0);
// Some versions do not return the responses, so any result is reported.
for (const answer of await Promise.all(sent)) say("broadcastMessage", "text", answer);

say("markAsRead", "success", await api.markAsRead(phone, inbound));
say("markAsRead", "success", await api.markAsRead(phone, inbound, "text"));

const form = new FormData();
form.set("file", new Blob(["\x89PNG"], { type: "image/png" }), "a.png");
const uploaded = await api.uploadMedia(phone, form);
say("uploadMedia", "id", uploaded);
const found = await api.retrieveMedia(uploaded.id, phone);
say("retrieveMedia", "url", found);
const bytes = await (await api.fetchMedia(found.url)).arrayBuffer();
say("fetchMedia", "size", { size: bytes.byteLength });
say("deleteMedia", "success", await api.deleteMedia(uploaded.id, phone));
say("retrieveMedia", "error", await api.retrieveMedia(uploaded.id));

say("createQR", "code", await api.createQR(phone, "Hello you", "svg"));
say("retrieveQR", "data", await api.retrieveQR(phone));
say("retrieveQR", "data", await api.retrieveQR(phone, qrCode));
say("updateQR", "code", await api.updateQR(phone, qrCode, "Good day"));
say("deleteQR", "success", await api.deleteQR(phone, qrCode));
say("retrieveQR", "error", await api.retrieveQR(phone, qrCode));

say("blockUser", "block_users", await api.blockUser(phone, person));
say("blockUser", "error", await api.blockUser(phone, "16505550000"));
say("unblockUser", "block_users", await api.unblockUser(phone, person));

const methods = Object.getOwnPropertyNames(WhatsAppAPI.prototype).filter((name) => name !== "constructor");
say("methods", "all", { methods });
