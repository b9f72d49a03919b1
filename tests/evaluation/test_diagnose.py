"""All diagnostics of small runs, against the same numbers computed from their files."""

import shutil
from itertools import pairwise

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from pxsgmcmc.config import parse_config
from pxsgmcmc.diagnostics import convergence
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluation import last_state
from pxsgmcmc.evaluation.datatree import run_to_datatree
from pxsgmcmc.evaluation.diagnose import diagnose
from pxsgmcmc.evaluation.last_state import full_gradients, last_states
from pxsgmcmc.evaluation.load import open_experiment
from pxsgmcmc.experiment import run_chain
from pxsgmcmc.results import Diagnostics, Skipped
from pxsgmcmc.store import open_run
from tests.cli.settings import SMALL

QUICK = {"rows": 40, "lines": 3, "line_points": 3, "plane_points": 4, "probes": 5}


def run(folder, *flags, chain=0):
    run_chain(parse_config(SMALL, list(flags)), folder, chain=chain, progress=False)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An expanded run of ten draws with a constant step size."""
    return run(tmp_path_factory.mktemp("runs") / "px", "--chain.draws", "10")


@pytest.fixture(scope="module")
def found(folder):
    return diagnose(folder, **QUICK)


@pytest.fixture(scope="module")
def two_chains(folder, found, tmp_path_factory):
    """The same run with a second, shorter chain beside it."""
    place = tmp_path_factory.mktemp("runs") / "two"
    shutil.copytree(folder, place / "chain-0000")
    run(place / "chain-0001", "--chain.draws", "4", chain=1)
    return place


def flat(arrays):
    return np.concatenate([arrays[name].ravel() for name in sorted(arrays)]).astype(float)


def test_it_is_kept_beside_the_draws_with_its_hash(folder, found):
    kept = open_run(folder).read_artifact("eval/diagnostics.json")
    assert msgspec.json.decode(kept, type=Diagnostics) == found
    assert (found.subject.method, found.subject.draws) == ("PX-SGHMC (c=1, d=1)", 10)


def test_distances_are_those_between_the_files(folder, found):
    draws = [flat(arrays) for _, arrays in open_run(folder).iter_draws()]
    apart = [np.linalg.norm(b - a) for a, b in pairwise(draws)]
    assert found.distances.d[0] == pytest.approx(apart, rel=1e-6)
    lengths = [np.linalg.norm(draw) for draw in draws[:-1]]
    assert found.distances.d_bar[0] == pytest.approx(np.divide(apart, lengths), rel=1e-6)


def test_spectra_are_those_of_the_kernels_in_the_files(folder, found):
    assert set(found.spectra.layers) == {"layer1", "head"}
    for number, (_, arrays) in enumerate(open_run(folder).iter_draws()):
        values = np.linalg.svd(arrays["head/kernel"].astype(float), compute_uv=False)
        head = found.spectra.layers["head"]
        assert head.largest[number] == pytest.approx(values[0])
        assert head.smallest[number] == pytest.approx(values[-1])
        assert head.condition[number] == pytest.approx(values[0] / values[-1])


def test_factors_are_those_of_the_saved_state(folder, found):
    arrays = open_run(folder).load_state().arrays
    (name,) = [n for n in arrays if n.startswith("position") and "layer1" in n and "out" in n]
    values = np.linalg.svd(arrays[name].astype(float), compute_uv=False)
    assert set(found.factors.layers) == {"layer1 P1", "head Q1"}
    assert found.factors.layers["layer1 P1"].largest == pytest.approx([values[0]])


def test_lines_end_at_the_errors_of_the_draws(folder, found):
    opened = open_experiment(folder)
    x, y = opened.experiment.train
    chosen = np.linspace(0, 59, 40).round().astype(int)
    apply = jax.jit(opened.experiment.apply)
    answers = [np.asarray(apply(params, x[chosen])).argmax(-1) for params in opened.draws()]
    errors = [np.mean(answer != y[chosen]) for answer in answers]
    lines = found.connectivity.lines
    assert [(line.first, line.second) for line in lines] == [(1, 2), (5, 6), (9, 10)]
    assert found.connectivity.rows == 40
    for line in lines:
        assert line.at == [0.0, 0.5, 1.0]
        ends = [line.error[0], line.error[-1]]
        assert ends == pytest.approx([errors[line.first - 1], errors[line.second - 1]])
        assert line.barrier == pytest.approx(max(0.0, line.error[1] - np.mean(ends)))


def test_the_plane_goes_through_the_first_the_middle_and_the_last_draw(folder, found):
    draws = [flat(arrays) for _, arrays in open_run(folder).iter_draws()]
    plane = found.plane
    assert plane.draws == (1, 5, 10)
    a, b, c = (np.array(point) for point in plane.points)
    for one, two, i, j in ((a, b, 0, 4), (a, c, 0, 9), (b, c, 4, 9)):
        assert np.linalg.norm(one - two) == pytest.approx(np.linalg.norm(draws[i] - draws[j]))
    assert np.shape(plane.error) == (4, 4) and len(plane.x) == len(plane.y) == 4


def test_convergence_is_of_the_energy_and_of_the_probes(folder, found):
    assert (found.convergence.chains, found.convergence.draws) == (1, 10)
    assert found.convergence.quantities == 5 * 10
    energies = np.array([[draw.energy for draw in open_run(folder).draws]])
    expected = {name: float(value) for name, value in convergence(energies)._asdict().items()}
    assert found.convergence.energy == pytest.approx(expected)
    assert found.convergence.worst["r_hat"] >= found.convergence.median["r_hat"]


def test_temperatures_are_of_the_saved_momentum_and_the_gradient_on_all_rows(
    folder, found, monkeypatch
):
    opened = open_experiment(folder)
    (last,) = last_states(opened)
    assert int(last.state.step) == 50
    batch = jax.tree.map(jnp.asarray, opened.experiment.train)
    gradient = jax.jit(jax.grad(opened.experiment.potential))(last.state.position, batch)
    for group in ("base", "factors"):
        q, m, g = (
            np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(getattr(tree, group))])
            for tree in (last.state.position, last.state.momentum, gradient)
        )
        still = found.temperatures.configurational[group]
        assert found.temperatures.kinetic[group].value == pytest.approx(np.mean(m**2), rel=1e-5)
        assert still.value == pytest.approx(np.mean(q * g), rel=1e-4)
        assert still.expected == 1.0
    # 1 / (1 - h g / 2) at h = 1e-4 with frictions 100 and 1
    assert found.temperatures.kinetic["base"].expected == pytest.approx(1 / 0.995)
    assert found.temperatures.kinetic["factors"].expected == pytest.approx(1 / 0.99995)

    monkeypatch.setattr(last_state, "chunk_size", lambda rows: 25)  # 25, 25 and 10 of 60
    told = []
    (cut,) = full_gradients(opened, [last.state.position], lambda *what: told.append(what))
    assert told[-1] == ("gradient on all rows", 3, 3)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(cut), strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-3 * np.abs(a).max())


def test_a_cycle_ends_where_the_momentum_has_nearly_the_temperature_itself(tmp_path):
    text = SMALL.replace("1e-4", '{ kind = "cyclical", peak = 1e-3 }')
    flags = ["--chain.draws", "2", "--sampler.temperature", "0.5", "--expansion.frozen", "true"]
    run_chain(parse_config(text, flags), tmp_path / "run", progress=False)
    found = diagnose(tmp_path / "run", **QUICK)
    # The last of 5 steps has h = 1e-3 sin(pi / 10)^2, so that 1 - h g / 2 = 0.99523.
    damped = 1 - 1e-3 * np.sin(np.pi / 10) ** 2 * 100 / 2
    assert found.temperatures.kinetic["base"].expected == pytest.approx(0.5 / damped, rel=1e-6)
    assert found.temperatures.configurational["base"].expected == 0.5
    # Frozen factors are where they started, and have no temperature.
    assert set(found.temperatures.kinetic) == set(found.temperatures.configurational) == {"base"}
    assert found.factors.layers["layer1 P1"].largest == [1.0]
    assert "needs 8 draws a chain; there are 2" in found.convergence.reason
    assert "three draws of a chain; there are 2" in found.plane.reason


def test_what_one_draw_without_noise_cannot_show_is_skipped_with_the_reason(tmp_path):
    text = SMALL.replace('"sghmc"', '"sgd"').replace(
        "friction = { base = 100.0, factors = 1.0 }", ""
    )
    text = text.replace("out = 1", "out = 0").replace("into = 1", "into = 0")
    run_chain(parse_config(text, ["--chain.draws", "1"]), tmp_path / "run", progress=False)
    found = diagnose(tmp_path / "run", **QUICK)
    reasons = {
        name: part.reason
        for name in ("distances", "factors", "connectivity", "plane", "convergence", "temperatures")
        if isinstance(part := getattr(found, name), Skipped)
    }
    assert len(reasons) == 6 and reasons["temperatures"] == "The sampler runs at temperature 0."
    assert "not expanded" in reasons["factors"] and "two draws" in reasons["distances"]
    assert set(found.spectra.layers) == {"layer1", "head"} and found.worries == []


def test_several_chains_are_taken_together(two_chains):
    found = diagnose(two_chains, **QUICK)
    assert [len(chain) for chain in found.distances.d] == [9, 3]
    assert len(found.spectra.layers["head"].largest) == 14
    assert len(found.factors.layers["head Q1"].largest) == 2
    assert (found.convergence.chains, found.convergence.draws) == (2, 4)
    momenta = [
        np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(last.state.momentum.base)])
        for last in last_states(open_experiment(two_chains))
    ]
    value = found.temperatures.kinetic["base"].value
    assert value == pytest.approx(np.mean(np.concatenate(momenta) ** 2), rel=1e-5)


def test_a_run_becomes_a_datatree(two_chains):
    tree = run_to_datatree(two_chains, "head/*", probes=3)
    assert set(tree["posterior"].data_vars) == {"head.bias", "head.kernel"}
    assert tree["posterior"]["head.kernel"].shape == (2, 4, 4, 10)
    stored = open_run(two_chains / "chain-0001")
    assert np.array_equal(
        tree["posterior"]["head.kernel"].values[1, 2], stored.load_draw(3)["head/kernel"]
    )
    assert tree["sample_stats"]["energy"].values[1, 3] == stored.draws[3].energy
    assert np.allclose(tree["predictions"]["p"].sum("class"), 1.0)
    assert tree["predictions"]["p"].shape == (2, 4, 3, 10)
    with pytest.raises(UserError, match="`names` matches no parameter: 'tail'"):
        run_to_datatree(two_chains, "tail")


@pytest.mark.parametrize("name", ["rows", "lines", "line_points", "probes", "plane_points"])
def test_counts_that_make_no_sense_are_named(folder, name):
    with pytest.raises(UserError, match=f"`{name}` must be a whole number"):
        diagnose(folder, **{name: -1})
