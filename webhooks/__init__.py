"""Sends events to webhooks: signature, retry schedule and the guarded HTTP client.

Uses neither the database nor the queue. Its values are dataclasses.
"""
