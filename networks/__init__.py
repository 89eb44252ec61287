"""The messaging network: its interface, its errors, the Cloud API behind them, and its callbacks.

Knows neither the database nor the queue; speaks in dataclasses.
"""
