"""HTTP in: one module per tag of the contract, one function per operationId.

``user`` is the identifier of the account whose key the request carries.
"""
