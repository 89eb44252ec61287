"""One account has a share of what is slow, and the others have theirs."""

import pytest

from tasks.shares import Share, TooMuchAtOnceError


def test_an_account_has_its_share_and_gets_it_back() -> None:
    share = Share("tests", 2)
    with share.of("a"), share.of("a"), share.of("b"):
        with pytest.raises(TooMuchAtOnceError, match="2 tests of this account"), share.of("a"):
            pass
        with share.of("b"):
            pass
    with share.of("a"), share.of("a"):
        pass
