"""The loop gives the device its next chunk before it looks at the last."""

from typing import NamedTuple

import jax
import numpy as np

from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.divergence import DivergenceWatch
from pxsgmcmc.chain.executors import StepSums
from pxsgmcmc.chain.record import MemoryRecord
from pxsgmcmc.chain.row_table import RowTable
from pxsgmcmc.chain.runner import Runner
from pxsgmcmc.chain.under_way import ChainUnderWay, Pace
from pxsgmcmc.progress import Silent


class State(NamedTuple):
    step: np.ndarray
    position: dict[str, np.ndarray]


class OnDevice:
    """A number that the device works on: reading it is an event."""

    def __init__(self, name, events):
        self.name, self.events = name, events

    def __array__(self, dtype=None, copy=None):
        self.events.append(f"read {self.name}")
        return np.float32(1.0)


class Device:
    """What takes the steps, and only writes down that it was asked to."""

    most = 100

    def __init__(self, events):
        self.events, self.chunks = events, 0

    def __call__(self, state, first, rows, active):
        self.events.append(f"launch {self.chunks}")
        numbers = dict.fromkeys(StepSums._fields, np.float32(1.0)) | {"temperature": {}}
        numbers["energy"] = OnDevice(self.chunks, self.events)
        self.chunks += 1
        return state._replace(step=state.step + len(rows)), StepSums(**numbers)


class Record(MemoryRecord):
    def __init__(self, events):
        super().__init__("", {})
        self.events = events

    def commit_draw(self, arrays, **facts):
        self.events.append(f"draw at {facts['step']}")
        super().commit_draw(arrays, **facts)

    def commit_state(self, arrays, meta):
        self.events.append(f"save at {arrays['step']}")
        super().commit_state(arrays, meta)


class Rows:
    def rows(self, first, count):
        return np.zeros((count, 1), np.int32)

    def shuffle_ahead(self, first, count):
        pass


def test_the_device_has_its_next_chunk_before_the_last_is_looked_at_kept_or_saved():
    events = []
    chain = ChainUnderWay(Record(events), Rows(), DivergenceWatch(1))
    start = State(np.int32(0), {"w": np.zeros(1, np.float32)})
    pace = Pace(1e-9, 0.0, 0)  # a step a chunk, each saved
    runner = Runner(lambda _: Device(events), start, [chain], Collection(2, 2), pace, Silent())
    runner._norms = lambda state: {}
    runner._set_pace = lambda count, seconds: None
    runner.run()
    assert events == [
        *("launch 0", "launch 1", "read 0", "save at 1"),
        *("launch 2", "read 1", "draw at 2", "save at 2"),
        *("launch 3", "read 2", "save at 3"),
        *("read 3", "draw at 4", "save at 4", "save at 4"),
    ]


def test_rows_are_sent_as_long_as_the_chunk_into_a_table_that_stays():
    sent = []

    class Noting:
        def place(self, array):
            sent.append(array.shape)
            return jax.numpy.asarray(array)

    table = RowTable((100, 3), Noting())
    for steps in (5, 16, 17, 99):
        rows = np.arange(steps * 3, dtype=np.int32).reshape(steps, 3)
        written = table.write(rows)
        assert written.shape == (100, 3) and np.array_equal(written[:steps], rows)
    assert sent == [(100, 3), (16, 3), (16, 3), (64, 3), (100, 3)]
    several = RowTable((2, 100, 3), Noting()).write(np.ones((2, 4, 3), np.int32))
    assert several.shape == (2, 100, 3) and np.all(several[:, :4] == 1)
