"""The WhatsApp Business Cloud API: the client, its errors, callbacks and templates."""
