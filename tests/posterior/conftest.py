import pytest


@pytest.fixture(params=[0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 20))])
def seed(request):
    """Seed 0 in the default suite, 0 to 19 with the slow proofs."""
    return request.param
