import jax
from moons import init, make_problem

import pxsgmcmc as px

problem = make_problem()
params = init(jax.random.key(0))
sampler = px.sghmc(px.potential(problem), px.cyclical(1e-2, 50), friction=10.0)
run = px.sample(sampler, params, problem, draws=10, cycle_length=50, batch_size=100)
page = run.report("report.html", title="Two moons")
