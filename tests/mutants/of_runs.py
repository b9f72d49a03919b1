"""Mutants of the chain, the store and what connects a configuration with them."""

from tests.mutants.mutant import Mutant

STREAMS = "chain/test_streams.py::test_each_step_draws_from_its_own_place_in_its_own_stream"
ENDS = "chain/test_batches.py::test_draws_come_from_the_ends_of_cycles_after_burn_in"
WATCH = "chain/test_divergence.py::test_an_energy_that_jumps_and_a_norm_that_runs_away_are_noticed"
SUMS = "chain/test_executors.py"
DAMAGE = "store/test_store_damage.py"
CUTS = "store/test_store_power_cuts.py"
BUILT = "config/test_built_steps.py"
MOMENTUM = (
    f"{BUILT}::test_the_momentum_of_sghmc_and_sgnht_loses_what_the_friction_of_its_group_takes"
)

MUTANTS = [
    Mutant(
        "epochs that share random numbers",
        "chain/batches.py",
        "generator.advance(first * draws)",
        "generator.advance(first)",
        ("chain/test_batches.py::test_epochs_shuffled_together_are_those_shuffled_one_by_one",),
    ),
    Mutant(
        "a draw from the start of its cycle",
        "chain/collection.py",
        "(cycle + 1) * self.cycle_length",
        "cycle * self.cycle_length",
        (ENDS,),
    ),
    Mutant(
        "draws of a cycle in reverse",
        "chain/collection.py",
        "(self.draws_per_cycle - 1 - place) * self.thinning",
        "place * self.thinning",
        (ENDS,),
    ),
    Mutant(
        "noise from the stream of augmentation",
        "chain/executors.py",
        "jax.random.fold_in(keys.noise, state.step)",
        "jax.random.fold_in(keys.augment, state.step)",
        (STREAMS,),
    ),
    Mutant(
        "one noise for two steps",
        "chain/executors.py",
        "jax.random.fold_in(keys.noise, state.step)",
        "jax.random.fold_in(keys.noise, state.step // 2)",
        (STREAMS,),
    ),
    Mutant(
        "augmentation from the stream of noise",
        "chain/executors.py",
        "jax.random.fold_in(keys.augment, state.step)",
        "jax.random.fold_in(keys.noise, state.step)",
        (STREAMS,),
    ),
    Mutant(
        "sums that miss the last step",
        "chain/executors.py",
        "jnp.arange(len(reports.energy), dtype=jnp.int32) < count",
        "jnp.arange(len(reports.energy), dtype=jnp.int32) < count - 1",
        (f"{SUMS}::test_energies_are_summed_and_the_last_is_the_last",),
    ),
    Mutant(
        "steps without a test counted for the acceptance",
        "chain/executors.py",
        "tested = taken & jnp.isfinite(reports.acceptance)",
        "tested = taken",
        (f"{SUMS}::test_only_steps_with_a_test_count_for_the_acceptance",),
    ),
    Mutant(
        "a norm that runs away unnoticed",
        "chain/divergence.py",
        "if norm > self.norm_jump",
        "if norm < -self.norm_jump",
        (WATCH,),
    ),
    Mutant(
        "an energy that jumps unnoticed",
        "chain/divergence.py",
        "if energy > self.energy_jump",
        "if energy < -self.energy_jump",
        (WATCH,),
    ),
    Mutant(
        "a file named before its bytes are on the disk",
        "store/files.py",
        "                write_all(descriptor, data, 0)\n                os.fsync(descriptor)\n",
        "                write_all(descriptor, data, 0)\n",
        (f"{CUTS}::test_a_draw_is_flushed_before_its_line_and_named_after_it",),
    ),
    Mutant(
        "a line that is not flushed",
        "store/files.py",
        "                write_all(descriptor, data, end)\n                os.fsync(descriptor)\n",
        "                write_all(descriptor, data, end)\n",
        (f"{CUTS}::test_a_log_line_and_the_manifest_are_flushed_before_the_call_returns",),
    ),
    Mutant(
        "draws read without their hash",
        "store/files.py",
        "if len(data) == size and digest(data) == sha256:",
        "if len(data) == size:",
        (f"{DAMAGE}::test_a_flipped_bit_anywhere_is_noticed",),
    ),
    Mutant(
        "seals that do not know the line above",
        "store/sealed.py",
        "digest(above.encode(), head)",
        "digest(head)",
        (
            f"{DAMAGE}::test_harmed_and_strange_files_are_noticed_in_one_line",
            f"{DAMAGE}::test_a_draw_taken_from_a_twin_run_together_with_its_index_line_is_noticed",
        ),
    ),
    Mutant(
        "arrays that do not start at a multiple of eight bytes",
        "store/tensors.py",
        "(-len(text) % 8)",
        "(-len(text) % 4)",
        ("store/test_store_tensors.py::test_the_bytes_are_those_of_the_reference_writer",),
    ),
    Mutant(
        "a name that may occur twice in a file",
        "store/tensors.py",
        "        _refuse_repeated_names(data)\n",
        "",
        ("store/test_store_malice.py::test_a_forged_safetensors_file_is_refused",),
    ),
    Mutant(
        "no state kept before the last",
        "store/state.py",
        "if keep_last and os.path.lexists(last):",
        "if not keep_last and os.path.lexists(last):",
        (
            "store/test_store_run.py::"
            "test_a_damaged_last_state_falls_back_to_the_one_before_and_says_so",
        ),
    ),
    Mutant(
        "frictions of base and factors exchanged",
        "config/build.py",
        "base=value.base, factors=value.factors",
        "base=value.factors, factors=value.base",
        (MOMENTUM,),
    ),
    Mutant(
        "the lowest step size not scaled",
        "config/build.py",
        "lowest=factor * step_size.lowest",
        "lowest=step_size.lowest",
        (f"{BUILT}::test_a_cyclical_step_size_has_its_peak_period_and_lowest",),
    ),
    Mutant(
        "a constant step size not scaled",
        "config/build.py",
        "constant(factor * step_size)",
        "constant(step_size)",
        (MOMENTUM,),
    ),
    Mutant(
        "no prior on the factors",
        "config/build.py",
        "priors.normal(variance, at=section.factors_at) if variance else None",
        "None",
        (f"{BUILT}::test_the_priors_that_are_asked_for_stand_on_base_and_factors",),
    ),
]
