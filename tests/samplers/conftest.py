"""One seed by default; the slow suite repeats every statistical test for the seeds 1 to 19."""

import pytest


@pytest.fixture(params=[0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 20))])
def seed(request) -> int:
    return request.param
