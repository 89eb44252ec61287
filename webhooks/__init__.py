"""The way out to customers: envelope, signature, retry schedule and the guarded HTTP client.

Knows neither the database nor the queue; speaks in dataclasses.
"""
