"""A business of the sandbox, and the objects that a client needs."""

from dataclasses import dataclass

from contract_tests.third_party.tunnel import Tunnel
from sandbox_harness import Business, Receiver, Sandbox

PERSON, USER_ID = "16505551234", "US.13491208655302741918"
LINK = "https://example.com/file"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32
# A refusal, as the platform documents it: an unknown edge, an object that is not there.
NO_EDGE, NO_OBJECT = 2500, 100


@dataclass(frozen=True)
class Platform:
    """The sandbox with TLS, and the proxy to it."""

    sandbox: Sandbox
    receiver: Receiver
    tunnel: Tunnel

    @property
    def certificate(self) -> str:
        """The certificate authority that a client has to trust."""
        return str(self.sandbox.data_dir / "tls" / "ca.pem")

    @property
    def environment(self) -> dict[str, str]:
        """The environment that directs an unmodified client to the sandbox, by documented variables."""
        return {
            "HTTPS_PROXY": self.tunnel.url,
            "NODE_USE_ENV_PROXY": "1",
            "NODE_EXTRA_CA_CERTS": self.certificate,
            "REQUESTS_CA_BUNDLE": self.certificate,
            "SSL_CERT_FILE": self.certificate,
        }


@dataclass(frozen=True)
class World:
    """One customer, whose number is registered."""

    platform: Platform
    business: Business

    @property
    def sandbox(self) -> Sandbox:
        return self.platform.sandbox

    def business_id(self) -> str:
        """The business of the accounts."""
        fields = {"fields": "owner_business_info"}
        node = self.business.graph("GET", self.business.waba_id, params=fields).json()
        return str(node["owner_business_info"]["id"])

    def inbound(self) -> str:
        """A message that the person has just written. Returns its id."""
        body = {"to": self.business.digits, "from": PERSON, "type": "text", "text": "Hello"}
        return str(self.sandbox.control("POST", "inbound", body)["id"])

    def sent(self) -> str:
        """A message to the person. Returns its id."""
        return self.business.send(PERSON)

    def media_id(self) -> str:
        """An uploaded picture. Returns its id."""
        headers = {"Authorization": f"Bearer {self.business.token}"}
        url = f"{self.sandbox.url}/v25.0/{self.business.number_id}/media"
        product, files = {"messaging_product": "whatsapp"}, {"file": ("a.png", PNG, "image/png")}
        answer = self.sandbox.http.post(url, data=product, files=files, headers=headers)
        return str(answer.json()["id"])

    def qr_code(self) -> str:
        """A QR code of the number."""
        body = {"prefilled_message": "Hello"}
        answer = self.business.graph("POST", f"{self.business.number_id}/message_qrdls", body)
        return str(answer.json()["code"])

    def free_digits(self) -> str:
        """A phone number that is not in use."""
        return f"1650{self.business.number_id[-7:]}"

    def blocked(self) -> bool:
        """Block the person."""
        self.inbound()
        body = {"messaging_product": "whatsapp", "block_users": [{"user": PERSON}]}
        return self.business.graph("POST", f"{self.business.number_id}/block_users", body).ok

    def new_number(self) -> str:
        """A number of the account that is not verified yet. Returns its id."""
        body = {"cc": "1", "phone_number": self.free_digits(), "verified_name": "Second number"}
        answer = self.business.graph("POST", f"{self.business.waba_id}/phone_numbers", body)
        return str(answer.json()["id"])

    def code_of(self, number_id: str) -> str:
        """The code that was sent to the number."""
        body = {"code_method": "SMS", "language": "en_US"}
        assert self.business.graph("POST", f"{number_id}/request_code", body).ok
        return str(self.sandbox.control("GET", f"numbers/{number_id}/code")["code"])

    def template(self, name: str = "fish", status: str = "APPROVED") -> str:
        """A template of the account. Returns its id."""
        body = {"type": "BODY", "text": "Hello, your fish is here."}
        new = {"name": name, "language": "en_US", "category": "UTILITY", "components": [body]}
        path = f"{self.business.waba_id}/message_templates"
        template_id = str(self.business.graph("POST", path, new).json()["id"])
        self.sandbox.control("POST", f"templates/{template_id}", {"status": status})
        return template_id
