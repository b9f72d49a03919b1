"""Every sampler and network that a configuration can name can be built from it."""

import jax
import pytest

from pxsgmcmc.config import parse_config
from pxsgmcmc.config.schema import AnyModel, AnySampler
from pxsgmcmc.errors import UserError
from pxsgmcmc.experiment import wire
from tests.cli.settings import SMALL

NEEDS = {"hmc": "leapfrog_steps = 2", "sgd": "momentum = 0.5"}
NEEDS |= dict.fromkeys(
    ("sghmc", "sgnht", "sgrhmc", "ggmc"), "friction = {base = 9.0, factors = 1.0}"
)


def names(union):
    return [struct.__struct_config__.tag for struct in union.__args__]


def shapes_after_a_step(config):
    """Trace one step, which runs no arithmetic."""
    parts = wire(config)
    sampler = parts.sampler(0.5)
    batch = jax.tree.map(lambda x: x[: config.chain.batch_size], parts.train)
    state = jax.eval_shape(sampler.init, parts.position)
    after, info = jax.eval_shape(sampler.step, jax.random.key(0), state, batch)
    assert jax.tree.structure(after) == jax.tree.structure(state) and info.energy.shape == ()


@pytest.mark.parametrize("name", names(AnySampler))
@pytest.mark.parametrize("flag", ["--seed=1", "--prior.exact=true", "--expansion.frozen=true"])
def test_each_sampler_can_be_built(name, flag):
    if "frozen" in flag and name in ("hmc", "ggmc"):
        return  # refused, since they have no noise to switch off
    settings = ", ".join(filter(None, [f"name = '{name}'", "step_size = 1e-3", NEEDS.get(name)]))
    flags = [f"--sampler={{{settings}}}", "--chain.batch_size", "60", flag]
    shapes_after_a_step(parse_config(SMALL, flags))


@pytest.mark.parametrize("name", names(AnyModel))
def test_each_network_can_be_built(name):
    small = {"resnet_frn": ", depth = 8, width = 2", "vit": ", width = 8, depth = 1, heads = 2"}
    flags = [f"--model={{name = '{name}'{small.get(name, '')}}}", "--data.augment", "true"]
    shapes_after_a_step(parse_config(SMALL, flags))


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--model={name = 'resnet_frn', depth = 9}"], "`model.depth` must be 6 n"),
        (["--model={name = 'vit', heads = 3}"], "`model.heads` must divide"),
        (["--model={name = 'vit', patch = 3}"], "`model.patch` = 3 must divide"),
        (["--model={name = 'cnn', widths = []}"], "`model.widths` must be"),
        (["--data.name", "sinusoid"], "`data.name` must be a set to train a classifier"),
        (["--sampler={name = 'hmc', step_size = 1.0, leapfrog_steps = 1}"], "`chain.batch_size`"),
    ],
)
def test_what_the_network_or_the_data_refuse_is_named_by_its_place(flags, named):
    with pytest.raises(UserError, match=named):
        wire(parse_config(SMALL, flags))
