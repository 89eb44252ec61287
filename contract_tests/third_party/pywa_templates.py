"""Every call of pywa for templates: sends with each kind of parameter, and management."""

from datetime import UTC, datetime, timedelta
from typing import Any

from pywa import types
from pywa.types import templates

from contract_tests.third_party.pywa_sends import Call
from contract_tests.third_party.world import LINK, NO_OBJECT, PERSON, USER_ID
from sandbox_harness import APP_ID

LANGUAGE = templates.TemplateLanguage.ENGLISH_US
# pywa's own annotation of these parameters is wrong.
BODY: Any = templates.BodyText
HEADER: Any = templates.HeaderText
PARAMS = [
    BODY.params("Ana", "Friday"),
    templates.QuickReplyButton.params(callback_data="yes", index=0),
    templates.URLButton.params(url_variable="4711", index=1),
]
OFFER_ENDS = datetime.now(UTC) + timedelta(days=1)
SHELVES = [types.ProductsSection("Fresh", ["sku-1"])]
CARDS = [
    templates.CarouselCard.params(
        params=[
            templates.HeaderImage.params(image=LINK + ".png"),
            BODY.params("Ana"),
            templates.QuickReplyButton.params(callback_data="yes", index=0),
        ],
        index=each,
    )
    for each in range(2)
]


def sent(*params: Any, name: str = "order_update", to: str = PERSON, **more: Any) -> Call:
    """A send of a template."""
    return Call(
        "send_template", lambda wa, _: wa.send_template(to, name, LANGUAGE, list(params), **more)
    )


SENDS = [
    sent(*PARAMS),
    sent(use_mm_lite_api=True),
    sent(to=USER_ID),
    sent(BODY.params(first_name="Ana")),
    sent(HEADER.params("Ana")),
    sent(templates.HeaderVideo.params(video=LINK + ".mp4")),
    sent(templates.HeaderDocument.params(document=LINK + ".pdf")),
    sent(templates.HeaderLocation.params(lat=-33.92, lon=18.42, name="Harbour", address="1 Quay")),
    sent(templates.HeaderProduct.params(catalog_id="4711", sku="sku-1")),
    sent(templates.CopyCodeButton.params(coupon_code="FISH25", index=0)),
    sent(templates.CatalogButton.params(thumbnail_product_sku="sku-1", index=0)),
    sent(
        templates.MPMButton.params(product_sections=SHELVES, thumbnail_product_sku="sku-1", index=0)
    ),
    sent(templates.FlowButton.params(index=0, flow_token="t", flow_action_data={"day": "Friday"})),
    sent(templates.LimitedTimeOffer.params(expiration_time=OFFER_ENDS)),
    sent(templates.Carousel.params(cards=CARDS)),
    sent(templates.TapTargetConfiguration(title="Shop", url="https://example.com")),
    sent(
        templates.AuthenticationBody.params(otp="4711"),
        templates.CopyCodeOTPButton.params(otp="4711"),
        name="sample_code",
    ),
    Call(
        "send_template",
        lambda wa, _: wa.send_template(
            USER_ID,
            "sample_code",
            LANGUAGE,
            [
                templates.AuthenticationBody.params(otp="4711"),
                templates.CopyCodeOTPButton.params(otp="4711"),
            ],
        ),
        refused=131062,
    ),
    Call(
        "send_template",
        lambda wa, _: wa.send_template(PERSON, "sample_reminder", LANGUAGE, []),
        refused=132000,
    ),
]


def new(name: str, category: str, *components: Any) -> templates.Template:
    """A template of this category."""
    kind = templates.TemplateCategory(category)
    return templates.Template(name=name, language=LANGUAGE, category=kind, components=[*components])


ORDER = new(
    "order_shipped",
    "UTILITY",
    templates.HeaderText("Order {{1}}", "4711"),
    templates.BodyText("Hello {{1}}, it is on its way.", "Ana"),
    templates.FooterText(text="Fish and more"),
    templates.Buttons(
        buttons=[
            templates.QuickReplyButton(text="Thanks"),
            templates.URLButton(text="Track", url="https://example.com/{{1}}", example="4711"),
            templates.PhoneNumberButton(text="Call us", phone_number="16505550100"),
        ]
    ),
)
SALE = new(
    "fish_sale",
    "MARKETING",
    templates.LimitedTimeOffer(text="Ends soon", has_expiration=True),
    templates.BodyText("Hello {{first_name}}, all is cheaper.", first_name="Ana"),
    templates.Buttons(buttons=[templates.CopyCodeButton(example="FISH25")]),
)
CODE = new(
    "one_code",
    "AUTHENTICATION",
    templates.AuthenticationBody(add_security_recommendation=True),
    templates.AuthenticationFooter(code_expiration_minutes=5),
    templates.Buttons(buttons=[templates.CopyCodeOTPButton()]),
)
PICTURED = new(
    "pictures",
    "MARKETING",
    templates.BodyText("See what is fresh today."),
    templates.Carousel(
        cards=[
            templates.CarouselCard(
                components=[
                    templates.HeaderImage(example=b"\x89PNG\r\n\x1a\n", mime_type="image/png"),
                    templates.BodyText("Fish"),
                    templates.Buttons(buttons=[templates.QuickReplyButton(text="This one")]),
                ]
            )
            for _ in range(2)
        ]
    ),
)


def created(template: templates.Template) -> Call:
    """A template that is submitted with its files."""
    return Call("create_template", lambda wa, _: wa.create_template(template, app_id=APP_ID))


MANAGED = [
    *(created(each) for each in (ORDER, SALE, CODE, PICTURED)),
    Call(
        "create_template",
        lambda wa, w: (
            w.template() and wa.create_template(new("fish", "UTILITY", templates.BodyText("Hi")))
        ),
        refused=100,
    ),
    Call("get_templates", lambda wa, _: wa.get_templates()),
    Call(
        "get_templates",
        lambda wa, _: wa.get_templates(
            statuses=[templates.TemplateStatus.APPROVED, templates.TemplateStatus.PAUSED],
            categories=[templates.TemplateCategory.UTILITY],
            languages=[LANGUAGE],
            content="shop",
            pagination=types.Pagination(limit=2),
        ),
    ),
    Call("get_template", lambda wa, w: wa.get_template(w.template())),
    Call("get_template", lambda wa, _: wa.get_template("1"), refused=NO_OBJECT),
    Call(
        "update_template",
        lambda wa, w: wa.update_template(
            w.template(), new_components=[templates.BodyText("Hello, it is here.")]
        ),
    ),
    Call(
        "delete_template",
        lambda wa, w: wa.delete_template("fish", template_id=w.template()),
    ),
    Call("delete_template", lambda wa, _: wa.delete_template("no_such_template"), refused=100),
    Call(
        "compare_templates",
        lambda wa, w: wa.compare_templates(
            w.template(),
            w.template("meat"),
            start=OFFER_ENDS - timedelta(days=8),
            end=OFFER_ENDS - timedelta(days=1),
        ),
    ),
    Call("unpause_template", lambda wa, w: wa.unpause_template(w.template(status="PAUSED"))),
]

TEMPLATES = [*SENDS, *MANAGED]
