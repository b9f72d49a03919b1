"""What a run is worth: evaluated, diagnosed, compared, reported.

Nothing is imported here, so that comparing and reporting start without JAX.
"""
