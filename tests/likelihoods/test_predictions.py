"""What draws predict together, and its metrics, against SciPy on the mixture written out."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import pxsgmcmc as px
from pxsgmcmc.errors import UserError

DRAWS, ROWS, TARGETS = 5, 7, 2
RNG = np.random.default_rng(3)
MEANS = RNG.normal(size=(DRAWS, ROWS, TARGETS))
Y = RNG.normal(size=(ROWS, TARGETS))
COUNTS = RNG.poisson(2.0, (ROWS, TARGETS)).astype(np.float64)
pytestmark = pytest.mark.usefixtures("in_float64")


def noise_of(kind):
    """Scales (draws, rows, targets) and what the likelihood is given for them."""
    if kind == "network":
        return np.exp(0.3 * RNG.normal(size=MEANS.shape)), None
    if kind == "learned":
        scales = np.array([0.4, 0.5, 0.6, 0.7, 0.8])
        return np.broadcast_to(scales[:, None, None], MEANS.shape), scales
    return np.full(MEANS.shape, kind), None


def distributions(likelihood, scales, own_scales):
    """Every draw's rows, made by the likelihood from what its network would give."""
    rows = []
    for draw in range(DRAWS):
        outputs, own = MEANS[draw], {}
        if likelihood.noise == "network":
            outputs = np.concatenate([outputs, np.log(scales[draw])], axis=1)
        if own_scales is not None:
            own = {"log_noise": jnp.asarray(np.log(own_scales[draw]))}
        rows.append(np.asarray(likelihood.distribution(jnp.asarray(outputs), own, TARGETS)))
    return np.stack(rows)


def frozen(name, scales):
    if name == "gaussian":
        return scipy.stats.norm(MEANS, scales)
    return scipy.stats.t(5.0, MEANS, scales)


def built(name, noise):
    if name == "gaussian":
        return px.likelihoods.gaussian(noise)
    return px.likelihoods.student_t(noise, freedom=5.0)


def collected(likelihood, rows):
    collector = likelihood.collector(rows.shape[1])
    for draw in rows:
        collector.add(slice(0, 4), draw[:4])  # in two parts, as batches come
        collector.add(slice(4, rows.shape[1]), draw[4:])
    return collector.finish(len(rows))


@pytest.mark.parametrize("noise", [0.7, "learned", "network"])
@pytest.mark.parametrize("name", ["gaussian", "student_t"])
class TestNumbers:
    def test_log_probabilities_are_scipys(self, name, noise):
        scales, own = noise_of(noise)
        likelihood = built(name, noise)
        rows = distributions(likelihood, scales, own)
        expected = frozen(name, scales).logpdf(Y).sum(axis=-1)
        for draw in range(DRAWS):
            found = likelihood.log_prob(jnp.asarray(rows[draw]), jnp.asarray(Y))
            np.testing.assert_allclose(found, expected[draw], rtol=1e-10)

    def test_the_average_is_the_mixture_of_the_draws(self, name, noise):
        scales, own = noise_of(noise)
        likelihood, each = built(name, noise), frozen(name, scales)
        predicted = collected(likelihood, distributions(likelihood, scales, own))
        mean, variance = each.mean(), each.var()
        # Rows of draws are kept in float32.
        np.testing.assert_allclose(predicted.mean, mean.mean(axis=0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(predicted.aleatoric, variance.mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(predicted.epistemic, mean.var(axis=0), rtol=1e-4)
        np.testing.assert_allclose(
            predicted.std**2, predicted.aleatoric + predicted.epistemic, rtol=1e-6
        )
        low, high = predicted.interval(0.8)
        for end, level in ((low, 0.1), (high, 0.9)):
            np.testing.assert_allclose(each.cdf(end).mean(axis=0), level, rtol=1e-4)
        density = scipy.special.logsumexp(each.logpdf(Y), axis=0) - np.log(DRAWS)
        np.testing.assert_allclose(predicted.log_density(Y), density, rtol=1e-4, atol=1e-5)

    def test_metrics_are_those_of_the_mixture(self, name, noise):
        scales, own = noise_of(noise)
        likelihood, each = built(name, noise), frozen(name, scales)
        rows = distributions(likelihood, scales, own)
        metrics = likelihood.sums(rows, Y).metrics()
        error = each.mean().mean(axis=0) - Y
        density = scipy.special.logsumexp(each.logpdf(Y), axis=0) - np.log(DRAWS)
        assert metrics["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
        # Targets are taken one by one, and added.
        assert metrics["nll"] == pytest.approx(-np.mean(density.sum(axis=-1)))
        within = each.cdf(Y).mean(axis=0)
        assert metrics["coverage90"] == pytest.approx(np.mean((within > 0.05) & (within < 0.95)))
        halves = likelihood.sums(rows[:, :3], Y[:3]) + likelihood.sums(rows[:, 3:], Y[3:])
        for metric, value in halves.metrics().items():
            assert value == pytest.approx(metrics[metric]), metric

    def test_the_error_of_one_draw_and_what_is_followed(self, name, noise):
        scales, own = noise_of(noise)
        likelihood = built(name, noise)
        rows = distributions(likelihood, scales, own)
        expected = np.sqrt(np.mean((MEANS[0] - Y) ** 2))
        assert likelihood.error(rows[0], Y) == pytest.approx(expected)
        np.testing.assert_allclose(likelihood.followed(rows), MEANS)
        spread = MEANS.std(axis=0).mean(axis=-1)
        np.testing.assert_allclose(likelihood.uncertainty(rows), spread)


class TestCounts:
    LOG_RATES = 0.5 * MEANS

    def test_the_average_is_the_mixture_of_poissons(self):
        likelihood = px.likelihoods.poisson()
        each = scipy.stats.poisson(np.exp(self.LOG_RATES))
        for draw in range(DRAWS):
            found = likelihood.log_prob(jnp.asarray(self.LOG_RATES[draw]), jnp.asarray(COUNTS))
            expected = each.logpmf(COUNTS)[draw].sum(axis=-1)
            np.testing.assert_allclose(found, expected, rtol=1e-10)
        predicted = collected(likelihood, self.LOG_RATES)
        np.testing.assert_allclose(predicted.mean, each.mean().mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(predicted.aleatoric, each.mean().mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(predicted.epistemic, each.mean().var(axis=0), rtol=1e-4)
        median = predicted.quantile(0.5)
        assert (each.cdf(median).mean(axis=0) >= 0.5).all()
        assert (each.cdf(median - 1).mean(axis=0) < 0.5).all()

    def test_metrics_are_those_of_the_mixture(self):
        each = scipy.stats.poisson(np.exp(self.LOG_RATES))
        metrics = px.likelihoods.poisson().sums(self.LOG_RATES, COUNTS).metrics()
        mass = scipy.special.logsumexp(each.logpmf(COUNTS), axis=0) - np.log(DRAWS)
        error = each.mean().mean(axis=0) - COUNTS
        assert metrics["nll"] == pytest.approx(-np.mean(mass.sum(axis=-1)))
        assert metrics["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))

    def test_what_is_not_a_count_is_refused(self):
        with pytest.raises(UserError, match=r"counts, whole numbers of at least 0, got 0\.5"):
            px.likelihoods.poisson().check_targets([1.0, 0.5], (), "y")


@pytest.mark.parametrize("one_logit", [False, True])
class TestClasses:
    def rows(self, one_logit):
        """A likelihood and every draw's rows."""
        if one_logit:
            likelihood, outputs = px.likelihoods.bernoulli(), MEANS[..., 0]
        else:
            likelihood, outputs = px.likelihoods.categorical(), RNG.normal(size=(DRAWS, ROWS, 3))
        rows = [np.asarray(likelihood.distribution(jnp.asarray(z), {}, 3)) for z in outputs]
        return likelihood, np.stack(rows), outputs

    def probabilities(self, one_logit, outputs):
        if one_logit:
            p = scipy.special.expit(outputs)
            return np.stack([1 - p, p], axis=-1)
        return scipy.special.softmax(outputs, axis=-1)

    def test_log_probabilities_average_and_metrics(self, one_logit):
        likelihood, rows, outputs = self.rows(one_logit)
        p = self.probabilities(one_logit, outputs)
        y = np.arange(ROWS) % p.shape[-1]
        place = np.arange(ROWS), y
        found = likelihood.log_prob(jnp.asarray(rows[0]), jnp.asarray(y))
        np.testing.assert_allclose(found, np.log(p[0][place]), rtol=1e-10)
        predicted = collected(likelihood, rows)
        np.testing.assert_allclose(predicted.probabilities, p.mean(axis=0), rtol=1e-10)
        entropy = scipy.stats.entropy(p.mean(axis=0), axis=-1)
        np.testing.assert_allclose(predicted.entropy, entropy, rtol=1e-10)
        aleatoric = scipy.stats.entropy(p, axis=-1).mean(axis=0)
        np.testing.assert_allclose(predicted.aleatoric, aleatoric, rtol=1e-10)
        np.testing.assert_allclose(predicted.epistemic, entropy - aleatoric, rtol=1e-8)
        np.testing.assert_allclose(likelihood.uncertainty(rows), entropy, rtol=1e-6)
        np.testing.assert_allclose(likelihood.followed(rows), p, rtol=1e-10)
        metrics = likelihood.sums(rows, y).metrics()
        assert metrics["nll"] == pytest.approx(-np.mean(np.log(p.mean(axis=0)[place])))
        assert metrics["err"] == pytest.approx(np.mean(p.mean(axis=0).argmax(axis=-1) != y))
        assert likelihood.error(rows[0], y) == pytest.approx(np.mean(p[0].argmax(axis=-1) != y))


class TestOwn:
    LIKELIHOOD = px.likelihoods.custom(
        lambda z, y: -jnp.sum(jnp.abs(z - y), axis=1) - TARGETS * jnp.log(2.0), outputs=TARGETS
    )

    def test_log_probabilities_are_those_of_the_function(self):
        expected = scipy.stats.laplace(MEANS[0]).logpdf(Y).sum(axis=-1)
        rows = self.LIKELIHOOD.distribution(jnp.asarray(MEANS[0]), {}, TARGETS)
        np.testing.assert_allclose(self.LIKELIHOOD.log_prob(rows, jnp.asarray(Y)), expected)
        assert self.LIKELIHOOD.error(MEANS[0], Y) == pytest.approx(-expected.mean())

    def test_draws_predict_their_mean_and_its_spread(self):
        predicted = collected(self.LIKELIHOOD, MEANS)
        assert predicted.draws == DRAWS and predicted.outputs.shape == MEANS.shape
        np.testing.assert_allclose(predicted.mean, MEANS.mean(axis=0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(predicted.std, MEANS.std(axis=0), rtol=1e-5)

    def test_nll_is_that_of_the_averaged_density(self):
        log_density = scipy.stats.laplace(MEANS).logpdf(Y).sum(axis=-1)
        expected = -np.mean(scipy.special.logsumexp(log_density, axis=0) - np.log(DRAWS))
        metrics = self.LIKELIHOOD.sums(MEANS, Y).metrics()
        assert metrics["nll"] == pytest.approx(expected)
        assert metrics["ind"] == pytest.approx(-log_density.mean())

    def test_a_function_that_sums_over_the_batch_is_refused(self):
        summed = px.likelihoods.custom(lambda z, y: -jnp.sum((z - y) ** 2))
        with pytest.raises(UserError, match="`log_prob` must give one number per datum"):
            summed.log_prob(jnp.asarray(MEANS[0]), jnp.asarray(Y))


@pytest.mark.parametrize("noise", [0.0, -1.0, float("nan"), "unknown", True, None])
def test_a_noise_that_is_none_is_refused(noise):
    with pytest.raises(UserError, match="`noise` must be a positive number"):
        px.likelihoods.gaussian(noise)
