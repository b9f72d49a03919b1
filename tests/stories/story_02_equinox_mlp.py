import equinox as eqx
import jax

import pxsgmcmc as px

digits = px.data.load("digits")
network = eqx.nn.MLP(64, 10, width_size=32, depth=2, key=jax.random.key(0))
params, rest = eqx.partition(network, eqx.is_array)


def apply(params, x):
    return jax.vmap(eqx.combine(params, rest))(x.reshape(-1, 64) / 127.5 - 1)


problem = px.Problem(
    apply,
    px.likelihoods.categorical(),
    train=digits.splits["train"],
    test=digits.splits["test"],
)
factors = px.priors.normal(0.05, at="identity")
potential = px.potential(problem, prior=px.priors.normal(0.05), factor_prior=factors)
sampler = px.sghmc(potential, px.cyclical(4e-3, 250), friction=20.0)
run = px.sample(sampler, px.expand(params, px.plan(params)), problem,
                draws=40, cycle_length=250, burn_in=5000, batch_size=200)  # fmt: skip
results = run.evaluate()
