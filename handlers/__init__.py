"""Handlers of API requests: one module for each tag of the contract, one function for each operationId.

``user`` is the identifier of the account that the request's API key belongs to.
"""
