"""A configuration that runs in a moment."""

SMALL = """
[data]
name = "digits"
limit = 60

[model]
name = "mlp"
widths = [4]

[expansion]
out = 1
into = 1

[sampler]
name = "sghmc"
step_size = 1e-4
friction = { base = 100.0, factors = 1.0 }

[chain]
draws = 3
cycle_length = 5
batch_size = 20
"""
