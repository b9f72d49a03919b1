from moons import make_problem

import pxsgmcmc as px

run = px.open("runs/moons", make_problem())
predicted = run.predict([[0.0, 0.5], [3.0, 3.0]])
after_burn_in = run.skip(2).predict([[0.0, 0.5], [3.0, 3.0]])
