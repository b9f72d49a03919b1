"""Several chains in one process: what holds of each, and of all of them together."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.chain import prepared
from pxsgmcmc.chain.executors import Advance
from pxsgmcmc.errors import UserError
from pxsgmcmc.store import open_run
from tests.helpers import chain_problems as problems
from tests.helpers.chain_problems import run, same, settings
from tests.helpers.closeness import assert_close

CHAINS, STEPS = 3, 30


def chain_by_chain(several):
    return [several.chain(number) for number in range(several.chains)]


def test_one_after_the_other_each_is_bit_for_bit_the_chain_run_alone():
    several = run(chains=CHAINS, executor="loop")
    assert same(several.chain(0), run(executor="loop"))


def test_chains_one_after_the_other_share_what_is_compiled(monkeypatch):
    made = []

    def counted(*arguments):
        made.append(Advance(*arguments))
        return made[-1]

    monkeypatch.setattr(prepared, "Advance", counted)
    several = run(chains=CHAINS, executor="loop", draws=1)
    assert len(made) == 1 and not same(several.chain(0), several.chain(1))


def test_side_by_side_each_is_the_chain_run_alone_up_to_rounding():
    """So are chains of a run of fewer: a chain's randomness is that of its number."""
    several, pair, alone = run(chains=CHAINS, executor="vmap"), run(chains=2), run()
    for ours, theirs in ((several.chain(0), alone), (several.chain(1), pair.chain(1))):
        for p, q in zip(ours, theirs, strict=True):
            for x, y in zip(jax.tree.leaves(p), jax.tree.leaves(q), strict=True):
                # Of each step, the sums over the rows of a batch; none of these chains amplifies.
                assert_close(x, y, terms=STEPS * 7 * 12, scale=np.max(np.abs(y)))


def test_side_by_side_as_many_chains_give_the_same_bits_again_for_any_chunks():
    several = run(chains=CHAINS)
    again = run(chains=CHAINS, chunk_seconds=1e-6)
    assert all(map(same, chain_by_chain(several), chain_by_chain(again)))
    assert np.array_equal(several.energies, again.energies) and several.energies.shape == (3, 3)


@pytest.mark.parametrize("executor", ["vmap", "scan", "loop"])
def test_chains_that_are_extended_equal_chains_asked_for_all_at_once(executor, tmp_path):
    kind = {"chains": CHAINS, "executor": executor}
    run(**kind, out=tmp_path / "run", draws=2)
    hashes = [draw.sha256 for draw in open_run(tmp_path / "run/chain-0001").draws]
    extended = run(**kind, out=tmp_path / "run", resume=True, draws=4)
    whole = run(**kind, draws=4)
    assert all(map(same, chain_by_chain(extended), chain_by_chain(whole)))
    assert [draw.sha256 for draw in open_run(tmp_path / "run/chain-0001").draws][:2] == hashes
    opened = px.open(tmp_path / "run", position=problems.POSITION)
    assert opened.chains == CHAINS and len(opened) == 4 * CHAINS
    assert all(map(same, chain_by_chain(opened), chain_by_chain(whole)))


def test_the_number_of_chains_side_by_side_is_part_of_what_they_are(tmp_path):
    run(chains=CHAINS, out=tmp_path / "run", draws=1)
    origin = open_run(tmp_path / "run/chain-0001").manifest["origin"]
    assert (origin["executor"], origin["side_by_side"]) == ("vmap", CHAINS)
    with pytest.raises(UserError, match=r"another executor .vmap; now scan"):
        run(chains=CHAINS, out=tmp_path / "run", resume=True, executor="scan")
    with pytest.raises(UserError, match="can be 'vmap' for several `chains` on one of `devices`"):
        run(executor="vmap")


def test_draws_of_several_chains_come_in_turns():
    several = run(chains=CHAINS)
    assert len(several) == 9
    assert same([several[i] for i in (1, 4, 7)], several.chain(1))


def test_each_chain_may_start_where_its_own_key_says():
    def start(key):
        shift = jax.random.normal(key)
        return jax.tree.map(lambda w: w + shift, problems.PARAMS)

    frozen = px.sgd(problems.U, 1e-30)
    first = px.sample(frozen, start, problems.DATA, **settings(chains=2, draws=1))
    assert not same(first.chain(0), first.chain(1))


def test_another_number_of_chains_is_refused_in_one_sentence(tmp_path):
    run(chains=CHAINS, out=tmp_path / "three")
    run(out=tmp_path / "one")
    for folder, chains in (("three", 2), ("three", 1), ("one", 2)):
        before = sorted(path for path in tmp_path.rglob("*"))
        with pytest.raises(UserError, match="choose another directory") as caught:
            run(chains=chains, out=tmp_path / folder, resume=True)
        assert "\n" not in str(caught.value)
        assert sorted(path for path in tmp_path.rglob("*")) == before


def test_chains_on_one_target_agree_and_the_verdict_says_so():
    """R-hat of four chains on a normal: 1.1 would be 5 sd away, a false alarm in a million."""
    energy = px.potential(lambda q, x: -0.5 * (x - q) ** 2, data_size=8)
    several = px.sample(
        px.sghmc(energy, 0.1, friction=2.0),
        lambda key: jax.random.normal(key),
        jnp.arange(8.0),
        **settings(draws=100, cycle_length=40, batch_size=8, chains=4),
    )
    assert several.verdict.healthy and "energy R-hat 1" in several.verdict.headline
