"""Mutants of the samplers."""

from tests.mutants.mutant import Mutant

LAWS = "samplers/test_laws.py::test_the_chain_has_the_stationary_law_of_its_recursion"
GROUPS = "samplers/test_closed_forms.py::test_groups_have_their_own_friction_mass_and_noise"
MOVING = (
    "samplers/test_moving_preconditioner.py::"
    "test_each_step_is_the_recursion_with_the_square_of_this_very_gradient"
)
HEAT = "samplers/test_sgnht.py::test_the_thermostat_sums_the_excess_heat_of_the_new_momentum"
SGNHT = "samplers/test_sgnht.py::test_the_discretised_chain_keeps_its_identity_and_its_large_n_law"
SYMMETRIC = "samplers/test_sgnht.py::test_the_symmetric_integrator_has_its_own_large_n_law"
NEAR_ZERO = "samplers/test_sgnht.py::test_a_thermostat_near_zero_or_below_is_no_obstacle"
ACCEPTANCE = "samplers/test_hmc.py::test_acceptance_follows_the_formula"
REFUSED = "samplers/test_hmc.py::test_an_end_that_is_not_finite_is_refused"
WINDOW = "samplers/test_ggmc.py::test_the_test_uses_the_energy_change_of_the_whole_window"
TURNED = "samplers/test_ggmc.py::test_a_refused_window_returns_to_its_start_with_reversed_momentum"
BOOKS = "samplers/test_ggmc.py::test_books_are_kept_window_by_window"
FAR = "samplers/test_ggmc.py::test_a_full_potential_that_knows_its_differences_is_asked_for_them"
OPTAX = "samplers/test_as_optax.py::test_the_path_is_the_samplers_own"

MUTANTS = [
    Mutant(
        "half of SGLD's noise",
        "samplers/sgld.py",
        "jnp.sqrt(2.0 * h * T / M)",
        "jnp.sqrt(h * T / M)",
        (
            "samplers/test_closed_forms.py::test_the_law_of_continuous_time_is_told_from_the_law_of_"
            "the_chain",
        ),
    ),
    Mutant(
        "SGLD's drift without its mass",
        "samplers/sgld.py",
        "return q - h * dU / M",
        "return q - h * dU",
        (f"{LAWS}[0-sgld-0.5]",),
    ),
    Mutant(
        "pSGLD's noise scaled by G, not its root",
        "samplers/psgld.py",
        "jnp.sqrt(2.0 * h * T * G) * z",
        "jnp.sqrt(2.0 * h * T) * G * z",
        (MOVING,),
    ),
    Mutant(
        "pSGLD's preconditioner a step late",
        "samplers/psgld.py",
        "map_like(move, state.position, grad, square, M, s, z)",
        "map_like(move, state.position, grad, state.square, M, s, z)",
        (MOVING,),
    ),
    Mutant(
        "the running square started at zero after all",
        "samplers/_running_square.py",
        "jnp.where(step == 0, ",
        "jnp.where(step < 0, ",
        (MOVING,),
    ),
    Mutant(
        "the first square without the mean over its leaf",
        "samplers/_running_square.py",
        "jnp.maximum(now, jnp.mean(now))",
        "now",
        (MOVING,),
    ),
    Mutant(
        "past and present exchanged in the running square",
        "samplers/_running_square.py",
        "decay * v + (1.0 - decay) * now",
        "(1.0 - decay) * v + decay * now",
        (MOVING,),
    ),
    Mutant(
        "SGHMC's position moved by the old momentum",
        "samplers/sghmc.py",
        "q + h * m / M, state.position, momentum, M)",
        "q + h * m / M, state.position, state.momentum, M)",
        (GROUPS,),
    ),
    Mutant(
        "SGHMC's noise without its mass",
        "samplers/sghmc.py",
        "jnp.sqrt(2.0 * h * g * T * M)",
        "jnp.sqrt(2.0 * h * g * T)",
        (GROUPS,),
    ),
    Mutant(
        "SGHMC's friction fixed at one",
        "samplers/sghmc.py",
        "h * (dU + g * m)",
        "h * (dU + m)",
        (GROUPS,),
    ),
    Mutant(
        "SGNHT's thermostat set to temperature 1",
        "samplers/sgnht.py",
        "sum_of_squares(m) / size(m) - T)",
        "sum_of_squares(m) / size(m) - 1.0)",
        (HEAT,),
    ),
    Mutant(
        "SGNHT's noise from the moving thermostat",
        "samplers/sgnht.py",
        "s * jnp.sqrt(2.0 * h * A * T * M) * z",
        "s * jnp.sqrt(2.0 * h * x * T * M) * z",
        (f"{SGNHT}[0-noisy gradients]",),
    ),
    Mutant(
        "SGNHT's heat without its mass",
        "samplers/sgnht.py",
        "lambda m, M: m / jnp.sqrt(M)",
        "lambda m, M: m",
        (f"{SGNHT}[0-heavy]",),
    ),
    Mutant(
        "a symmetric step without its last half drift",
        "samplers/sgnht.py",
        "drift(position, momentum, 0.5 * h)",
        "drift(position, momentum, 0.0 * h)",
        (f"{SYMMETRIC}[0-heavy]",),
    ),
    Mutant(
        "a symmetric step whose noise is of half the friction",
        "samplers/sgnht.py",
        "_mean_decay(2.0 * h * x)",
        "_mean_decay(h * x)",
        (f"{NEAR_ZERO}[2.0]",),
    ),
    Mutant(
        "SGRHMC's noise without its mass",
        "samplers/sgrhmc.py",
        "jnp.sqrt(2.0 * h * g * T * M) * p * z",
        "jnp.sqrt(2.0 * h * g * T) * p * z",
        (MOVING,),
    ),
    Mutant(
        "SGRHMC's friction stretched once, not twice",
        "samplers/sgrhmc.py",
        "- h * g * p**2 * m +",
        "- h * g * p * m +",
        (MOVING,),
    ),
    Mutant(
        "HMC's momentum drawn without its mass",
        "samplers/hmc.py",
        "jnp.sqrt(T * M) * z",
        "jnp.sqrt(T) * z",
        (f"{ACCEPTANCE}[0-1.0-1.9-1-0.54879-2.5]",),
    ),
    Mutant(
        "HMC's test without the kinetic energy",
        "samplers/hmc.py",
        "change = change + kinetic_difference(momentum, start, M)",
        "change = change + 0.0 * kinetic_difference(momentum, start, M)",
        (f"{ACCEPTANCE}[0-1.0-1.9-1-0.54879-1.0]",),
    ),
    Mutant(
        "twice the kinetic energy in a test",
        "samplers/_metropolis.py",
        "return 0.5 * dot(less, more)",
        "return dot(less, more)",
        (WINDOW,),
    ),
    Mutant(
        "a test that does not look whether a change is finite",
        "samplers/_metropolis.py",
        "jnp.where(jnp.isfinite(change), probability, 0.0)",
        "probability",
        (REFUSED,),
    ),
    Mutant(
        "GGMC's momentum kept on rejection",
        "samplers/ggmc.py",
        "jnp.negative, start.momentum",
        "jnp.positive, start.momentum",
        (TURNED,),
    ),
    Mutant(
        "GGMC's work carried from window to window",
        "samplers/ggmc.py",
        "jnp.where(ends_window, jnp.zeros_like(work), work)",
        "work",
        (BOOKS,),
    ),
    Mutant(
        "GGMC's test on the difference of two totals",
        "samplers/ggmc.py",
        "energy_difference(full_potential, position, start.position, energies)",
        "energies[0] - energies[1]",
        (FAR,),
    ),
    Mutant(
        "one noise for all steps of an optax loop",
        "samplers/as_optax.py",
        "jax.random.fold_in(state.key, now.step)",
        "jax.random.fold_in(state.key, 0)",
        (f"{OPTAX}[sgld]",),
    ),
]
