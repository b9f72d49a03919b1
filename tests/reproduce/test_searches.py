"""What is searched at a scale."""

import pytest

from pxsgmcmc.reproduce.methods import FACTORS, GROUPS, METHODS
from pxsgmcmc.reproduce.scale import SCALES
from pxsgmcmc.reproduce.searches import MOST, find_settings, study_of
from pxsgmcmc.tuning.best_first import PlannedChain
from pxsgmcmc.tuning.search import job_of

MANY = [(scale, method) for scale in MOST for method in METHODS]


@pytest.mark.parametrize(("scale", "method"), MANY)
def test_the_centre_of_every_grid_can_be_run_and_sees_no_test_rows(scale, method, tmp_path):
    study = study_of(SCALES[scale], [method])
    axes = study.rules.axes[method]
    job = job_of(study, PlannedChain(method, (0,) * len(axes), 1000), tmp_path)
    assert job.blind and job.settings().evaluate.shifts == ()


def test_steps_and_frictions_follow_the_number_of_rows():
    def centres(method):
        return [axis.centre for axis in METHODS[method].axes_at("laptop")]

    assert centres("SGLD") == pytest.approx([9.8e-6, 0.4], rel=0.01)
    assert centres("SGHMC") == pytest.approx([1.25e-3, 0.4, 25.0], rel=0.01)
    assert centres("PX-SGHMC") == pytest.approx([3.1e-4, 0.2, 100.0], rel=0.01)
    factors = [METHODS["PX-SGHMC"].settings_at(scale)[FACTORS] for scale in ("desk", "laptop")]
    assert factors == [2.0, 16.0] and FACTORS not in METHODS["SGHMC"].settings_at("laptop")
    assert METHODS["SGHMC"].axes_at("desk") == METHODS["SGHMC"].axes


@pytest.mark.parametrize("group", GROUPS)
def test_sghmc_without_and_with_expansion_come_first(group, tmp_path, monkeypatch):
    class Stops:
        """An engine that is stopped before it has begun."""

        def run(self, jobs, watch):
            self.methods = {job.label.partition(" ")[0] for job in jobs}
            return 15

    monkeypatch.setattr("pxsgmcmc.reproduce.searches.settings_path", lambda scale: tmp_path / scale)
    engine, laptop = Stops(), SCALES["laptop"]
    assert find_settings(laptop, group, engine, tmp_path / "runs", tmp_path / "out", "it") == 15
    first = {"SGHMC", "PX-SGHMC"} if group == "table1" else {m.split()[0] for m in GROUPS[group]}
    assert engine.methods == first
    assert not (tmp_path / "laptop").exists()  # nothing is chosen yet
