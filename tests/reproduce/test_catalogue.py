"""Every experiment at every scale: what it names is there, and what it would run can be read."""

import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.reproduce.catalogue import MODULES, all_experiments, experiment_named
from pxsgmcmc.reproduce.claims import CLAIMS
from pxsgmcmc.reproduce.methods import METHODS
from pxsgmcmc.reproduce.plan import STRESS, Places, Planner
from pxsgmcmc.reproduce.scale import SCALES
from pxsgmcmc.reproduce.settings_file import Chosen, read_settings

MADE_UP = {
    name: Chosen({axis.name: axis.centre for axis in method.axes}, "made up")
    for name, method in METHODS.items()
}


def planner(scale, tmp_path, chosen=MADE_UP):
    return Planner(SCALES[scale], chosen, Places(tmp_path / "results", tmp_path / "runs"), {})


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", MODULES)
def test_what_an_experiment_names_is_there(name, scale):
    experiment = experiment_named(name)
    size = SCALES[scale]
    labels = [arm.label for arm in experiment.arms(size)]
    assert experiment.name == name and len(set(labels)) == len(labels)
    assert experiment.tables(size)
    for arm in experiment.arms(size):
        assert arm.compute or arm.method in METHODS or "sampler.name" in arm.over
    for claim, parts in experiment.claims(size).items():
        assert claim in CLAIMS and parts
        for part in parts:
            assert part.first in labels and (
                not isinstance(part.second, str) or part.second in labels
            )
    anywhere = {arm.label for one in SCALES.values() for arm in experiment.arms(one)}
    for label, _ in experiment.published:
        assert label in anywhere


@pytest.mark.parametrize("scale", SCALES)
def test_every_configuration_can_be_read(scale, tmp_path):
    plan = planner(scale, tmp_path)
    for experiment in all_experiments(scale):
        for task in plan.tasks([experiment], [3]):
            seed = 0 if task.arm.once else 3
            assert task.config is None or (task.config.seed, task.config.threads) == (seed, 1)


def test_all_claims_are_in_an_experiment():
    spoken_of = {c for e in all_experiments() for c in e.claims(SCALES["desk"])}
    assert spoken_of == set(CLAIMS)


def test_tables_share_their_runs_whatever_they_call_them(tmp_path):
    plan = planner("desk", tmp_path)
    names = ("table1", "table2", "table6", "ood-plots", "corruption-plots")
    first = plan.tasks([experiment_named("table1")], range(2))
    assert len(first) == 14
    assert plan.tasks([experiment_named(name) for name in names], range(2)) == first
    digests = {task.arm.label: task.digest for task in first}
    depths = {t.arm.label: t for t in plan.tasks([experiment_named("table4")], [0])}
    assert depths["c=0, d=0"].digest == digests["SGHMC"]
    assert depths["c=1, d=1"].digest == digests["PX-SGHMC"]
    assert depths["c=2, d=2"].digest not in digests.values()


def test_the_comparison_with_l2e_shares_the_chains_of_table_3(tmp_path):
    plan = planner("desk", tmp_path)
    cold = plan.tasks([experiment_named("table3")], [0])
    both = plan.tasks([experiment_named("table3"), experiment_named("l2e")], [0])
    assert both[: len(cold)] == cold
    learned = {task.arm.label: task.config for task in both[len(cold) :]}
    assert set(learned) == {
        f"{method}, {name}" for method in ("L2E", "PX-L2E") for name in ("digits", "mnist5k-14")
    }
    config = learned["PX-L2E, digits"]
    assert (config.sampler.weights, config.sampler.temperature) == ("l2e/desk", 0.01)
    assert config.data.augment and (config.expansion.out, config.expansion.into) == (1, 1)


def test_at_the_papers_size_l2e_is_as_published_whoever_has_its_weights(tmp_path, monkeypatch):
    experiment, digests = experiment_named("l2e"), []
    for place in ("here", "there"):
        monkeypatch.setenv("PXSGMCMC_DATA", str(tmp_path / place))
        plan = planner("paper", tmp_path, read_settings("paper"))
        tasks = {task.arm.label: task for task in plan.tasks([experiment], [0])}
        config = tasks["L2E, cifar100"].config
        assert config.sampler.weights == str(tmp_path / place / "l2e" / "meta_params.pickle")
        digests.append(tasks["L2E, cifar100"].digest)
    assert digests[0] == digests[1]
    assert config.sampler.step_size == pytest.approx((5 / 40_960) ** 0.5)
    assert config.prior.variance == pytest.approx(1 / (5e-4 * 40_960))
    assert config.sampler.temperature == 0.01 and config.chain.draws == 100
    assert experiment.published["L2E, cifar100", "test/nll"] == (0.98, 0.006)


def test_chains_from_an_hmc_state_start_from_a_chain_each_which_is_made_first(tmp_path):
    plan, elsewhere = planner("desk", tmp_path / "a"), planner("desk", tmp_path / "b")
    tasks = plan.tasks([experiment_named("table5")], range(3))
    reference, *others = tasks
    assert [t.label for t in tasks if t.arm.once] == ["HMC from random starts, seed 0"]
    assert reference.config.chains == 8 and len(others) == 9
    for task in others:
        assert task.after == (reference,)
        assert task.config.chain.start == str(reference.folder / f"chain-000{task.seed}")
    again = elsewhere.tasks([experiment_named("landscape")], range(3))
    assert [t.digest for t in again] == [t.digest for t in tasks]  # wherever runs are kept
    assert [t.label for t in plan.tasks([experiment_named("table5")], [0], "SGHMC")] == [
        "HMC from random starts, seed 0",
        "SGHMC, seed 0",
    ]


def test_at_the_papers_size_the_chains_from_hmc_are_as_published(tmp_path):
    plan = planner("paper", tmp_path)
    configs = {t.arm.label: t.config for t in plan.tasks([experiment_named("table5")], [0])}
    assert configs["HMC"].sampler.leapfrog_steps == configs["SGHMC"].chain.cycle_length == 70_248
    assert {c.sampler.step_size for c in configs.values()} == {1e-5}
    assert configs["HMC"].chain.batch_size == 40_960
    assert configs["PX-SGHMC"].chain.batch_size == 4_096
    assert {(c.chain.draws, c.prior.variance) for c in configs.values()} == {(10, 0.2)}


def test_a_shared_run_goes_through_what_any_of_its_experiments_needs(tmp_path):
    plan = planner("desk", tmp_path)
    depths = {t.arm.label: t for t in plan.tasks([experiment_named("table4")], [0])}
    assert depths["c=0, d=0"].parts == ("evaluate", "stress", "diagnose")
    assert depths["c=2, d=2"].parts == ("evaluate", "diagnose")
    assert depths["c=2, d=2"].config.evaluate.shifts == ()
    assert depths["c=0, d=0"].config.evaluate.shifts == ("digits-shift",)


def test_a_constant_schedule_takes_the_searched_peak(tmp_path):
    plan = planner("desk", tmp_path)
    tasks = {t.arm.label: t.config for t in plan.tasks([experiment_named("table9")], [0])}
    peak = MADE_UP["SGHMC"].settings["sampler.step_size.peak"]
    assert tasks["standard, constant"].sampler.step_size == peak
    assert tasks["standard, constant, half"].sampler.step_size == peak / 2
    assert tasks["standard, cyclical"].sampler.step_size.peak == peak


def test_members_of_an_ensemble_share_the_steps_of_one_chain(tmp_path):
    plan = planner("desk", tmp_path)
    tasks = {t.arm.label: t.config for t in plan.tasks([experiment_named("table1")], [0])}
    chain, member = tasks["SGHMC"].chain, tasks["Deep ensemble"].chain
    steps = chain.burn_in + chain.draws * chain.cycle_length
    assert tasks["Deep ensemble"].chains * member.cycle_length == steps and member.draws == 1


def test_at_the_papers_size_everything_is_as_published(tmp_path):
    plan = planner("paper", tmp_path, read_settings("paper"))
    tasks = {t.arm.label: t.config for t in plan.tasks([experiment_named("table1")], [0])}
    assert list(tasks) == ["SGLD", "pSGLD", "SGHMC", "SGNHT", "PX-SGHMC"]
    for config in tasks.values():
        chain = config.chain
        numbers = (chain.draws, chain.cycle_length, chain.batch_size, chain.burn_in)
        assert numbers == (100, 5000, 256, 0)
        assert (config.model.depth, config.model.width) == (20, 16)
        assert config.sampler.temperature == 1.0 and config.data.downscale == 1
    px, sp = tasks["PX-SGHMC"], tasks["SGHMC"]
    assert (px.sampler.friction.base, px.sampler.friction.factors) == (100.0, 1.0)
    assert (px.prior.variance, px.prior.factor_variance) == (0.02, 0.5)
    assert (px.sampler.step_size.peak, sp.sampler.step_size.peak) == (1e-4, 3e-4)
    assert (sp.prior.variance, sp.sampler.friction, px.expansion.out) == (0.05, 100.0, 1)


def test_a_method_without_settings_names_the_search(tmp_path):
    plan = planner("desk", tmp_path, {})
    with pytest.raises(UserError, match="SGLD has no settings at the desk scale yet: find them by"):
        plan.tasks([experiment_named("table1")], [0])


def test_only_one_row_of_a_table(tmp_path):
    plan = planner("desk", tmp_path)
    tasks = plan.tasks([experiment_named("table1")], range(3), "SGNHT")
    assert [(t.arm.label, t.seed) for t in tasks] == [("SGNHT", 0), ("SGNHT", 1), ("SGNHT", 2)]
    with pytest.raises(UserError, match="did you mean `SGNHT`"):
        plan.tasks([experiment_named("table1")], [0], "SGHNT")


def test_the_shipped_settings_can_be_read():
    for scale in SCALES:
        assert all(name in METHODS for name in read_settings(scale))


def test_adding_a_part_to_the_evaluation_does_not_change_the_run(tmp_path):
    plan = planner("desk", tmp_path)
    arm = experiment_named("table1").arms(SCALES["desk"])[2]
    assert plan.config(arm, 0, (STRESS,)).evaluate != plan.config(arm, 0, ()).evaluate
    assert plan.task(arm, 0).digest == plan.task(arm, 1).digest
