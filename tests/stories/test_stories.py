"""What users want to do, each in at most 30 lines of their own code, run as they would run it."""

import json
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from tests.helpers.cli_calls import call
from tests.helpers.quick_jit import optimised
from tests.helpers.users_jax import as_users_have_it

HERE = Path(__file__).parent


@pytest.fixture
def run_story(tmp_path, monkeypatch):
    """A function that runs a story in a folder of its own and returns its variables."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(HERE / "moons.py", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "moons", raising=False)

    def run(name):
        with as_users_have_it(), optimised():
            return runpy.run_path(str(HERE / f"story_{name}.py"))

    return run


@pytest.mark.parametrize("path", sorted(HERE.glob("story_*.py")), ids=lambda path: path.stem)
def test_a_story_has_at_most_30_lines_of_code(path):
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    assert len(lines) <= 30


# Chains round otherwise on another processor. Of chains whose 20 or 40 draws are independent, the
# R-hat of the energy is above 1.1 in one of 10 or of 30; with the seeds here it is 1.02 at most.
def test_own_flax_cnn(run_story):
    told = run_story("01_flax_cnn")
    assert told["run"].verdict.healthy is not False, told["run"]
    assert np.mean(told["predicted"].probabilities.argmax(1) != told["problem"].test.y) < 0.15


README = (HERE.parents[1] / "README.md").read_text("utf-8")
STEP_SIZE = re.search(r"px\.cyclical\(.*?\)", README)[0]  # pyright: ignore[reportOptionalSubscript]
LENGTHS = re.search(r"draws=\d+, cycle_length=.*?batch_size=\d+", README)[0]  # pyright: ignore[reportOptionalSubscript]


@pytest.mark.parametrize("name", ["02_equinox_mlp", "04_diabetes", "05_breast_cancer"])
def test_the_settings_are_those_a_newcomer_finds_in_the_readme(name):
    code = (HERE / f"story_{name}.py").read_text("utf-8")
    assert STEP_SIZE in code and LENGTHS in code and "friction=20.0" in code


@pytest.mark.slow
def test_own_flax_cnn_with_the_settings_of_the_readme(tmp_path):
    code = (HERE / "story_01_flax_cnn.py").read_text("utf-8")
    code = re.sub(r"px\.cyclical\(.*?\)", STEP_SIZE, code)
    code = re.sub(r"draws=\d+, .*?batch_size=\d+", LENGTHS, code)
    (tmp_path / "story.py").write_text(code, "utf-8")
    with as_users_have_it(), optimised():
        told = runpy.run_path(str(tmp_path / "story.py"))
    assert len(told["run"]) == 40 and told["run"].verdict.healthy, told["run"]


def test_own_equinox_mlp(run_story):
    told = run_story("02_equinox_mlp")
    assert told["run"].verdict.healthy is not False, told["run"]
    assert told["results"].test.metrics["err"] < 0.1


def test_one_input_and_bands_that_widen_where_there_are_no_data(run_story):
    told = run_story("03_regression_bands")
    width, grid = (told["high"] - told["low"])[:, 0], told["grid"][:, 0]
    gap = (grid > -0.1) & (grid < 0.2)
    seen = (np.abs(grid) > 0.4) & (np.abs(grid) < 0.9)
    assert width[gap].mean() > 1.2 * width[seen].mean()
    assert np.abs(told["bands"].mean[seen, 0] - np.sin(4 * grid[seen])).max() < 0.3


def test_diabetes_with_learned_noise(run_story):
    told = run_story("04_diabetes")
    assert told["run"].verdict.healthy is not False, told["run"]
    assert told["metrics"]["rmse"] < 65  # the standard deviation of the targets is 78
    assert 0.8 < told["metrics"]["coverage90"] < 0.98
    noise = [float(jax.numpy.exp(draw["likelihood"]["log_noise"])) for draw in told["run"]]
    assert 0.5 < np.mean(noise) < 0.9 and np.std(noise) > 0.0


def test_probabilities_of_a_table(run_story):
    told = run_story("05_breast_cancer")
    assert told["run"].verdict.healthy is not False, told["run"]
    wrong = told["predicted"].probabilities.argmax(1) != told["y_test"]
    assert wrong.mean() < 0.12 and wrong[told["sure"]].mean() <= wrong.mean()


def test_own_files_from_the_shell_to_the_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(HERE / "story_06_own_files.toml", tmp_path / "own.toml")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4)) * [1, 10, 100, 1] + [0, 5, 0, 1]
    y = (x[:, 0] + x[:, 1] / 10 > 0.5).astype(int)
    for name, array in {"X": x[:200], "y": y[:200], "X_test": x[200:], "y_test": y[200:]}.items():
        np.save(tmp_path / f"{name}.npy", array)
    for line in (HERE / "story_06_own_files.sh").read_text("utf-8").splitlines():
        said = call(*shlex.split(line)[1:])
        assert said.code == 0, (line, said)
    probabilities = np.load("probabilities.npy")
    assert np.mean(probabilities.argmax(axis=1) != y[200:]) < 0.2
    assert "<html" in Path("runs/mine/report.html").read_text("utf-8")


def test_four_chains_and_r_hat_in_two_lines(run_story):
    told = run_story("07_four_chains")
    assert told["run"].energies.shape == (4, 40)
    assert told["r_hat"] < 1.1 and len(told["one"]) == 40
    assert told["run"].verdict.healthy is not False, told["run"]


def test_stop_look_extend(run_story):
    told = run_story("08_stop_look_extend")
    assert told["look"].draws == 4 and len(told["first"]) == 4
    assert len(told["longer"]) == 9 and len(told["later_half"]) == 4
    for one, other in zip(told["longer"], told["at_once"], strict=True):
        jax.tree.map(np.testing.assert_array_equal, one, other)


def test_somebodys_run_directory(run_story):
    run_story("08_stop_look_extend")
    told = run_story("09_somebodys_run")
    assert told["predicted"].draws == 9 and told["after_burn_in"].draws == 7
    np.testing.assert_allclose(told["predicted"].probabilities.sum(axis=1), 1.0, rtol=1e-6)


def test_a_report_of_a_run_from_python(run_story):
    page = run_story("10_report")["page"].read_text("utf-8")
    assert "Two moons" in page and "healthy" in page


def test_own_likelihood_and_own_prior(run_story):
    told = run_story("11_own_likelihood_and_prior")
    np.testing.assert_allclose(told["weights"], [1.0, -2.0, 0.5], atol=0.4)  # 5 sd of Laplace noise
    assert 1.4 < told["results"].test.metrics["nll"] < 2.1  # 1 + log 2 for the true weights


def cells(name):
    notebook = json.loads((HERE / name).read_text("utf-8"))
    return ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]


def test_a_notebook_shows_readable_objects(run_story, tmp_path):
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell()  # as in a notebook, cell by cell
    shown = []
    with as_users_have_it():
        for cell in cells("story_12_notebook.ipynb"):
            with capture_output():
                outcome = shell.run_cell(cell)
            outcome.raise_error()
            forms, _ = shell.display_formatter.format(outcome.result)
            shown.append(forms)
    shell.history_manager.end_session()
    problem, plan, run, predicted, metrics = shown
    assert re.search(r"<b>Problem</b> categorical\(\) on data.*\d+ rows", problem["text/html"])
    assert "hidden" in plan["text/plain"] and "factors" in plan["text/plain"]
    assert "<b>Run</b> 10 draws by SGHMC" in run["text/html"]
    assert predicted["text/plain"].startswith("ClassPrediction(")
    assert "'err'" in metrics["text/plain"]
    for forms in shown:
        assert len(forms["text/plain"]) < 3000
