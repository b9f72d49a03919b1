import equinox as eqx
import jax

import pxsgmcmc as px

diabetes = px.data.load("diabetes")
(x, y), (x_test, y_test) = diabetes.splits["train"], diabetes.splits["test"]
mean, std = x.mean(axis=0), x.std(axis=0)
network = eqx.nn.MLP(10, 1, 16, 2, activation=jax.nn.tanh, key=jax.random.key(0))
params, rest = eqx.partition(network, eqx.is_array)

problem = px.Problem(
    lambda params, x: jax.vmap(eqx.combine(params, rest))(x),
    px.likelihoods.gaussian("learned", units=(y.mean(), y.std())),
    train=(x, y),
    test=(x_test, y_test),
    transform=lambda x: (x - mean) / std,
)
start = problem.start(params)  # the noise is sampled along with the network
factors = px.priors.normal(0.05, at="identity")
potential = px.potential(problem, prior=px.priors.normal(0.05), factor_prior=factors)
sampler = px.sghmc(potential, px.cyclical(4e-3, 250), friction=20.0)
run = px.sample(sampler, px.expand(start, px.plan(start)), problem,
                draws=40, cycle_length=250, burn_in=5000, batch_size=200)  # fmt: skip
metrics = run.evaluate().test.metrics
