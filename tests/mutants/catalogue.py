"""All mutants."""

from tests.mutants import of_energies, of_later_rooms, of_metrics, of_runs, of_samplers

MUTANTS = [
    *of_samplers.MUTANTS,
    *of_energies.MUTANTS,
    *of_runs.MUTANTS,
    *of_metrics.MUTANTS,
    *of_later_rooms.MUTANTS,
]
