"""All diagnostics of small runs, against the same numbers computed from their files."""

import shutil
from itertools import pairwise

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.diagnostics import convergence
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate import last_state
from pxsgmcmc.evaluate.datatree import run_to_datatree
from pxsgmcmc.evaluate.last_state import full_gradients
from pxsgmcmc.evaluate.options import DiagnoseOptions
from pxsgmcmc.results import Diagnostics, Skipped
from pxsgmcmc.store import create_chains, open_run
from tests.helpers.quick_jit import quick_jit
from tests.helpers.small_runs import sampled, shaken, written
from tests.helpers.small_settings import SMALL

QUICK = DiagnoseOptions(rows=40, lines=3, line_points=3, plane_points=4, probes=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An expanded run of ten draws with a constant step size."""
    place = tmp_path_factory.mktemp("runs") / "px"
    sampled(place, "--chain.draws", "10")
    return place


@pytest.fixture(scope="module")
def found(folder):
    return px.open(folder).diagnose(QUICK)


@pytest.fixture(scope="module")
def two_chains(folder, found, tmp_path_factory):
    """The same run with a second, shorter chain beside it."""
    place = tmp_path_factory.mktemp("runs") / "two"
    create_chains(place, 2)
    shutil.copytree(folder, place / "chain-0000", dirs_exist_ok=True)
    sampled(place / "chain-0001", "--chain.draws", "4", chain=1)
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
    run = px.open(folder)
    x, y = run.problem.train
    chosen = np.linspace(0, 59, 40).round().astype(int)
    apply = jax.jit(run.problem.distribution)
    answers = [np.asarray(apply(params, x[chosen])).argmax(-1) for params in run]
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
    # The verdict speaks of the same number.
    assert f"energy R-hat {expected['r_hat']:.3g}" in found.verdict.headline


def test_temperatures_are_of_the_last_cycle_and_of_the_gradient_on_all_rows(
    folder, found, monkeypatch
):
    run = px.open(folder)
    (state,) = run.last_states()
    assert int(state.step) == 50
    potential = run.sampler.facts.potential
    batch = jax.tree.map(jnp.asarray, tuple(run.problem.train))
    gradient = quick_jit(jax.grad(potential))(state.position, batch)
    last = open_run(folder).draws[-1].facts
    for group in ("base", "factors"):
        q, g = (
            np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(getattr(tree, group))])
            for tree in (state.position, gradient)
        )
        kinetic = found.temperatures.kinetic[group]
        still = found.temperatures.configurational[group]
        assert kinetic.value == last["temperature"][group]
        assert 0.0 <= kinetic.low < kinetic.expected < kinetic.high
        assert still.value == pytest.approx(np.mean(q * g), rel=1e-4)
        assert still.expected == 1.0
    # 1 / (1 - h g / 2) at h = 1e-4 with frictions 100 and 1
    assert found.temperatures.kinetic["base"].expected == pytest.approx(1 / 0.995)
    assert found.temperatures.kinetic["factors"].expected == pytest.approx(1 / 0.99995)

    monkeypatch.setattr(last_state, "chunk_size", lambda rows: 25)  # 25, 25 and 10 of 60
    told = []
    (cut,) = full_gradients(
        potential, run.problem, [state.position], lambda *what: told.append(what)
    )
    assert told[-1] == ("gradient on all rows", 3, 3)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(cut), strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-3 * np.abs(a).max())


def test_the_temperature_of_a_cycle_is_expected_at_its_mean_step_size(tmp_path):
    text = SMALL.replace("1e-4", '{ kind = "cyclical", peak = 1e-3 }')
    flags = ["--chain.draws", "2", "--sampler.temperature", "0.5", "--expansion.frozen", "true"]
    found = sampled(tmp_path / "run", *flags, text=text).diagnose(QUICK)
    # The 5 steps of the cycle have h = 1e-3 cos(pi t / 10)^2, of mean 6e-4: 1 - h g / 2 = 0.97.
    assert found.temperatures.kinetic["base"].expected == pytest.approx(0.5 / 0.97, rel=1e-6)
    assert found.temperatures.configurational["base"].expected == 0.5
    # Frozen factors are where they started, and have no temperature.
    assert set(found.temperatures.kinetic) == set(found.temperatures.configurational) == {"base"}
    assert found.factors.layers["layer1 P1"].largest == [1.0]
    assert "needs 10 draws a chain; there are 2" in found.convergence.reason
    assert "three draws of a chain; there are 2" in found.plane.reason


def test_what_one_draw_without_noise_cannot_show_is_skipped_with_the_reason(tmp_path):
    text = SMALL.replace('"sghmc"', '"sgd"').replace(
        "friction = { base = 100.0, factors = 1.0 }", ""
    )
    text = text.replace("out = 1", "out = 0").replace("into = 1", "into = 0")
    found = sampled(tmp_path / "run", "--chain.draws", "1", text=text).diagnose(QUICK)
    reasons = {
        name: part.reason
        for name in ("distances", "factors", "connectivity", "plane", "convergence", "temperatures")
        if isinstance(part := getattr(found, name), Skipped)
    }
    assert len(reasons) == 6 and "The sampler runs at temperature 0" in reasons["temperatures"]
    assert "not expanded" in reasons["factors"] and "two draws" in reasons["distances"]
    assert set(found.spectra.layers) == {"layer1", "head"}
    assert found.verdict.healthy is None and found.verdict.warnings == []


def test_several_chains_are_taken_together(two_chains):
    run = px.open(two_chains)
    found = run.diagnose(QUICK)
    assert [len(chain) for chain in found.distances.d] == [9, 3]
    assert len(found.spectra.layers["head"].largest) == 14
    assert len(found.factors.layers["head Q1"].largest) == 2
    assert (found.convergence.chains, found.convergence.draws) == (2, 4)
    last = [open_run(place).draws[-1].facts for place in sorted(two_chains.glob("chain-*"))]
    value = found.temperatures.kinetic["base"].value
    assert value == pytest.approx(np.mean([facts["temperature"]["base"] for facts in last]))
    products = [
        np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(position.base)])
        for position in (state.position for state in run.last_states())
    ]
    assert len(products) == 2 and not np.array_equal(*products)


def test_an_energy_that_never_changes_is_not_an_infinite_r_hat(tmp_path):
    place = written(tmp_path / "run", map(shaken, range(11)), energy=3.0)
    found = px.open(place).diagnose(QUICK)
    assert found.convergence.energy["r_hat"] is None
    assert any("energy never changes" in warning for warning in found.verdict.warnings)
    assert "infinite" not in " ".join([found.verdict.headline, *found.verdict.warnings])


def test_chains_that_stand_still_in_different_places_have_an_infinite_r_hat(tmp_path):
    create_chains(tmp_path / "run", 2)
    for chain in (0, 1):
        same = [shaken(chain) for _ in range(4)]
        place = tmp_path / "run" / f"chain-{chain:04}"
        written(place, same, "--chains", "2", chain=chain, energy=float(chain))
    found = px.open(tmp_path / "run").diagnose(QUICK)
    assert found.convergence.energy["r_hat"] == "infinite"
    assert found.convergence.median["r_hat"] == "infinite"
    said = " ".join(found.verdict.warnings)
    assert "R-hat is infinite and the chains disagree" in said and "does not move" in said


def test_a_run_becomes_a_datatree(two_chains):
    tree = run_to_datatree(px.open(two_chains), "head/*", rows=3)
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
        px.open(two_chains).to_arviz("tail")


@pytest.mark.parametrize("name", ["rows", "lines", "line_points", "probes", "plane_points"])
def test_counts_that_make_no_sense_are_named(name):
    with pytest.raises(UserError, match=f"`{name}` must be a whole number"):
        DiagnoseOptions(**{name: -1})
