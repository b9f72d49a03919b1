from moons import init, make_problem

import pxsgmcmc as px

problem = make_problem()
sampler = px.sghmc(px.potential(problem), px.cyclical(1e-2, 100), friction=10.0)
run = px.sample(sampler, init, problem,
                draws=40, cycle_length=100, burn_in=4000, batch_size=100, chains=4)  # fmt: skip
r_hat = px.diagnostics.convergence(run.energies).r_hat
one = run.chain(2)
