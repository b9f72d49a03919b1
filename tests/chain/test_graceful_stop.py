import gc
import os
import signal
import threading

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
