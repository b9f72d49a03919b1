"""Going on with anything that is not as the run began is refused or said, never silent."""

import contextlib
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.chain import environment, provenance
from pxsgmcmc.errors import UserError
from pxsgmcmc.store import open_run
from tests.helpers.chain_problems import INPUTS, PARAMS, TARGETS, same
from tests.helpers.cli_calls import assert_one_line, call
from tests.reliability.proofs import record


def network(params, x, activation=jnp.tanh):
    return (activation(x @ params["a"]["kernel"]) @ params["b"]["kernel"])[:, 0]


def shifted(key, x, size=0.1):
    return x + size * jax.random.normal(key, (1, x.shape[1]))


BASE = {
    "x": INPUTS,
    "y": TARGETS,
    "apply": network,
    "transform": None,
    "augment": shifted,
    "likelihood": px.likelihoods.gaussian(1.0),
    "prior": px.priors.normal(0.5),
    "factor_prior": px.priors.normal(0.5),
    "params": PARAMS,
    "expansion": {"out": 1, "into": 1},
    "sampler": px.sghmc,
    "schedule": px.cyclical(1e-2, 10),
    "friction": (10.0, 1.0),
    "temperature": 1.0,
    "noise": 1.0,
    "settings": {},
    "execution": {},
}


def go(out, **changes):
    """Sample with these settings, or go on with the run that is there."""
    s = BASE | changes
    problem = px.Problem(
        s["apply"],
        s["likelihood"],
        train=(s["x"], s["y"]),
        transform=s["transform"],
        augment=s["augment"],
    )
    plan = px.plan(s["params"], **s["expansion"])
    potential = px.potential(problem, prior=s["prior"], factor_prior=s["factor_prior"])
    sampler = s["sampler"](
        potential,
        s["schedule"],
        friction=plan.groups(base=s["friction"][0], factors=s["friction"][1]),
        temperature=s["temperature"],
        **({"noise": s["noise"]} if s["sampler"] is px.sghmc else {}),
    )
    settings = {"draws": 2, "cycle_length": 10, "batch_size": 7, "seed": 5, "progress": "plain"}
    settings |= {"resume": True, "out": out, "execution": px.Execution(**s["execution"])}
    return px.sample(sampler, px.expand(s["params"], plan), problem, **settings | s["settings"])


REFUSED = {
    "an input moved": {"x": INPUTS + np.float32(1e-3)},
    "a target moved": {"y": TARGETS + np.float32(1e-3)},
    "rows in another order": {"x": INPUTS[::-1].copy(), "y": TARGETS[::-1].copy()},
    "a row less": {"x": INPUTS[1:], "y": TARGETS[1:]},
    "another activation": {"apply": lambda p, x: network(p, x, jnp.sin)},
    "inputs prepared otherwise": {"transform": lambda x: 2.0 * x},
    "no augmentation": {"augment": None},
    "another augmentation": {"augment": lambda key, x: shifted(key, x, 0.2)},
    "more noise in the likelihood": {"likelihood": px.likelihoods.gaussian(1.1)},
    "another likelihood": {"likelihood": px.likelihoods.student_t(1.0)},
    "a wider prior": {"prior": px.priors.normal(0.6)},
    "another prior": {"prior": px.priors.laplace(0.5)},
    "a prior on the weights": {"prior": px.priors.on_weights(px.priors.normal(0.5))},
    "a wider factor prior": {"factor_prior": px.priors.normal(0.6)},
    "another start": {"params": jax.tree.map(lambda w: w + 0.5, PARAMS)},
    "no factors on the input": {"expansion": {"out": 1, "into": 0}},
    "another sampler": {"sampler": px.sgnht},
    "a larger step": {"schedule": px.cyclical(2e-2, 10)},
    "a step that ends higher": {"schedule": px.cyclical(1e-2, 10, lowest=1e-4)},
    "cycles half as long": {"schedule": px.cyclical(1e-2, 5)},
    "a constant step": {"schedule": px.constant(1e-2)},
    "more friction on the base": {"friction": (11.0, 1.0)},
    "more friction on the factors": {"friction": (10.0, 1.1)},
    "frictions exchanged": {"friction": (1.0, 10.0)},
    "a colder chain": {"temperature": 0.9},
    "less noise": {"noise": 0.9},
    "another seed": {"settings": {"seed": 6}},
    "another batch size": {"settings": {"batch_size": 8}},
    "another cycle length": {"settings": {"cycle_length": 20}},
    "a burn-in": {"settings": {"burn_in": 10}},
    "two draws a cycle": {"settings": {"draws_per_cycle": 2}},
    "another executor": {"execution": {"executor": "loop"}},
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    folder = tmp_path_factory.mktemp("begun") / "run"
    go(folder)
    return folder


@pytest.mark.parametrize("what", REFUSED)
def test_what_decides_the_draws_is_refused_in_one_line(what, begun):
    with pytest.raises(UserError) as caught:
        go(begun, **REFUSED[what])
    text = str(caught.value)
    assert "\n" not in text and str(begun) in text
    assert "began" in text


@contextlib.contextmanager
def jax_setting(name, value):
    before = getattr(jax.config, name)
    jax.config.update(name, value)
    try:
        yield
    finally:
        jax.config.update(name, before)


SETTINGS_OF_JAX = [
    ("jax_threefry_partitionable", False),
    ("jax_default_prng_impl", "rbg"),
    ("jax_default_matmul_precision", "bfloat16"),
]


@pytest.mark.parametrize("name, value", SETTINGS_OF_JAX)
def test_settings_of_jax_that_decide_the_draws_are_refused(name, value, begun):
    with jax_setting(name, value), pytest.raises(UserError, match=r"began with another .* of JAX"):
        go(begun)


SAID = {
    "fewer instructions": ("XLA_FLAGS", "--xla_cpu_max_isa=SSE4_2"),
    "fast mathematics": ("XLA_FLAGS", "--xla_cpu_enable_fast_math=true"),
    "more threads": ("PJRT_NPROC", "7"),
}


@pytest.mark.parametrize("what", SAID)
def test_what_moves_last_bits_is_said_once(what, begun, monkeypatch, capsys):
    # They are read when the manifest is written, so that JAX need not start anew for this.
    name, value = SAID[what]
    monkeypatch.setenv(name, f"{os.environ.get(name, '')} {value}" if "FLAGS" in name else value)
    go(begun)
    assert capsys.readouterr().err.count("the last bits may differ") == 1


def test_another_processor_is_said(begun, monkeypatch, capsys):
    monkeypatch.setattr(environment, "_cpu_information", lambda: "flags : sse2 avx\n")
    go(begun)
    said = capsys.readouterr().err
    assert "the last bits may differ" in said and "avx" in said


def test_at_least_thirty_perturbations_were_tried():
    refused, said = len(REFUSED) + len(SETTINGS_OF_JAX), len(SAID) + 1
    record("perturbed", refused=refused, said=said, silent=0)
    assert refused + said >= 30


def test_what_is_fine_is_not_commented_on(begun, capsys):
    go(begun)
    assert "began" not in capsys.readouterr().err


def test_a_change_that_is_accepted_is_said_and_written_down(tmp_path, capsys):
    go(tmp_path / "run")
    hashes = [draw.sha256 for draw in open_run(tmp_path / "run").draws]
    more = {"settings": {"draws": 4}, "execution": {"accept_changes": True}}
    extended = go(tmp_path / "run", prior=px.priors.normal(0.6), **more)
    assert "began with another prior" in capsys.readouterr().err
    changes = open_run(tmp_path / "run").manifest["progress"]["changes"]
    assert [entry["after_draws"] for entry in changes] == [2]
    assert {change["what"] for change in changes[0]["changes"]} >= {"prior"}
    assert "went on with another prior after 2 draws" in extended.verdict.headline
    assert [draw.sha256 for draw in open_run(tmp_path / "run").draws][:2] == hashes
    assert not same(extended, go(tmp_path / "whole", settings={"draws": 4}))


def test_accepting_changes_without_a_run_to_go_on_with_is_refused(tmp_path):
    with pytest.raises(UserError, match="`accept_changes` needs a run to go on with"):
        go(tmp_path / "run", settings={"resume": False}, execution={"accept_changes": True})
    said = call("run", "digits/sghmc", "--out", str(tmp_path / "new"), "--accept-changes")
    assert_one_line(said, 2, "--resume")
    assert not (tmp_path / "new").exists()


def test_another_version_hides_no_other_setting(begun, monkeypatch):
    monkeypatch.setattr(provenance, "versions", lambda: {"jaxlib": "9.9.9"})
    with pytest.raises(UserError, match=r"another friction of base .* now 11"):
        go(begun, friction=(11.0, 1.0))
