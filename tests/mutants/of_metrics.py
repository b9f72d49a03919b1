"""Mutants of metrics, diagnostics and comparisons."""

from tests.mutants.mutant import Mutant

WORKED = "metrics/test_worked_numbers.py"
EVERY_DIGIT = f"{WORKED}::test_a_metric_has_its_worked_value_to_every_digit"
LOOPS = "metrics/test_oracles.py::test_every_metric_equals_its_loop"

MUTANTS = [
    Mutant(
        "the mean square in place of the variance over draws",
        "metrics/_ensemble.py",
        "self.windows.mean(self.p**2) - self.windows.mean(self.p) ** 2",
        "self.windows.mean(self.p**2)",
        (EVERY_DIGIT, LOOPS),
    ),
    Mutant(
        "a sum of probabilities in place of their mean",
        "metrics/_windows.py",
        "return log_total - np.log(self._counts(logs))",
        "return log_total",
        (EVERY_DIGIT, LOOPS),
    ),
    Mutant(
        "ambiguity against the average of probabilities",
        "metrics/classification.py",
        "e.of_label(e.log_p_of_mean_logits)",
        "e.of_label(e.log_p_bar)",
        (EVERY_DIGIT, LOOPS),
    ),
    Mutant(
        "a Brier score without its constant",
        "metrics/classification.py",
        "2.0 * e.of_label(e.p_bar) + 1.0",
        "2.0 * e.of_label(e.p_bar)",
        (EVERY_DIGIT, LOOPS),
    ),
    Mutant(
        "bins that are closed on the left",
        "metrics/calibration.py",
        "np.ceil(confidence * bins - 1e-9).astype(np.int64) - 1",
        "np.floor(confidence * bins).astype(np.int64)",
        (f"{WORKED}::test_an_edge_belongs_to_the_bin_on_its_left",),
    ),
    Mutant(
        "ties of scores that count for one side",
        "metrics/ood.py",
        "(below + up_to).mean()",
        "(below + below).mean()",
        (f"{WORKED}::test_scores_that_are_all_equal_tell_nothing",),
    ),
    Mutant(
        "twice the total variation",
        "metrics/agreement.py",
        "0.5 * np.abs(p - reference)",
        "np.abs(p - reference)",
        (f"{WORKED}::test_agreement_and_total_variation_by_hand",),
    ),
    Mutant(
        "windows that end a draw late",
        "metrics/_windows.py",
        "windows[one_block] = heads[one_block + width - 1]",
        "windows[one_block] = heads[one_block + width - 2]",
        ("metrics/test_oracles.py::test_metrics_of_sliding_windows_are_those_of_their_draws",),
    ),
    Mutant(
        "R-hat of the first half compared with itself",
        "diagnostics/_r_hat.py",
        "values[:, -half:]",
        "values[:, :half]",
        ("diagnostics/test_convergence.py::test_r_hat_is_the_rank_normalised_one",),
    ),
    Mutant(
        "Student's band with one degree of freedom too many",
        "diagnostics/temperature.py",
        "stdtrit(batches - 1, ",
        "stdtrit(batches, ",
        (
            "diagnostics/test_temperature.py::"
            "test_the_band_of_a_mean_over_draws_is_students_with_one_degree_fewer_than_batches",
        ),
    ),
    Mutant(
        "a p-value of zero from random permutations",
        "evaluate/seeds.py",
        "(as_large + 1) / (len(differences) + 1)",
        "as_large / len(differences)",
        ("evaluate/test_compare_seeds.py::test_no_number_of_random_ways_makes_the_p_value_zero",),
    ),
    Mutant(
        "the spread over subsets of a population",
        "evaluate/detect.py",
        "values.std(ddof=1)",
        "values.std(ddof=0)",
        ("evaluate/test_detect.py::test_the_spread_over_subsets_is_that_of_a_sample",),
    ),
]
