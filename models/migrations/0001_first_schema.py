"""The first schema: accounts, keys, numbers, messages, webhooks, events, deliveries, callbacks, links.

The models here are frozen copies: a later change of models/ must not change what this did.
"""

from peewee import (
    SQL,
    BigIntegerField,
    BlobField,
    BooleanField,
    CharField,
    Database,
    ForeignKeyField,
    IntegerField,
    Model,
    TextField,
)


def up(_migrator: object, db: Database) -> None:
    class Account(Model):
        id = CharField(primary_key=True)
        name = TextField()
        plan = CharField()
        created_at = BigIntegerField()

        class Meta:
            database = db
            table_name = "account"

    class ApiKey(Model):
        id = CharField(primary_key=True)
        account = ForeignKeyField(Account)
        name = TextField()
        digest = CharField(unique=True)
        created_at = BigIntegerField()
        revoked_at = BigIntegerField(null=True)
        last_used_at = BigIntegerField(null=True)

        class Meta:
            database = db
            table_name = "api_key"

    class Number(Model):
        id = CharField(primary_key=True)
        account = ForeignKeyField(Account)
        phone_number_id = CharField(index=True)
        waba_id = CharField(index=True)
        phone_number = CharField()
        display_name = TextField(null=True)
        status = CharField()
        sealed_token = TextField()
        sealed_pin = TextField()
        created_at = BigIntegerField()
        activated_at = BigIntegerField(null=True)

        class Meta:
            database = db
            table_name = "number"
            indexes = ((("account", "phone_number_id"), True),)

    class Message(Model):
        id = CharField(primary_key=True)
        account = ForeignKeyField(Account, index=False)
        number = ForeignKeyField(Number, index=False)
        direction = CharField()
        from_number = CharField()
        to_number = CharField()
        type = CharField()
        body_json = TextField()
        status = CharField()
        wa_message_id = TextField(null=True)
        error_code = TextField(null=True)
        error_message = TextField(null=True)
        created_at = BigIntegerField()

        class Meta:
            database = db
            table_name = "message"
            indexes = (
                (("account", "id"), False),
                (("number", "id"), False),
                (("number", "wa_message_id"), True),
                (("status", "id"), False),
            )

    class StatusChange(Model):
        message = ForeignKeyField(Message, on_delete="CASCADE")
        status = CharField()
        at = BigIntegerField()
        error_code = TextField(null=True)
        error_message = TextField(null=True)

        class Meta:
            database = db
            table_name = "status_change"

    class IdempotencyKey(Model):
        account = ForeignKeyField(Account, index=False)
        key = CharField()
        fingerprint = CharField()
        message = ForeignKeyField(Message, on_delete="CASCADE")
        response_status = IntegerField(null=True)
        response_body = TextField(null=True)
        retry_after = IntegerField(null=True)
        created_at = BigIntegerField(index=True)

        class Meta:
            database = db
            table_name = "idempotency_key"
            indexes = ((("account", "key"), True),)

    class SignupLink(Model):
        id = CharField(primary_key=True)
        account = ForeignKeyField(Account)
        slug = CharField(unique=True)
        number = ForeignKeyField(Number, null=True)
        created_at = BigIntegerField()
        expires_at = BigIntegerField()
        used_at = BigIntegerField(null=True)
        revoked_at = BigIntegerField(null=True)

        class Meta:
            database = db
            table_name = "signup_link"

    class Webhook(Model):
        id = CharField(primary_key=True)
        account = ForeignKeyField(Account)
        url = TextField()
        sealed_secret = TextField()
        events_json = TextField()
        number_ids_json = TextField()
        active = BooleanField(default=True)
        failure_count = IntegerField(default=0)
        deactivated_at = BigIntegerField(null=True)
        created_at = BigIntegerField()

        class Meta:
            database = db
            table_name = "webhook"

    class Event(Model):
        id = CharField(primary_key=True)
        account = ForeignKeyField(Account, index=False)
        kind = CharField()
        number_id = CharField()
        subject_id = CharField(index=True)
        payload = TextField()
        once_key = CharField(unique=True, null=True)
        created_at = BigIntegerField(index=True)

        class Meta:
            database = db
            table_name = "event"

    class Delivery(Model):
        id = CharField(primary_key=True)
        webhook = ForeignKeyField(Webhook, index=False, on_delete="CASCADE")
        event = ForeignKeyField(Event, on_delete="CASCADE")
        event_kind = CharField()
        state = CharField()
        attempt_count = IntegerField(default=0)
        tries = IntegerField(default=0)
        next_attempt_at = BigIntegerField(null=True)
        lease_token = CharField(null=True)
        created_at = BigIntegerField()
        completed_at = BigIntegerField(null=True)

        class Meta:
            database = db
            table_name = "delivery"
            indexes = ((("webhook", "id"), False), (("webhook", "event"), True))

    class Attempt(Model):
        id = CharField(primary_key=True)
        delivery = ForeignKeyField(Delivery, on_delete="CASCADE")
        number = IntegerField()
        started_at = BigIntegerField()
        duration_ms = IntegerField()
        success = BooleanField()
        status_code = IntegerField(null=True)
        error = TextField(null=True)
        response_body = TextField(null=True)

        class Meta:
            database = db
            table_name = "attempt"

    class Callback(Model):
        id = CharField(primary_key=True)
        body = BlobField()
        received_at = BigIntegerField()
        ingested_at = BigIntegerField(null=True)
        tries = IntegerField(default=0)
        error = TextField(null=True)

        class Meta:
            database = db
            table_name = "callback"
            indexes = ((("ingested_at", "id"), False),)

    Number.add_index(
        Number.index(
            Number.phone_number_id,
            unique=True,
            where=SQL("status <> 'DISCONNECTED'"),
            name="number_connected_once",
        )
    )
    Delivery.add_index(
        Delivery.index(
            Delivery.webhook,
            Delivery.next_attempt_at,
            where=SQL("state = 'pending'"),
            name="delivery_pending",
        )
    )
    Delivery.add_index(
        Delivery.index(
            Delivery.webhook, where=SQL("lease_token IS NOT NULL"), name="delivery_leased"
        )
    )
    db.create_tables(
        [
            Account,
            ApiKey,
            Number,
            Message,
            StatusChange,
            IdempotencyKey,
            SignupLink,
            Webhook,
            Event,
            Delivery,
            Attempt,
            Callback,
        ]
    )
