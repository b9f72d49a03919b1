"""`pxsgmcmc compare` on runs whose results were made by hand."""

import msgspec
import pytest

from pxsgmcmc.results import Comparison, write
from pxsgmcmc.store import create_run
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.made_up_results import detection, result

VALUES = {"SGHMC": [0.30, 0.33, 0.31, 0.32], "PX-SGHMC (c=1, d=1)": [0.20, 0.22, 0.21, 0.19]}


def keep(folder, found, config=""):
    """A run directory with these results."""
    with create_run(folder, config, {}) as run:
        if found is not None:
            run.write_artifact("results.json", write(found))
    return str(folder)


@pytest.fixture
def runs(tmp_path):
    """Directories of two methods with four seeds each."""
    return [
        keep(
            tmp_path / f"{place}-{seed}",
            result(method, seed, {"nll": v, "amb": 1 - v}, ood={"photos": detection(auroc=1 - v)}),
        )
        for place, (method, values) in enumerate(VALUES.items())
        for seed, v in enumerate(values)
    ]


def test_two_methods_side_by_side_with_the_best_and_the_tests(runs):
    said = call("compare", *runs)
    assert said.code == 0 and said.err == ""
    lines = {line.split("  ")[0].strip(): line for line in said.out.splitlines()}
    assert "0.3150 ± 0.0129" in lines["Test NLL ↓"] and "0.2050 ± 0.0129 *" in lines["Test NLL ↓"]
    assert "-0.1100 !" in lines["Test NLL ↓"] and "0.029" in lines["Test NLL ↓"]
    assert "0.7950 ± 0.0129 *" in lines["photos AUROC ↑"]
    assert "*" not in lines["Test AMB"]
    assert "4 seeds" in said.out and "Holm's correction is for 3 tests" in said.out
    assert max(map(len, said.out.splitlines()[:6])) <= 100


def test_chosen_metrics_as_markdown(runs):
    out = call("compare", *runs, "--metrics", "nll", "test/amb", "--markdown").out
    head, rule, first, second, empty, notes = out.rstrip().splitlines()
    assert head.startswith("|  | SGHMC 4 seeds | PX-SGHMC (c=1, d=1) 4 seeds |")
    assert rule.count("---") == head.count("|") - 1 == first.count("|") - 1
    assert first.startswith("| Test NLL ↓ | 0.3150 ± 0.0129 | **0.2050 ± 0.0129** |")
    assert second.startswith("| Test AMB | 0.6850 ± 0.0129 | 0.7950 ± 0.0129 |")
    assert empty == "" and "Bold marks the best" in notes


def test_everything_is_written_as_json(runs, tmp_path):
    assert call("compare", *runs, "-o", str(tmp_path / "all.json")).code == 0
    found = msgspec.json.decode((tmp_path / "all.json").read_bytes(), type=Comparison)
    assert [method.seeds for method in found.methods] == [[0, 1, 2, 3]] * 2


def test_few_seeds_are_said_to_be_few(runs):
    out = call("compare", *runs[:2], *runs[4:6]).out
    assert "2 seeds each are too few" in out and "No difference was told apart" in out
    assert "One seed has no standard deviation" in call("compare", runs[0], runs[4]).out


def test_three_methods_get_a_table_of_their_differences(runs, tmp_path):
    third = [keep(tmp_path / f"c{i}", result("SGLD", i, {"nll": 0.4 + i})) for i in range(2)]
    out = call("compare", *runs, *third, "--metrics", "nll").out
    assert "SGLD - SGHMC" in out and "PX-SGHMC (c=1, d=1) - SGHMC" in out


def test_settings_that_tell_runs_of_one_method_apart_are_named(tmp_path):
    folders = [
        keep(
            tmp_path / str(h),
            result("SGHMC", 0, {"nll": h}, settings=f"digest{h}"),
            f"seed = {h}\n[sampler]\nname = 'sghmc'\nstep_size = {{ peak = {h} }}",
        )
        for h in (1, 2)
    ]
    out = call("compare", *folders).out
    assert "SGHMC [digest1] has sampler.step_size.peak = 1.\n" in out
    assert "SGHMC [digest2] has sampler.step_size.peak = 2.\n" in out


def test_a_run_from_python_is_not_told_apart_by_settings_that_only_configurations_have(tmp_path):
    configs = {"one": "[sampler]\nname = 'sghmc'", "two": "draws = 3\nbatch_size = 5\n"}
    folders = [
        keep(tmp_path / name, result("SGHMC", 0, {"nll": 1.0}, settings=name), text)
        for name, text in configs.items()
    ]
    out = call("compare", *folders).out
    assert "SGHMC [two] was started from Python: the program that made it has the settings." in out
    assert "(none)" not in out


def test_names_are_printed_as_they_are(tmp_path):
    odd = keep(tmp_path / "a", result("[red]A|B[/red]", 0, {"nll": 1.0}))
    assert "[red]A|B[/red]" in call("compare", odd).out
    assert "[red]A\\|B[/red]" in call("compare", odd, "--markdown").out


def test_what_cannot_be_compared_is_one_line(runs, tmp_path):
    bare = keep(tmp_path / "bare", None)
    assert_one_line(call("compare", bare), 2, "has not been evaluated", "pxsgmcmc evaluate")
    assert_one_line(call("compare", runs[0], runs[0]), 2, "was given twice")
    assert_one_line(call("compare", runs[0], f"{runs[0]}/../0-0"), 2, "was given twice")
    assert_one_line(call("compare", str(tmp_path / "none")), 2, "run directory")
    assert_one_line(call("compare"), 2, "at least one run")
    assert_one_line(call("compare", *runs, "--metrics", "nonsense"), 2, "'nonsense'")
    other = keep(tmp_path / "other", result("SGHMC", 9, {"nll": 1.0}, data="mnist"))
    assert_one_line(call("compare", runs[0], other), 2, "the same data")
    twin = keep(tmp_path / "twin", result("SGHMC", 0, {"nll": 1.0}))
    assert_one_line(call("compare", runs[0], twin), 2, "same settings and seed 0")


def test_results_that_were_changed_or_are_of_another_format_are_noticed(runs, tmp_path):
    with create_run(tmp_path / "new", "", {}) as run:
        run.write_artifact("results.json", b'{"format": 2}')
    assert_one_line(call("compare", str(tmp_path / "new")), 2, "another version")
    path = tmp_path / "0-0" / "results.json"
    path.write_bytes(path.read_bytes().replace(b"0.3", b"0.2"))
    assert_one_line(call("compare", *runs), 4, "results.json")
