"""Configurations with one known fault each, and what a good value of every setting is."""

import datetime
import json

from hypothesis import strategies as st

GOOD = {
    "seed": 1,
    "chains": 1,
    "threads": 2,
    "data": {"name": "digits", "root": "somewhere", "limit": 100, "augment": False, "pad": 2},
    "model": {"name": "mlp", "widths": [8], "activation": "relu"},
    "expansion": {"out": 1, "into": 1, "rank": 2, "input": False, "frozen": False},
    "prior": {"variance": 0.2, "on_weights": False, "factor_variance": 0.5, "factors_at": "zero"},
    "sampler": {
        "name": "sghmc",
        "step_size": {"kind": "cyclical", "peak": 1e-3, "period": 10, "lowest": 0.0},
        "friction": {"base": 100.0, "factors": 1.0},
        "temperature": 1.0,
    },
    "chain": {
        "draws": 3,
        "cycle_length": 20,
        "batch_size": 10,
        "burn_in": 0,
        "draws_per_cycle": 2,
        "thinning": 3,
        "start": "random",
        "executor": "auto",
        "chunk_seconds": 1.0,
        "checkpoint_seconds": 10.0,
        "on_divergence": "stop",
        "retries": 1,
        "keep_data": "auto",
        "devices": 1,
    },
}
REQUIRED = ["sampler", "chain", "chain.draws", "chain.cycle_length"]
REQUIRED += ["chain.batch_size", "sampler.step_size", "sampler.friction", "sampler.step_size.peak"]


def whole(low, high=1_000_000_000):
    return lambda value: type(value) is int and low <= value <= high


def number(low, high=1e12):
    return lambda value: type(value) in (int, float) and low <= value <= high  # not NaN


def one_of(*words):
    return lambda value: value in words if isinstance(value, str) else False


def is_flag(value):
    return isinstance(value, bool)


def is_text(value):
    return isinstance(value, str)


TINY = 5e-324  # the least number above zero
GOOD_WHEN = {
    "seed": whole(0),
    "chains": whole(1, 1000),
    "threads": whole(1, 1000),
    "data.name": is_text,
    "data.root": is_text,
    "data.limit": whole(1),
    "data.augment": is_flag,
    "data.pad": whole(0),
    "model.name": one_of("mlp"),
    "model.activation": one_of("swish", "relu", "gelu", "tanh"),
    "model.widths": lambda v: isinstance(v, list) and all(map(whole(1), v)),
    "expansion.out": whole(0),
    "expansion.rank": lambda v: whole(1)(v) or (isinstance(v, float) and number(TINY, 1.0)(v)),
    "expansion.frozen": is_flag,
    "prior.variance": number(TINY),
    "prior.on_weights": is_flag,
    "prior.factor_variance": number(0.0),
    "prior.factors_at": one_of("zero", "identity"),
    "sampler.step_size.peak": number(TINY),
    "sampler.step_size.period": whole(1),
    "sampler.friction.base": number(0.0),
    "sampler.temperature": number(0.0),
    "chain.draws": whole(1),
    "chain.batch_size": whole(1),
    "chain.burn_in": whole(0),
    "chain.start": is_text,
    "chain.executor": one_of("auto", "loop", "scan"),
    "chain.chunk_seconds": number(TINY),
    "chain.checkpoint_seconds": number(0.0),
    "chain.on_divergence": one_of("stop", "retry"),
    "chain.retries": whole(0),
    "chain.keep_data": one_of("auto", "device", "host"),
    "chain.devices": whole(1),
}

any_value = st.recursive(
    st.one_of(
        st.integers(-(2**80), 2**80),
        st.integers(-3, 3),
        st.sampled_from([10**400, 1_000_000_001]),
        st.floats(),
        st.booleans(),
        st.text(max_size=20),
        st.sampled_from(["", "random", "True", "1", "sghmc", "nan", "\n\n", "🎲", "../x"]),
        st.dates().filter(lambda day: day.year > 999),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)


def toml(value):
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, int) and value > 10**300:
        return hex(value)  # which Python reads whatever its length
    if isinstance(value, datetime.date):
        return value.isoformat()
    return repr(value)


def document(tables):
    """Tables as a TOML file."""
    lines = [f"{toml(k)} = {toml(v)}" for k, v in tables.items() if not isinstance(v, dict)]
    for name, table in tables.items():
        if isinstance(table, dict):
            lines.append(f"[{toml(name)}]")
            lines += [f"{toml(k)} = {toml(v)}" for k, v in table.items()]
    return "\n".join(lines) + "\n"


def changed(path, value=None, *, remove=False):
    """`GOOD` with one setting replaced or removed."""
    tables = json.loads(json.dumps(GOOD))
    *parents, last = path.split(".")
    place = tables
    for parent in parents:
        place = place[parent]
    if remove:
        del place[last]
    else:
        place[last] = value
    return tables
