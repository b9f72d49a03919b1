"""Callbacks are told every chunk and every draw, and cannot hurt a chain."""

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px

DATA = jnp.arange(8.0)


def run(*callbacks, **settings):
    U = px.potential(lambda q, x: -0.5 * (x - q["w"]) ** 2, data_size=8)
    sampler = px.sghmc(U, 0.05, friction=2.0)
    execution = px.Execution(callbacks=callbacks, chunk_seconds=1e-3)
    given = {"draws": 3, "cycle_length": 10, "batch_size": 4, "progress": False, **settings}
    return px.sample(sampler, {"w": jnp.zeros(())}, DATA, execution=execution, **given)


def test_every_draw_and_every_line_of_the_log_is_told():
    events = []
    found = run(events.append, chains=2)
    draws = [event for event in events if event.kind == "draw"]
    assert [(e.number, e.chain, e.step) for e in draws] == [
        (number, chain, 10 * number) for number in (1, 2, 3) for chain in (0, 1)
    ]
    for event in draws:
        weights = found.chain(event.chain)[event.number - 1]
        np.testing.assert_array_equal(event.weights["w"], weights["w"])
        assert event.facts["energy"] == found.energies[event.chain, event.number - 1]
    chunks = [{"chain": e.chain, **e.facts} for e in events if e.kind == "chunk"]
    assert sorted(chunks, key=str) == sorted(found.log, key=str) and chunks


def test_what_a_callback_raises_is_said_once_and_changes_no_bit(capsys):
    def broken(event):
        raise RuntimeError("no network")

    alone = run()
    found = run(broken, progress="plain")
    np.testing.assert_array_equal([d["w"] for d in found], [d["w"] for d in alone])
    said = capsys.readouterr().err
    assert said.count("The callback 'broken' failed and the chain goes on") == 1
    assert "RuntimeError: no network" in said


def test_an_error_that_cannot_say_what_it_is_does_not_hurt_either(capsys):
    class Speechless(Exception):
        def __str__(self):
            raise KeyError("no words")

    def broken(event):
        raise Speechless

    assert run(broken, progress="plain").status == "done"
    assert "this is said once: Speechless" in capsys.readouterr().err


def test_what_one_callback_does_to_its_event_the_next_does_not_see():
    seen = []

    def first(event):
        event.weights.clear()
        event.facts.clear()

    def second(event):
        seen.append((event.kind, list(event.weights), "energy" in event.facts))

    run(first, second)
    assert ("draw", ["w"], True) in seen and all(facts for *_, facts in seen)


def test_a_callback_cannot_change_what_is_kept():
    def meddling(event):
        event.facts.clear()
        with pytest.raises(ValueError, match="read-only"):
            event.weights["w"][...] = 7.0

    alone, found = run(), run(meddling)
    np.testing.assert_array_equal([d["w"] for d in found], [d["w"] for d in alone])
    assert found.log[-1]["draws"] == 3


@pytest.mark.parametrize("callbacks", [print, [3]])
def test_what_cannot_be_called_is_refused(callbacks):
    with pytest.raises(px.UserError, match="`callbacks` must"):
        px.Execution(callbacks=callbacks).checked()
