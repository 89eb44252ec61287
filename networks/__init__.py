"""The messaging network: its interface, errors and callbacks, and the Cloud API that implements them.

Uses neither the database nor the queue. Its values are dataclasses.
"""
