"""Slow work is bounded for each owner, and for all owners together."""

import pytest

from models.errors import RateLimitedError
from services.fair_share import Share


def test_an_account_has_a_share_that_is_free_again_after_its_use() -> None:
    share = Share("tests", 2)
    with share.of("a"), share.of("a"), share.of("b"):
        with pytest.raises(RateLimitedError, match="Too many tests"), share.of("a"):
            pass
        with share.of("b"):
            pass
    with share.of("a"), share.of("a"):
        pass


def test_all_accounts_together_have_a_limit() -> None:
    share = Share("uploads", 2, 3)
    with (
        share.of("a"),
        share.of("a"),
        share.of("b"),
        pytest.raises(RateLimitedError),
        share.of("c"),
    ):
        pass
    with share.of("c"):
        pass
