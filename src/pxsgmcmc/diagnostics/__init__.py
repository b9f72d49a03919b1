"""What a chain did and whether to believe it: trees and plain arrays in, plain arrays out."""

from pxsgmcmc.diagnostics.convergence import (
    Convergence,
    ConvergenceSummary,
    convergence,
    function_space_convergence,
    summarise,
    to_datatree,
)
from pxsgmcmc.diagnostics.distances import Distances, distances
from pxsgmcmc.diagnostics.landscape import (
    Barrier,
    Plane,
    Segment,
    Surface,
    barrier,
    connect,
    plane,
    plane_axes,
    plane_grid,
    survey,
)
from pxsgmcmc.diagnostics.learning_coefficient import (
    LearningCoefficient,
    learning_coefficient,
    reduced_rank_coefficient,
)
from pxsgmcmc.diagnostics.spectra import (
    Spectra,
    condition_number,
    conv_singular_values,
    matrix_singular_values,
    track_spectra,
)
from pxsgmcmc.diagnostics.temperature import (
    Temperature,
    configurational_temperature,
    kinetic_temperature,
    sghmc_factors,
    temperature_over_draws,
)

__all__ = [
    "Barrier",
    "Convergence",
    "ConvergenceSummary",
    "Distances",
    "LearningCoefficient",
    "Plane",
    "Segment",
    "Spectra",
    "Surface",
    "Temperature",
    "barrier",
    "condition_number",
    "configurational_temperature",
    "connect",
    "conv_singular_values",
    "convergence",
    "distances",
    "function_space_convergence",
    "kinetic_temperature",
    "learning_coefficient",
    "matrix_singular_values",
    "plane",
    "plane_axes",
    "plane_grid",
    "reduced_rank_coefficient",
    "sghmc_factors",
    "summarise",
    "survey",
    "temperature_over_draws",
    "to_datatree",
    "track_spectra",
]
