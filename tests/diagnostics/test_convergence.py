"""R-hat and effective sample sizes against their definition written out, and the DataTree."""

import sys

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from pxsgmcmc import diagnostics as diag
from pxsgmcmc.diagnostics._r_hat import _ranks
from pxsgmcmc.errors import UserError


def split(chains):
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def normal_scores(x):
    return norm.ppf((rankdata(x).reshape(x.shape) - 3 / 8) / (x.size + 1 / 4))


def plain_r_hat(x):
    n = x.shape[1]
    within, between = x.var(axis=1, ddof=1).mean(), n * x.mean(axis=1).var(ddof=1)
    return np.sqrt(((n - 1) / n * within + between / n) / within)


def rank_r_hat(chains):
    """Vehtari et al. (2021): the larger of bulk and folded R-hat of split, ranked chains."""
    halves = split(chains)
    folded = np.abs(halves - np.median(halves))
    return max(plain_r_hat(normal_scores(halves)), plain_r_hat(normal_scores(folded)))


def plain_ess(x):
    """Geyer's initial monotone sequence over all chains, with sums written out."""
    m, n = x.shape
    centred = x - x.mean(axis=1, keepdims=True)
    autocovariance = [(centred[:, : n - t] * centred[:, t:]).sum() / (n * m) for t in range(n)]
    within = autocovariance[0] * n / (n - 1)
    total = within * (n - 1) / n + x.mean(axis=1).var(ddof=1)
    rho = np.array([1.0, *(1 - (within - c) / total for c in autocovariance[1:])])
    pairs, time, smallest = rho[: n - n % 2].reshape(-1, 2).sum(axis=1), -1.0, np.inf
    for k, pair in enumerate(pairs[:-1]):
        if pair <= 0.0:
            time += max(rho[2 * k], 0.0)  # the last even term, which lowers the variance
            break
        smallest = min(smallest, pair)
        time += 2.0 * smallest
    return m * n / max(time, 1 / np.log10(m * n))


def autoregressive(rng, chains, draws, rho):
    x = np.zeros((chains, draws))
    x[:, 0] = rng.normal(size=chains)
    for t in range(1, draws):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * rng.normal(size=chains)
    return x


def test_equal_values_share_their_rank_and_nan_spoils_its_own_column_only():
    x = np.random.default_rng(0).integers(0, 4, size=(9, 3)).astype(float)
    x[4, 1] = np.nan
    np.testing.assert_array_equal(_ranks(x), rankdata(x, axis=0))


@pytest.mark.parametrize(("chains", "draws", "shift"), [(4, 60, 0.0), (2, 31, 0.7), (3, 10, 3.0)])
def test_r_hat_is_the_rank_normalised_one(chains, draws, shift):
    rng = np.random.default_rng(chains)
    x = rng.normal(size=(chains, draws, 5)) + shift * np.arange(chains).reshape(-1, 1, 1)
    found = diag.convergence(x).r_hat
    assert found == pytest.approx([rank_r_hat(x[..., k]) for k in range(5)], rel=1e-10)


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9, -0.4])
def test_effective_sample_sizes_are_those_of_the_monotone_sequence(rho):
    x = autoregressive(np.random.default_rng(3), 4, 200, rho)
    found = diag.convergence(x)
    assert found.ess_bulk == pytest.approx(plain_ess(normal_scores(split(x))), rel=1e-8)
    low, high = ((x <= np.quantile(x, q)).astype(float) for q in (0.05, 0.95))
    tails = min(plain_ess(split(low)), plain_ess(split(high)))
    assert found.ess_tail == pytest.approx(tails, rel=0.05)  # definitions of a quantile differ


def test_effective_sample_size_of_an_autoregression_is_near_its_theory():
    x = autoregressive(np.random.default_rng(4), 4, 5000, 0.5)
    assert diag.convergence(x).ess_bulk == pytest.approx(20_000 / 3, rel=0.15)


def test_one_chain_is_compared_with_itself():
    rng = np.random.default_rng(5)
    settled, drifting = (
        rng.normal(size=(1, 100)),
        rng.normal(size=(1, 100)) + np.linspace(0, 5, 100),
    )
    assert diag.convergence(settled).r_hat < 1.1
    assert diag.convergence(drifting).r_hat > 1.5
    assert diag.convergence(settled[:, :9]).r_hat > 0.0  # an odd number of draws


def test_chains_stuck_in_different_places_have_infinite_r_hat():
    stuck = np.repeat([[0.0], [1.0]], 20, axis=1)
    assert diag.convergence(stuck).r_hat == np.inf


def test_what_never_changes_is_set_apart():
    x = np.random.default_rng(6).normal(size=(2, 20, 4))
    x[..., 1] = 0.25
    found = diag.convergence(x)
    assert np.isnan(found.r_hat).tolist() == [False, True, False, False]
    summary = diag.summarise(found)
    assert (summary.quantities, summary.constant) == (4, 1)
    assert summary.worst["r_hat"] == np.nanmax(found.r_hat)
    assert summary.worst["ess_bulk"] == np.nanmin(found.ess_bulk)
    assert np.isnan(diag.summarise(diag.convergence(np.ones((2, 20)))).worst["r_hat"])


def test_function_space_finds_the_one_row_on_which_chains_disagree():
    rng = np.random.default_rng(7)
    logits = rng.normal(size=(3, 40, 6, 3))
    logits[0, :, 4, 0] += 3.0
    p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    by_row = diag.convergence(p).r_hat.max(axis=1)
    assert by_row.argmax() == 4
    summary = diag.function_space_convergence(p)
    assert summary.worst["r_hat"] == pytest.approx(by_row.max())
    assert summary.median["r_hat"] < 1.1
    assert summary.quantiles["r_hat"].tolist() == sorted(summary.quantiles["r_hat"])
    assert (summary.quantities, len(summary.levels)) == (18, 7)


def test_function_space_looks_at_no_more_rows_than_asked():
    p = np.random.default_rng(8).dirichlet(np.ones(3), size=(2, 8, 50))
    assert diag.function_space_convergence(p, most=12).quantities == 12
    assert diag.function_space_convergence(p, most=1).quantities == 3


def test_a_data_tree_holds_draws_energy_likelihood_and_predictions():
    rng = np.random.default_rng(9)
    weights, energy = rng.normal(size=(2, 5, 3, 4)), rng.normal(size=(2, 5))
    tree = diag.to_datatree(
        {"stem/kernel": weights, "bias": energy},
        energy=energy,
        log_likelihood=np.zeros((2, 5, 7)),
        predictions=np.ones((2, 5, 7, 3)) / 3,
    )
    assert sorted(tree.children) == ["log_likelihood", "posterior", "predictions", "sample_stats"]
    assert tree["posterior"]["stem.kernel"].dims[:2] == ("chain", "draw")
    assert np.array_equal(tree["posterior"]["stem.kernel"].values, weights)
    assert np.array_equal(tree["sample_stats"]["energy"].values, energy)
    assert tree["predictions"]["p"].dims == ("chain", "draw", "data", "class")
    assert tree["log_likelihood"]["y"].shape == (2, 5, 7)
    assert list(diag.to_datatree({"bias": energy}).children) == ["posterior"]


@pytest.mark.parametrize("module", ["arviz_stats.base", "arviz_base"])
def test_a_missing_extra_is_named(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)  # what makes an import fail
    call = diag.convergence if "stats" in module else lambda x: diag.to_datatree({"x": x})
    with pytest.raises(UserError, match=r"pip install 'pxsgmcmc\[diag\]'"):
        call(np.zeros((2, 10)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: diag.convergence(np.zeros((2, 1))), "at least 4 draws a chain"),
        (lambda: diag.convergence(np.zeros((1, 7))), "at least 8 draws a chain"),
        (lambda: diag.convergence(np.zeros(9)), "(chains, draws, ...)"),
        (lambda: diag.convergence(np.zeros((2, 0))), "non-empty"),
        (lambda: diag.convergence(np.full((2, 9), np.nan)), "finite, got nan"),
        (lambda: diag.function_space_convergence(np.zeros((2, 9, 3))), "(chains, draws, data,"),
        (lambda: diag.function_space_convergence(np.zeros((2, 9, 3, 2)), most=0), "`most`"),
        (lambda: diag.to_datatree({}), "at least one named array"),
        (lambda: diag.to_datatree({"a": np.zeros(3)}), "same axes (chains, draws)"),
        (lambda: diag.to_datatree({"a": np.zeros((2, 3))}, energy=np.zeros((2, 4))), "same axes"),
    ],
)
def test_bad_input_is_answered_with_one_sentence(call, words):
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert words in message
    assert message.endswith(".") and "\n" not in message
