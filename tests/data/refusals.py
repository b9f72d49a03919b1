"""The one shape of a refusal: a single printable sentence in which certain words stand."""

import pytest

from pxsgmcmc.errors import UserError


def assert_refused(call, *words):
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert message.isprintable() and message[-1] in ".?" and ". " not in message
