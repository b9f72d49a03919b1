"""Mutants of what came later: learned steps, laws, predictions, wide factors, weights, jobs."""

from tests.mutants.mutant import Mutant

LAWS = "tuning/test_laws.py"
MIXTURE = "likelihoods/test_predictions.py"

MUTANTS = [
    Mutant(
        "a learned step that sees the gradient of the sum",
        "samplers/l2e.py",
        "g = dU / N\n",
        "g = dU\n",
        ("samplers/test_l2e.py::test_the_gradient_that_the_network_sees_is_that_of_the_mean",),
    ),
    Mutant(
        "half of a learned step's noise",
        "samplers/l2e.py",
        "jnp.sqrt(2.0 * a * T * s) * z",
        "jnp.sqrt(a * T * s) * z",
        ("samplers/test_l2e.py::test_a_step_is_the_one_computed_by_hand",),
    ),
    Mutant(
        "a limit of stability that forgets half of the friction",
        "tuning/laws.py",
        "root = friction / 2.0 +",
        "root = friction / 4.0 +",
        (f"{LAWS}::test_the_stability_limit_is_where_the_modes_leave_the_unit_circle",),
    ),
    Mutant(
        "gradient noise that heats twice as much",
        "tuning/laws.py",
        "heat = h * v / (2.0 * g) / D",
        "heat = h * v / g / D",
        (f"{LAWS}::test_independent_batches_have_the_worked_numbers",),
    ),
    Mutant(
        "intervals with one tail's probability on both sides",
        "likelihoods/_mixture_prediction.py",
        "tail = (1.0 - coverage) / 2.0",
        "tail = 1.0 - coverage",
        (MIXTURE,),
    ),
    Mutant(
        "the spread of the draws in place of their variance",
        "metrics/predictive_mixture.py",
        "block.component_mean().var(axis=0)",
        "block.component_mean().std(axis=0)",
        (MIXTURE,),
    ),
    Mutant(
        "wide factors of the wrong size at the start",
        "expansion/factors.py",
        "(inner - width, width), float) / math.sqrt(width)",
        "(inner - width, width), float)",
        ("expansion/test_wide_factors.py",),
    ),
    Mutant(
        "equal rows that lose their weights when they are merged",
        "sklearn/rows.py",
        "np.add.reduceat(weights[order], first)",
        "weights[order][first]",
        ("sklearn/test_estimators.py::test_weights_are_repetitions_bit_for_bit_in_any_order",),
    ),
    Mutant(
        "a job that another process holds taken for failed",
        "jobs/queued.py",
        "return code != LOCKED and code < 128",
        "return code < 128",
        ("jobs/test_slurm.py::test_what_sbatch_is_asked_for_and_which_exit_codes_are_answers",),
    ),
    Mutant(
        "a writer that does not look whether its place was taken",
        "store/lease.py",
        "descriptor is None or holder.token != self._mine.token:",
        "descriptor is None:",
        ("store/test_store_lease.py::test_a_writer_that_lost_its_place_writes_nothing_more",),
    ),
    Mutant(
        "a chain killed at its end that is never done",
        "chain/start.py",
        "elif not runner.unfinished:",
        "elif False:",
        (
            "chain/test_resume_checks.py::test_a_chain_killed_before_it_could_say_that_it_is_done_says_"
            "so_when_it_goes_on",
        ),
    ),
    Mutant(
        "control characters that reach the terminal",
        "errors.py",
        'return "\\n".join("".join(c if c.isprintable() else "?" for c in line) for line in lines)',
        'return "\\n".join(lines)',
        ("cli/test_saying.py::test_what_is_said_cannot_act_on_a_terminal",),
    ),
]
