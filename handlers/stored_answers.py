"""Responses to requests with an Idempotency-Key, which are stored as JSON text."""

from starlette.responses import Response

from services.repeating import Answer


def response_of(answer: Answer) -> Response:
    """The response, with the headers of a throttled and of a replayed one."""
    headers = {}
    if answer.retry_after is not None:
        headers["Retry-After"] = str(answer.retry_after)
    if answer.is_replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(answer.body, answer.status, headers, media_type="application/json")
