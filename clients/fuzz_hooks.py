"""What schemathesis is told about the requests that it makes."""

import os
from typing import Any
from urllib.parse import urlsplit

import requests
import schemathesis

# Nobody guesses these: every other valid body gets them, so that not only refusals are seen.
SECRETS = {"username": os.environ["MANCALA_USERNAME"], "password": os.environ["MANCALA_PASSWORD"]}
ASKED_FOR_SECRETS = {
    "create_session": ["username", "password"],
    "change_password": ["password", "new_password"],
    "create_recovery_codes": ["password"],
}


def with_secrets(operation: str, body: dict[str, Any]) -> None:
    fields = ASKED_FOR_SECRETS.get(operation, [])
    if fields and all(isinstance(body.get(field), str) for field in fields) and len(body[fields[0]]) % 2 == 0:
        # The new password is the old one, or it would be that of no later body.
        body.update({field: SECRETS[field.removeprefix("new_")] for field in fields})


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """A valid wait or time for thinking is made short, or waiting would take up all the time there is."""
    if isinstance(case.body, dict) and case.meta is not None and case.meta.generation.mode.is_positive:
        with_secrets(case.operation.definition.raw.get("operationId", ""), case.body)
    if case.query and str(case.query.get("wait")) in {str(seconds) for seconds in range(2, 26)}:
        case.query["wait"] = 1
    if isinstance(case.body, dict) and case.body.get("budget_ms") in range(21, 5001):
        case.body["budget_ms"] = 20
    return case


whole = requests.Session.send


def begun(session: requests.Session, request: requests.PreparedRequest, **options: Any) -> requests.Response:
    """Of a stream only the first part is read: it has no end."""
    if not urlsplit(str(request.url)).path.endswith("/events"):
        return whole(session, request, **options)
    response = whole(session, request, **(options | {"stream": True}))
    if response.ok:
        response._content = next(response.iter_content(None), b"")
        response._content_consumed = True
        response.close()
    return response


requests.Session.send = begun  # type: ignore[method-assign]

# Here null is a value of its own.
NULLABLE = {"turn_seconds", "away_seconds"}


def has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(key not in NULLABLE and (inner is None or has_null(inner)) for key, inner in value.items())
    return isinstance(value, list) and any(has_null(inner) for inner in value)


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:
    """Leaves out what is wrong by the document alone.

    A null field counts as an absent one, though answers never have any and the document knows none. Whitespace around
    the value of a header does not belong to it, so the server never sees it.
    """
    headers = dict(case.headers or {}).values()
    return not has_null(case.body) and all(str(value) == str(value).strip() for value in headers)


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """JSON Schema takes 6.0 for an integer; the server does not, on purpose: numbers are written one way."""
    if isinstance(body, dict):
        return {key: map_body(context, value) for key, value in body.items()}
    if isinstance(body, list):
        return [map_body(context, value) for value in body]
    if isinstance(body, float) and body.is_integer():
        return int(body)
    return body
