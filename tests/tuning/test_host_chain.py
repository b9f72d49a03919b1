"""Chains on the host: the law of SGHMC, and nothing compiled but one gradient."""

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
import pxsgmcmc.tuning.settle as settling
from pxsgmcmc.tuning.flat_energy import FlatEnergy
from pxsgmcmc.tuning.host_chain import HostChain
from pxsgmcmc.tuning.settle import BOLD, CAUTIOUS, settle

ROWS = np.zeros((8, 1), np.float32)


def counted(traces):
    """A standard normal in 400 coordinates, which notes each time that it is traced."""

    def energy(position, batch):
        traces.append(1)
        return 0.5 * jnp.sum(position**2) + 0.0 * jnp.mean(batch)

    return energy


def exact_squares(h, g):
    """Stationary mean squares of momentum and position of the linear recursion, unit curvature."""
    A = np.array([[1 - h * g, -h], [h * (1 - h * g), 1 - h * h]])
    b = np.sqrt(2 * h * g) * np.array([1.0, h])
    return np.diag(np.linalg.solve(np.eye(4) - np.kron(A, A), np.outer(b, b).ravel()).reshape(2, 2))


def test_a_chain_forgets_its_start_and_has_the_variance_and_temperature_of_the_law():
    energy = FlatEnergy(counted([]), jnp.full(400, 5.0))
    chain = HostChain(energy, ROWS, batch_size=4, seed=1)
    h, g = 0.2, 2.0
    chain.advance(100, step_size=h, friction={"base": g})
    squares, heats = [], []
    for _ in range(20):
        heats.append(chain.advance(20, step_size=h, friction={"base": g})["base"].value)
        squares.append(np.mean(chain.position**2))
    # 8,000 positions, correlated by less than 0.1 at 20 steps: six standard errors are 0.1.
    momentum, position = exact_squares(h, g)
    assert np.mean(squares) == pytest.approx(position, rel=0.1)
    assert np.mean(heats) == pytest.approx(momentum, rel=0.1)


def test_the_same_seed_gives_the_same_chain_and_another_seed_another():
    energy = FlatEnergy(counted([]), jnp.zeros(400))

    def run(seed):
        chain = HostChain(energy, ROWS, batch_size=4, seed=seed)
        chain.advance(5, step_size=0.1, friction={"base": 1.0})
        return chain.position

    assert np.array_equal(run(0), run(0))
    assert not np.array_equal(run(0), run(1))


def test_steps_that_diverge_leave_the_chain_where_it_was():
    energy = FlatEnergy(lambda q, batch: jnp.sum(q**4), jnp.full(4, 3.0))
    chain = HostChain(energy, ROWS, batch_size=4)
    with pytest.raises(px.Diverged, match="not finite after 20 steps of 5"):
        chain.advance(20, step_size=5.0, friction={"base": 1.0})
    assert np.array_equal(chain.position, np.full(4, 3.0, np.float32)) and chain.taken == 0


def test_settling_and_measuring_along_the_way_traces_one_gradient():
    traces = []
    energy = FlatEnergy(counted(traces), jnp.full(400, 2.0))
    found = settle(energy, jnp.full(400, 2.0), ROWS, batch_size=4, steps=60)
    assert len(traces) == 1
    assert len(found.visited) >= 2 and float(jnp.mean(found.visited[0])) < 2.0


@pytest.mark.parametrize(("start", "first", "last"), [(0.0, BOLD, BOLD), (9.0, BOLD, CAUTIOUS)])
def test_stretches_are_bold_until_one_gets_hot(monkeypatch, start, first, last):
    """At rest at the minimum of a quadratic nothing heats a chain; from 9 deviations it falls."""
    boldness = []
    advance = settling._advance

    def noted(chain, steps, h, best, hottest):
        boldness.append(h / best.step_size)
        return advance(chain, steps, h, best, hottest)

    monkeypatch.setattr(settling, "_advance", noted)
    position = jnp.full(400, start)
    settle(FlatEnergy(counted([]), position), position, ROWS, batch_size=4, steps=120, looks=4)
    assert boldness[0] == first and boldness[-1] == pytest.approx(last, rel=0.1)


def test_a_chain_that_heats_up_stays_where_it_was():
    energy = FlatEnergy(counted([]), jnp.full(400, 50.0))  # comes down hot: 50 standard deviations
    chain = HostChain(energy, ROWS, batch_size=4)
    with pytest.raises(px.Diverged, match="`base` heats up"):
        chain.advance(20, step_size=0.2, friction={"base": 0.1}, hottest=2.0)
    assert chain.taken == 0 and (chain.position == 50.0).all() and not chain.momentum.any()
