"""Every sampler and network that a configuration can name can be built from it."""

import jax
import pytest

from pxsgmcmc.config import parse_config
from pxsgmcmc.config.build import build
from pxsgmcmc.config.model_sections import AnyModel
from pxsgmcmc.config.sampler_sections import AnySampler
from pxsgmcmc.errors import UserError
from tests.helpers.small_settings import SMALL

NEEDS = {"hmc": "leapfrog_steps = 2", "sgd": "momentum = 0.5"}
NEEDS |= dict.fromkeys(
    ("sghmc", "sgnht", "sgrhmc", "ggmc"), "friction = {base = 9.0, factors = 1.0}"
)
WITHOUT_NOISE = ("hmc", "ggmc", "l2e")


def names(union):
    return [struct.__struct_config__.tag for struct in union.__args__]


def sampler_flags(name):
    settings = ", ".join(filter(None, [f"name = '{name}'", "step_size = 1e-3", NEEDS.get(name)]))
    return [f"--sampler={{{settings}}}", "--chain.batch_size", "60"]


def shapes_after_a_step(config):
    """Trace one step, which runs no arithmetic."""
    parts = build(config)
    sampler = parts.sampler(0.5)
    batch = jax.tree.map(lambda x: x[: config.chain.batch_size], tuple(parts.problem.train))
    state = jax.eval_shape(lambda: sampler.init(parts.position(0)))
    after, info = jax.eval_shape(sampler.step, jax.random.key(0), state, batch)
    assert jax.tree.structure(after) == jax.tree.structure(state) and info.energy.shape == ()


@pytest.mark.parametrize("name", names(AnySampler))
@pytest.mark.parametrize("flag", ["--seed=1", "--prior.on_weights=true"])
def test_each_sampler_can_be_built(name, flag):
    shapes_after_a_step(parse_config(SMALL, [*sampler_flags(name), flag]))


def test_hmc_takes_jitter_and_adaptation_from_a_configuration():
    flags = ["--chain.batch_size=60", "--chain.burn_in=30", "--sampler.jitter=0.5"]
    hmc = "--sampler={name = 'hmc', step_size = 1e-3, leapfrog_steps = 4}"
    adapt = "--sampler.adapt={steps = 30, acceptance = 0.7, mass = false}"
    built = build(parse_config(SMALL, [hmc, adapt, *flags]))
    assert built.sampler(1.0).facts.adaptation_steps == 30
    state = jax.eval_shape(lambda: built.sampler(1.0).init(built.position(0)))
    assert state.adaptation.spread is None  # no mass is adapted
    shapes_after_a_step(built.config)
    with pytest.raises(UserError, match=r"`sampler\.adapt\.acceptance`"):
        parse_config(SMALL, [hmc, *flags, "--sampler.adapt={steps = 30, acceptance = 1.5}"])


@pytest.mark.parametrize("name", [name for name in names(AnySampler) if name not in WITHOUT_NOISE])
def test_each_sampler_whose_noise_can_be_switched_off_can_leave_the_factors_frozen(name):
    shapes_after_a_step(parse_config(SMALL, [*sampler_flags(name), "--expansion.frozen=true"]))


@pytest.mark.parametrize("name", WITHOUT_NOISE)
def test_a_sampler_whose_noise_cannot_be_switched_off_refuses_frozen_factors(name):
    with pytest.raises(UserError, match=r"`expansion\.frozen` needs a sampler with `noise`"):
        parse_config(SMALL, [*sampler_flags(name), "--expansion.frozen=true"])


@pytest.mark.parametrize("name", names(AnyModel))
def test_each_network_can_be_built(name):
    small = {"resnet_frn": ", depth = 8, width = 2", "vit": ", width = 8, depth = 1, heads = 2"}
    flags = [f"--model={{name = '{name}'{small.get(name, '')}}}", "--data.augment", "true"]
    shapes_after_a_step(parse_config(SMALL, flags))


@pytest.mark.parametrize(
    ("data", "likelihood"),
    [
        ("breast_cancer", {"name": "categorical"}),
        ("breast_cancer", {"name": "bernoulli"}),
        ("sinusoid", {"name": "gaussian"}),
        ("sinusoid", {"name": "gaussian", "noise": 0.3}),
        ("sinusoid", {"name": "gaussian", "noise": "network"}),
        ("sinusoid", {"name": "student_t", "freedom": 5.0}),
    ],
)
def test_each_likelihood_can_be_built(data, likelihood):
    text = ", ".join(f"{key} = {value!r}" for key, value in likelihood.items())
    config = parse_config(SMALL, [f"--data.name={data}", f"--likelihood={{{text}}}"])
    shapes_after_a_step(config)
    assert build(config).problem.likelihood.name.startswith(likelihood["name"])


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--model={name = 'resnet_frn', depth = 9}"], "`model.depth` must be 6 n"),
        (["--model={name = 'vit', heads = 3}"], "`model.heads` must divide"),
        (["--model={name = 'vit', patch = 3}"], "`model.patch` = 3 must divide"),
        (["--model={name = 'cnn', widths = []}"], "`model.widths` must be"),
        (["--data.name", "photos-sklearn"], "`data.name` must be a set to train on"),
        (["--data.name=sinusoid", "--likelihood={name = 'categorical'}"], "`likelihood.name` = "),
        (["--data.name", "sinusoid", "--data.augment", "true"], "`data.augment` needs images"),
        (["--sampler={name = 'hmc', step_size = 1.0, leapfrog_steps = 1}"], "`chain.batch_size`"),
    ],
)
def test_what_the_network_or_the_data_refuse_is_named_by_its_place(flags, named):
    with pytest.raises(UserError, match=named):
        build(parse_config(SMALL, flags))
