import jax
from moons import init, make_problem

import pxsgmcmc as px

problem, params = make_problem(), init(jax.random.key(0))
sampler = px.sghmc(px.potential(problem), px.cyclical(1e-2, 50), friction=10.0)


def sample(draws, out):
    return px.sample(sampler, params, problem, draws=draws, cycle_length=50, batch_size=100,
                     out=out, resume=True)  # fmt: skip


first = sample(4, "runs/moons")
look = px.open("runs/moons", problem).predict(problem.test.x)
longer = sample(9, "runs/moons")
at_once = sample(9, "runs/at_once")
later_half = longer[5:]
