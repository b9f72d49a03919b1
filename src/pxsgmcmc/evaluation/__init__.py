"""What a run is worth: opened, evaluated, diagnosed, compared.

Nothing is imported here, so that comparing and reporting start without JAX.
"""
