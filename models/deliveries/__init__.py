"""Events and their deliveries to webhooks."""
