"""Mutants of expansion, energies, priors, schedules and randomness."""

from tests.mutants.mutant import Mutant

COLLAPSE = "expansion/test_collapse_properties.py"
RULES = "expansion/test_rules.py"
LEMMA = (
    "expansion/test_precondition.py::"
    "test_a_small_step_of_every_factor_moves_w_by_the_preconditioned_gradient"
)
PARTS = "posterior/test_parts.py"
EACH_PART = f"{PARTS}::test_each_part_is_what_it_is_called_and_they_add_up_to_the_energy"
MANY_LEAVES = "test_priors.py::test_more_leaves_than_are_summed_one_by_one_keep_their_own_variances"
FAMILIES = (
    "config/test_built_steps.py::test_the_priors_that_are_asked_for_stand_on_base_and_factors"
)

MUTANTS = [
    Mutant(
        "outer factors multiplied in the wrong order",
        "expansion/position.py",
        "for P in as_square(factors.out) if leaf.out else ():",
        "for P in as_square(factors.out[::-1]) if leaf.out else ():",
        (COLLAPSE,),
    ),
    Mutant(
        "inner factors not transposed",
        "expansion/position.py",
        "as_square(tuple(map(transpose, factors.into)))",
        "as_square(factors.into)",
        (COLLAPSE,),
    ),
    Mutant(
        "low-rank factors of the wrong size at the start",
        "expansion/factors.py",
        "/ math.sqrt(rank)",
        "/ rank",
        (f"{RULES}::test_the_left_parts_are_independent_normals_of_variance_one_over_the_rank",),
    ),
    Mutant(
        "a low-rank factor that is its own transpose",
        "expansion/factors.py",
        "LowRank(factor.diagonal, factor.right, factor.left)",
        "LowRank(factor.diagonal, factor.left, factor.right)",
        (f"{RULES}::test_a_low_rank_collapse_equals_that_of_the_matrices_written_out",),
    ),
    Mutant(
        "factors on the logits unless asked for",
        "expansion/expand.py",
        "in logits and not expand_logits",
        "in logits and expand_logits",
        ("expansion/test_golden_counts.py::test_the_published_counts_are_reached",),
    ),
    Mutant(
        "the two sides of the preconditioner exchanged",
        "expansion/precondition.py",
        "jnp.kron(right.T @ right, left @ left.T)",
        "jnp.kron(left @ left.T, right.T @ right)",
        (LEMMA,),
    ),
    Mutant(
        "the paper's exponent in the bound on a step",
        "expansion/precondition.py",
        "e * M ** (2 * (e - 1))",
        "e * M ** (e - 1)",
        ("expansion/test_precondition.py::test_the_corrected_bound_holds",),
    ),
    Mutant(
        "the likelihood of a batch not in full-data units",
        "posterior.py",
        "EnergyParts(-self.data_size * fit",
        "EnergyParts(-fit",
        (EACH_PART,),
    ),
    Mutant(
        "an energy without its factor prior",
        "posterior.py",
        "return parts.likelihood + parts.prior + parts.factor_prior",
        "return parts.likelihood + parts.prior",
        (EACH_PART,),
    ),
    Mutant(
        "a difference that forgets the old prior",
        "posterior.py",
        "prior, factor_prior = self._priors(new, old)",
        "prior, factor_prior = self._priors(new)",
        (f"{PARTS}::test_the_difference_is_that_of_the_totals",),
    ),
    Mutant(
        "the last, shorter chunk of all data left out",
        "posterior.py",
        "if whole < self.count:",
        "if whole > self.count:",
        (f"{PARTS}::test_all_data_in_chunks_is_all_data_at_once_and_so_is_its_gradient",),
    ),
    Mutant(
        "all data not scaled to the data size",
        "posterior.py",
        "(self.potential.data_size / self.count)",
        "1.0",
        (f"{PARTS}::test_all_data_may_be_fewer_than_the_data_size",),
    ),
    Mutant(
        "a volume that is tempered like the rest",
        "posterior.py",
        "energy - self.prior.temperature * volume",
        "energy - volume",
        (EACH_PART,),
    ),
    Mutant(
        "a factor's volume counted once, not once a column",
        "posterior.py",
        "math.prod(leaf.shape) // width for leaf",
        "1 for leaf",
        ("posterior/test_on_weights.py::test_each_factor_counts_once_per_column_it_multiplies",),
    ),
    Mutant(
        "frozen factors with a gradient",
        "posterior.py",
        "jax.lax.stop_gradient(position.factors)",
        "position.factors",
        (f"{PARTS}::test_frozen_factors_have_the_same_energy_and_no_gradient",),
    ),
    Mutant(
        "one variance for all leaves that are summed together",
        "priors.py",
        'known = value if together else ("alone", place)',
        'known = "all" if together else ("alone", place)',
        (MANY_LEAVES,),
    ),
    Mutant(
        "a difference of priors that loses its mixed term",
        "priors.py",
        "(x - before) * (x + before)",
        "(x - before) * (x - before)",
        (MANY_LEAVES,),
    ),
    Mutant(
        "a Laplace prior that grows with its scale",
        "priors.py",
        "jnp.abs(x) / s",
        "jnp.abs(x) * s",
        (FAMILIES,),
    ),
    Mutant(
        "a Student-t prior with one degree of freedom fewer in its power",
        "priors.py",
        "(v + 1.0) / 2.0 * jnp.log1p",
        "v / 2.0 * jnp.log1p",
        (FAMILIES,),
    ),
    Mutant(
        "a cycle that begins a step late",
        "schedules.py",
        "(self.period - jnp.asarray(step) % self.period)",
        "(self.period - 1 - jnp.asarray(step) % self.period)",
        (
            "test_schedules.py::test_cyclical_has_the_step_sizes_of_the_published_logs",
            "test_schedules.py::test_cyclical_starts_each_cycle_at_the_peak",
        ),
    ),
    Mutant(
        "the same normals for every leaf",
        "tree.py",
        "        start = stop\n",
        "        start = 0 * stop\n",
        ("test_tree.py::test_normals_of_different_leaves_differ",),
    ),
    Mutant(
        "the last pattern that matches instead of the first",
        "tree.py",
        "values[matches[0]]",
        "values[matches[-1]]",
        ("test_tree.py::test_by_path_takes_the_first_pattern_that_matches",),
    ),
    Mutant(
        "the same randomness for every chain",
        "rng.py",
        "jax.random.fold_in(key, chain)",
        "jax.random.fold_in(key, 0 * chain)",
        ("test_rng.py::test_streams_of_all_seeds_chains_and_purposes_differ",),
    ),
]
