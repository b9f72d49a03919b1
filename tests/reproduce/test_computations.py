"""What experiments compute beside chains: counts, the lemma, the toy."""

import json
import os
import signal
import subprocess
import sys

import pytest

from pxsgmcmc.errors import Interrupted
from pxsgmcmc.reproduce.computing import compute
from pxsgmcmc.reproduce.cost import _count
from pxsgmcmc.reproduce.measures import draws_to_settle, first_near
from pxsgmcmc.reproduce.toy_modes import cover


@pytest.mark.parametrize(
    "out, into, parameters", [(0, 0, 274_042), (1, 1, 383_098), (2, 2, 492_154)]
)
def test_counts_at_full_size_are_the_published_ones(out, into, parameters):
    assert _count("paper", out, into) == parameters


@pytest.mark.slow
def test_the_lemma_is_exact_and_the_theorem_as_printed_is_not():
    values = compute("flow:lemma", {"width": 3}, 0).values  # a process of its own: it sets float64
    assert values["flow/error_1e-05"] < 1e-3
    assert values["flow/order"] == pytest.approx(1.0, abs=0.02)
    assert values["bound/printed"] == pytest.approx(9.0, rel=1e-6)  # 243 over 27
    assert values["bound/corrected"] == pytest.approx(1.0, rel=1e-6)


@pytest.mark.slow
def test_a_chain_of_standard_hmc_stays_in_its_mode():
    values = cover(seed=3, reading="standard", draws=120).values
    assert values["modes/covered"] <= 1.0 and values["modes/switches"] == 0.0


def test_a_computation_that_fails_says_so():
    ask = json.dumps({"function": "cost:measure", "arguments": {"scale": "x"}, "seed": 0})
    command = [sys.executable, "-P", "-m", "pxsgmcmc.reproduce.computing"]
    ended = subprocess.run(command, input=ask, capture_output=True, text=True)
    assert ended.returncode != 0 and ended.stdout == ""


def test_a_signal_ends_the_process_that_computes_without_its_traceback(monkeypatch, capfd):
    children = []

    def communicate(child, ask, timeout):
        children.append(child)
        os.kill(os.getpid(), signal.SIGTERM)
        raise subprocess.TimeoutExpired("computing", timeout)

    monkeypatch.setattr(subprocess.Popen, "communicate", communicate)
    with pytest.raises(Interrupted) as caught:
        compute("flow:lemma", {"width": 3}, 0)
    assert caught.value.signal == signal.SIGTERM and len(children) == 1
    assert children[0].returncode == -signal.SIGKILL and capfd.readouterr().err == ""


def test_a_chain_has_settled_where_its_error_stays_low():
    assert draws_to_settle([0.1] * 8) == 1.0
    assert draws_to_settle([0.5, 0.1, 0.5, 0.1, 0.1, 0.1, 0.1, 0.1]) == 4.0


def test_burn_in_is_long_enough_where_the_average_is_near_its_best():
    assert first_near([1.1, 1.015, 1.0], 1.02) == 1
