"""What a folder says of its job."""

import msgspec
import pytest

from pxsgmcmc.config import parse_config, write_config
from pxsgmcmc.errors import Locked
from pxsgmcmc.jobs import Job, missing_stages
from pxsgmcmc.jobs.display import Display
from pxsgmcmc.results import write
from pxsgmcmc.store import open_run
from tests.helpers.made_up_results import result
from tests.helpers.small_runs import three_draws
from tests.helpers.small_settings import SMALL

ALL = ("sample", "evaluate", "diagnose")


def a_job(folder, stages=ALL, draws=None):
    config = write_config(parse_config(SMALL, ["--data.name", "digits"]))
    return Job(config, str(folder), "a job", draws=draws, stages=stages)


def test_results_are_kept_as_long_as_they_are_about_all_draws(tmp_path):
    assert missing_stages(a_job(tmp_path / "none")) == ALL
    folder, found = three_draws(tmp_path / "run"), result("SGHMC", 0, {"nll": 0.5})

    def keep(draws):
        subject = msgspec.structs.replace(found.subject, draws=draws)
        with open_run(folder, writable=True) as run:
            kept = msgspec.structs.replace(found, subject=subject)
            run.write_artifact("results.json", write(kept))

    assert missing_stages(a_job(folder)) == ("evaluate", "diagnose")
    keep(draws=3)
    assert missing_stages(a_job(folder)) == ("diagnose",)
    assert missing_stages(a_job(folder, ALL[:2])) == ()
    keep(draws=2)
    assert missing_stages(a_job(folder, ALL[:2])) == ("evaluate",)
    keep(draws=3)
    with open_run(folder, writable=True) as run:
        run.update("interrupted")
    assert missing_stages(a_job(folder)) == ALL


def test_a_job_that_asks_for_more_draws_than_there_are_is_not_done(tmp_path):
    folder = three_draws(tmp_path / "run")
    assert missing_stages(a_job(folder, ("sample",), draws=3)) == ()
    assert missing_stages(a_job(folder, ("sample",), draws=4)) == ("sample",)


def test_what_a_job_lacks_can_be_seen_while_another_process_works_on_it(tmp_path):
    folder = three_draws(tmp_path / "run")
    job = a_job(folder, ("sample",), draws=4)
    with open_run(folder, writable=True):  # as a task of a cluster does, handed in earlier
        with pytest.raises(Locked):
            missing_stages(job)
        assert missing_stages(job, look_only=True) == ("sample",)
        shown = Display("again", [job], lambda job, ended: None, elsewhere=True)
        assert shown.todo == [job]


def test_a_job_can_be_sent_to_another_machine_as_text(tmp_path):
    job = a_job(tmp_path)
    assert msgspec.json.decode(msgspec.json.encode(job), type=Job) == job
    assert job.settings().chain.draws == 3
