"""The validation rows alone: the numbers of an evaluation, without a look at anything else."""

import math

import numpy as np
import pytest

from pxsgmcmc.config import parse_config
from pxsgmcmc.config.build import build
from pxsgmcmc.config.opening import open_any
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.validate import _too_hot, _unsettled, validate
from pxsgmcmc.health import Evidence, Heat
from pxsgmcmc.jobs import SAMPLE, VALIDATE, Job, missing_stages
from pxsgmcmc.jobs.job import read_validation
from pxsgmcmc.jobs.work import work
from pxsgmcmc.progress import Silent
from tests.helpers.small_runs import three_draws

FILES = """
[data]
train = { x = "X.npy", y = "y.npy" }
validation = 0.25
test = { x = "not_there.npy", y = "nor_this.npy" }
[model]
name = "mlp"
widths = [3]
[sampler]
name = "sghmc"
step_size = 1e-3
friction = 10.0
[chain]
draws = 2
cycle_length = 3
batch_size = 10
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return three_draws(tmp_path_factory.mktemp("runs") / "run")


def test_it_has_the_numbers_of_an_evaluation_on_these_rows(run):
    blind = validate(open_any(run, blind=True))
    sighted = open_any(run).evaluate()
    assert blind.metrics == pytest.approx(sighted.validation.metrics, rel=1e-6)
    assert blind.rows == sighted.validation.rows and blind.subject.draws == 3
    assert blind.subject.test_sha256 == "" != sighted.subject.test_sha256
    assert read_validation(run) == blind


def test_a_blind_problem_has_nothing_that_is_kept_for_the_judge(run):
    problem = open_any(run, blind=True).problem
    assert problem.test is None and problem.shifts == problem.out_of_distribution == {}
    assert problem.validation is not None
    with pytest.raises(UserError, match="`test`"):
        open_any(run, blind=True).evaluate()


def test_a_job_that_validates_does_not_open_the_files_of_test_rows(tmp_path):
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2))
    np.save(tmp_path / "X.npy", x)
    np.save(tmp_path / "y.npy", x[:, 0] + random.normal(size=60))  # a regression
    config = parse_config(FILES, folder=tmp_path)
    with pytest.raises(UserError, match="not_there"):
        build(config)
    job = Job(_text(config), str(tmp_path / "run"), "trial", stages=(SAMPLE, VALIDATE))
    assert job.blind and not Job("", "", "", stages=(SAMPLE,)).blind
    assert work(job, lambda stage: Silent()) == 0
    assert math.isfinite(read_validation(job.folder).metrics["nll"])
    assert missing_stages(job) == ()
    longer = Job(job.config, job.folder, "trial", draws=4, stages=job.stages)
    assert missing_stages(longer) == job.stages
    assert work(longer, lambda stage: Silent()) == 0
    assert read_validation(job.folder).subject.draws == 4


def _text(config):
    from pxsgmcmc.config import write_config

    return write_config(config)


def test_what_is_beyond_its_limit_is_counted_as_a_share_of_the_limit():
    heats = {"base": Heat(1.05, 1.0), "factors": Heat(1.3, 1.0, chance=0.2)}
    assert _too_hot(Evidence(kinetic=heats)) == pytest.approx(0.5)
    assert _too_hot(Evidence(kinetic={"base": Heat(0.8, 1.0)})) == pytest.approx(1.0)  # too cold
    assert _too_hot(Evidence()) is None and _unsettled(Evidence()) is None
    assert _unsettled(Evidence(energy_r_hat=2.2, chains=4, draws=100)) == pytest.approx(1.0)
    assert _unsettled(Evidence(energy_r_hat=math.nan, chains=4, draws=100)) > 0.0


def test_without_validation_rows_it_says_so(tmp_path):
    x, y = np.zeros((20, 2)), np.arange(20) % 2
    np.save(tmp_path / "X.npy", x + y[:, None])
    np.save(tmp_path / "y.npy", y)
    text = FILES.replace("validation = 0.25\n", "")
    job = Job(
        _text(parse_config(text, folder=tmp_path)),
        str(tmp_path / "run"),
        "trial",
        stages=(SAMPLE, VALIDATE),
    )
    with pytest.raises(UserError, match="`validation` must be given"):
        work(job, lambda stage: Silent())


def test_a_problem_of_the_users_own_loses_its_test_rows_as_well(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np, pxsgmcmc as px\n"
        "def make():\n"
        "    x, y = np.eye(4, dtype=np.float32), np.arange(4) % 2\n"
        "    return px.Problem(lambda W, x: x @ W, px.likelihoods.categorical(), train=(x, y),\n"
        "        validation=(x, y), test=(x, y), shifts={'s': (x, y)}, init=x[:, :2])\n"
    )
    text = 'problem = "mine:make"\n[sampler]\nname = "sgld"\nstep_size = 1e-3\n[chain]\n'
    config = parse_config(text + "draws = 1\ncycle_length = 1\nbatch_size = 2\n", folder=tmp_path)
    sighted, blind = build(config).problem, build(config, blind=True).problem
    assert sighted.test is not None and sighted.shifts
    assert blind.test is None and blind.shifts == {} and blind.validation is not None
    assert blind.sha256 == sighted.sha256
    given = build(config, blind=True, problem=sighted).problem
    assert given.test is None and given.name == sighted.name
