import equinox as eqx
import jax

import pxsgmcmc as px

table = px.data.load("breast_cancer")
(x, y), (x_test, y_test) = table.splits["train"], table.splits["test"]
mean, std = x.mean(axis=0), x.std(axis=0)
network = eqx.nn.MLP(30, "scalar", 16, 2, key=jax.random.key(0))
params, rest = eqx.partition(network, eqx.is_array)

problem = px.Problem(
    lambda params, x: jax.vmap(eqx.combine(params, rest))(x),
    px.likelihoods.bernoulli(),
    train=(x, y),
    names=table.classes,
    transform=lambda x: (x - mean) / std,
)
factors = px.priors.normal(0.05, at="identity")
potential = px.potential(problem, prior=px.priors.normal(0.05), factor_prior=factors)
sampler = px.sghmc(potential, px.cyclical(4e-3, 250), friction=20.0)
run = px.sample(sampler, px.expand(params, px.plan(params)), problem,
                draws=40, cycle_length=250, burn_in=5000, batch_size=200)  # fmt: skip
predicted = run.predict(x_test)
sure = predicted.probabilities.max(axis=1) > 0.9
