from flax import nnx

import pxsgmcmc as px

digits = px.data.load("digits")


class CNN(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Conv(1, 8, (3, 3), strides=2, rngs=rngs)
        self.second = nnx.Conv(8, 16, (3, 3), strides=2, rngs=rngs)
        self.head = nnx.Linear(16, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.second(nnx.relu(self.first(x / 127.5 - 1))))
        return self.head(x.mean(axis=(1, 2)))


graph, params = nnx.split(CNN(nnx.Rngs(0)))
problem = px.Problem(
    lambda params, x: nnx.merge(graph, params)(x),
    px.likelihoods.categorical(), train=digits.splits["train"], test=digits.splits["test"],
)  # fmt: skip
factors = px.priors.normal(0.05, at="identity")
potential = px.potential(problem, prior=px.priors.normal(0.05), factor_prior=factors)
sampler = px.sghmc(potential, px.cyclical(3e-3, 50), friction=20.0)
run = px.sample(sampler, px.expand(params, px.plan(params)), problem,
                draws=20, cycle_length=50, burn_in=1000, batch_size=100)  # fmt: skip
predicted = run.predict(digits.splits["test"].x)
