"""Every error code of the platform's reference, and the exception class that it maps to."""

import pytest

from networks.exceptions import (
    AccountActionError,
    AmbiguousError,
    NetworkError,
    NumberBannedError,
    NumberInDoubtError,
    NumberLostError,
    RefusedError,
    ThrottledError,
)
from networks.whatsapp.error_codes import ERROR_CODES, classify

# The HTTP statuses are those seen in practice: for throttling, copies of the reference differ.
TABLE: dict[type[NetworkError], list[tuple[int, tuple[int, ...]]]] = {
    NumberLostError: [(0, (401,)), (33, (400,)), (190, (401,)), (133010, (400,))],
    NumberBannedError: [(131031, (403,))],
    NumberInDoubtError: [
        (3, (500,)),
        (10, (403,)),
        *((code, (401, 403)) for code in (200, 218, 250, 299)),
        (368, (403,)),
        (131005, (403,)),
    ],
    AccountActionError: [
        (131037, (400,)),
        (131042, (400,)),
        (131045, (500,)),
        (133005, (400,)),
        (133006, (400,)),
        (134011, (400,)),
    ],
    ThrottledError: [
        (4, (400, 429)),
        (17, (400,)),
        (32, (400, 403)),
        (341, (400,)),
        (613, (429,)),
        (80007, (400, 429)),
        (80008, (400, 429)),
        (130429, (400, 429)),
        (131048, (400,)),
        (131056, (400, 403, 429)),
        (131057, (500,)),
        (131064, (400,)),
        (132069, (400,)),
        (133000, (500,)),
        (133004, (503,)),
        (133008, (400,)),
        (133009, (400,)),
        (133015, (400,)),
        (133016, (400,)),
        (134101, (400,)),
        (139102, (400,)),
    ],
    AmbiguousError: [
        (1, (400, 500)),
        (2, (500, 503)),
        (131000, (400, 500)),
        (131016, (500,)),
        (139103, (500,)),
    ],
    RefusedError: [
        (100, (400, 422)),
        (130497, (400, 403)),
        (132001, (400, 404)),
        (803, (404,)),
        (2200, (400,)),
        *(
            (code, (400,))
            for code in (
                *(130472, 131008, 131009, 131021, 131026, 131030, 131047),
                *(131049, 131050, 131051, 131052, 131053, 131055, 131062, 131063),
                *(132000, 132005, 132007, 132012, 132015, 132016, 132018, 132068),
                *(134100, 134102, 135000, 137000, 139100, 139101),
            )
        ),
    ],
}


@pytest.mark.parametrize(
    ("code", "http_status", "expected"),
    [
        pytest.param(code, http_status, error, id=f"{code} with {http_status}")
        for error, codes in TABLE.items()
        for code, statuses in codes
        for http_status in statuses
    ],
)
def test_a_code_belongs_to_its_class(
    code: int, http_status: int, expected: type[NetworkError]
) -> None:
    error = classify(code, "reason", http_status=http_status)
    assert type(error) is expected
    assert (error.code, error.reason) == (str(code), "reason")


def test_no_class_of_errors_is_left_out_of_the_table() -> None:
    # No code alone means these: there was no response, or the subcode or the call decides.
    without_code = {
        "NotReachedError",
        "MediaGoneError",
        "PageGoneError",
        "NotOfferedError",
        "TemplateGoneError",
        "TemplateExistsError",
    }
    by_code = {
        error for error in NetworkError.__subclasses__() if error.__name__ not in without_code
    }
    assert set(TABLE) == by_code


def test_every_code_of_the_table_is_tested() -> None:
    permissions = set(range(200, 300))
    tested = {code for codes in TABLE.values() for code, _ in codes}
    assert tested - permissions == set(ERROR_CODES) - permissions


def test_an_object_that_does_not_exist_is_a_lost_number() -> None:
    assert type(classify(100, "", subcode=33)) is NumberLostError
    assert type(classify(100, "", subcode="33")) is NumberLostError
    assert type(classify(100, "", subcode=None)) is RefusedError
    assert type(classify(100, "", subcode=2388001)) is RefusedError


@pytest.mark.parametrize(
    ("http_status", "expected"),
    [
        (400, RefusedError),
        (404, RefusedError),
        (401, NumberInDoubtError),
        (403, NumberInDoubtError),
        (429, ThrottledError),
        (500, AmbiguousError),
        (503, AmbiguousError),
    ],
)
def test_an_unknown_code_has_the_class_of_its_http_status(
    http_status: int, expected: type[NetworkError]
) -> None:
    assert type(classify(999_999, "", http_status=http_status)) is expected


def test_an_unknown_code_is_logged_without_its_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    classify(999_999, "a text of somebody", http_status=403)
    assert [(r.levelname, r.args) for r in caplog.records] == [("WARNING", (999_999, 403))]
    assert "somebody" not in caplog.text
    caplog.clear()
    classify(131026, "reason")
    assert not caplog.records
