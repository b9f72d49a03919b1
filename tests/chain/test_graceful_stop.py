import gc
import os
import signal
import threading

import jax
import pytest

from pxsgmcmc.chain.graceful_stop import kept_ctrl_c


def test_a_ctrl_c_in_a_callback_of_the_garbage_collector_comes_again():
    def pressed(phase, info):
        gc.callbacks.remove(pressed)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), kept_ctrl_c():
        gc.callbacks.append(pressed)
        gc.collect()
        threading.Event().wait(60.0)


def test_a_ctrl_c_while_jax_looks_for_devices_waits_until_it_has_them(monkeypatch):
    seen = []

    def looked_for():
        os.kill(os.getpid(), signal.SIGINT)
        seen.append("whole")  # a KeyboardInterrupt would come before this line

    monkeypatch.setattr(jax, "devices", looked_for)
    with pytest.raises(KeyboardInterrupt), kept_ctrl_c():
        seen.append("not reached")
    assert seen == ["whole"]


def test_a_ctrl_c_where_a_compiled_program_is_handed_over_waits_for_the_next_line():
    seen = []

    def backend_compile_and_load():  # as JAX calls it
        os.kill(os.getpid(), signal.SIGINT)
        seen.append("whole")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), kept_ctrl_c():
        backend_compile_and_load()
        seen.append("next line")
        threading.Event().wait(60.0)
    assert seen == ["whole", "next line"] and signal.getsignal(signal.SIGINT) is before
