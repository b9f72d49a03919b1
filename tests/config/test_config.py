"""Configurations: what is read is what was meant, what is written reads the same."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pxsgmcmc.cli.configs import bundled
from pxsgmcmc.config import parse_config, read_config, write_config
from pxsgmcmc.config.build import build
from pxsgmcmc.config.sampler_sections import CyclicalSettings, Groups
from pxsgmcmc.errors import UserError
from tests.config.bad_settings import GOOD, document
from tests.helpers.small_settings import SMALL

CYCLE = "{kind = 'cyclical', peak = 1e-3, period = 2}"
HMC = "{name = 'hmc', step_size = 1.0, leapfrog_steps = 3}"


@pytest.mark.parametrize("name", bundled())
def test_a_bundled_configuration_opens_with_command_cost_and_numbers_and_can_be_built(name):
    text = bundled()[name]
    what, run, cost, expected = text.splitlines()[:4]
    assert what.startswith("# ") and cost.startswith("# cost:     ")
    assert run == f"# run:      pxsgmcmc run {name}"
    assert expected.startswith("# expected: ") and any(map(str.isdigit, expected))
    build(parse_config(text))  # the data, the likelihood and the network go together
    assert write_config(parse_config(text))


def test_a_configuration_is_read_into_structs():
    config = parse_config(document(GOOD))
    assert config.sampler.step_size == CyclicalSettings(peak=1e-3, period=10)
    assert config.sampler.friction == Groups(base=100.0, factors=1.0)
    assert config.model.widths == (8,) and config.chain.thinning == 3 and config.threads == 2


def test_threads_are_two_for_one_chain_and_one_each_for_several():
    flags = [[], ["--chains", "3"], ["--chains", "3", "--threads", "4"]]
    assert [parse_config(SMALL, flag).threads for flag in flags] == [2, 1, 4]


def test_whole_numbers_serve_as_numbers_but_not_the_other_way_round():
    assert parse_config(SMALL, ["--sampler.temperature", "2"]).sampler.temperature == 2
    with pytest.raises(UserError, match=r"`chain\.draws` must be a whole number"):
        parse_config(SMALL, ["--chain.draws", "2.0"])


@settings(deadline=None, derandomize=True, database=None)
@given(
    root=st.text(max_size=30), seed=st.integers(0, 10**9), heat=st.floats(0, 1e12), c=st.booleans()
)
def test_what_is_written_reads_the_same(root, seed, heat, c):
    config = parse_config(document(GOOD))
    data = msgspec.structs.replace(config.data, root=root, augment=c)
    sampler = msgspec.structs.replace(config.sampler, temperature=heat)
    config = msgspec.structs.replace(config, seed=seed, data=data, sampler=sampler)
    assert parse_config(write_config(config)) == config


def test_flags_stand_over_the_file_in_either_spelling():
    flags = ["--chain.draws", "7", "--sampler.friction={base = 1.0, factors = 2.0}"]
    flags += ["--chain.burn-in", "3", "--data.name", "mnist5k", "--expansion.frozen", "true"]
    config = parse_config(SMALL, flags)
    assert config.chain.draws == 7 and config.chain.burn_in == 3 and config.expansion.frozen
    assert config.sampler.friction == Groups(base=1.0, factors=2.0)
    assert config.data.name == "mnist5k"


def test_a_value_that_smuggles_in_another_line_is_text():
    with pytest.raises(UserError, match="`seed` must be a whole number"):
        parse_config(SMALL, ["--seed", "1\nchains = 5"])


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--sampler.stepsize", "1"], "`sampler.stepsize`; did you mean `step_size`?"),
        (["--chian.draws", "1"], "has no setting 'chian': `chian`; did you mean `chain`?"),
        (["--model.width", "1"], "`model.width`; did you mean `widths`?"),
        (["--sampler.name", "sgmcmc"], "`sampler.name` cannot be 'sgmcmc'; known: sgld, psgld"),
        (["--chain.executor", "fast"], "must be one of auto, loop, scan, vmap, got 'fast'"),
        (
            ["--sampler.friction", "[1]"],
            '`sampler.friction` must be a number or a table or "auto", got [1]',
        ),
        (
            ['--sampler.step_size={kind = "cyclical", peak = "4e-3"}'],
            "`sampler.step_size.peak` must be a positive number or \"auto\", got '4e-3'",
        ),
        (["--sampler.step_size", '"fast"'], 'must be a positive number or a table or "auto", got'),
        (["--draws", "5"], "has no setting 'draws': `draws`; did you mean `chain.draws`?"),
        (["--data.train", "d.npz"], "`data.train` must be a table, such as { x = "),
        (
            ["--model.widths", "[4, 0]"],
            "`model.widths[1]` must be a whole number of at least 1",
        ),
        (
            ["--seed", "0x" + "f" * 5000],
            "`seed` must be a whole number of at most 1,000,000,000",
        ),
        (["--seed." + ".".join("a" * 3000), "1"], "`seed` must be a whole number"),
        (
            ["--sampler.temperature", "1" + "0" * 400],
            "`sampler.temperature` must be a number of at most 1,000,000,000,000",
        ),
        (
            ['--sampler={name = "sgd", step_size = 0.1, momentum = 1.0}'],
            "`sampler.momentum` must be a number below 1, got 1.0",
        ),
        (["--seed"], "`--seed` needs a value"),
        (["seed", "1"], "`seed` is out of place"),
    ],
)
def test_a_fault_is_named_with_its_place_and_remedy(flags, sentence):
    with pytest.raises(UserError) as caught:
        parse_config(SMALL, flags)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 300


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--chain.draws_per_cycle", "6"], "`chain.draws_per_cycle`"),
        ([f"--sampler.step_size={CYCLE}"], "`sampler.step_size.period` must divide .* = 5, .* 2"),
        (["--chain.draws_per_cycle", "2", "--chain.thinning", "5"], "`chain.draws_per_cycle`"),
        (["--expansion.out", "0", "--expansion.into", "0", "--expansion.rank", "2"], "rank"),
        (["--expansion.out", "0", "--expansion.into", "0", "--expansion.frozen", "true"], "frozen"),
        (["--expansion.frozen", "true", f"--sampler={HMC}"], "`expansion.frozen` needs a sampler"),
    ],
)
def test_settings_that_do_not_go_together_are_named(flags, named):
    with pytest.raises(UserError, match=named):
        parse_config(SMALL, flags)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    for path, reason in (
        (tmp_path / "none.toml", "There is no configuration file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "binary.toml", "not UTF-8"),
    ):
        with pytest.raises(UserError, match=reason):
            read_config(path)
