"""Which settings are searched, between which values, and what happens at an edge."""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from pxsgmcmc.config import Config, parse_config, write_config
from pxsgmcmc.config.known_settings import sections_with, types_at, value_at
from pxsgmcmc.config.sampler_sections import CyclicalSettings, Groups
from pxsgmcmc.errors import UserError, did_you_mean, one_line
from pxsgmcmc.results import SearchRange

# How far below and above its start a setting is searched, as factors; by the beginning of its name.
_WIDTHS = {
    "sampler.step_size": (1 / 8, 4.0),  # the start is about as large as is honest
    "sampler.friction": (1 / 8, 8.0),
    "sampler.temperature": (1 / 16, 1.0),
    "chain.cycle_length": (1 / 4, 4.0),
    "prior.": (1 / 16, 16.0),
}
_OTHERS = (1 / 8, 8.0)
EDGE = 0.1  # share of a range, from its end, that counts as its edge
WIDER = 4.0  # factor by which a range grows at an edge

Asked = Mapping[str, Any]  # name -> (low, high), True, False or a number


def usual_settings(config: Config) -> list[str]:
    """Names of the settings that are searched unless told otherwise."""
    sampler = config.sampler
    cyclical = isinstance(sampler.step_size, CyclicalSettings)
    names = ["sampler.step_size.peak" if cyclical else "sampler.step_size"]
    friction = getattr(sampler, "friction", None)
    if isinstance(friction, Groups):
        expanded = bool(config.expansion.out or config.expansion.into)
        names += ["sampler.friction.base", "sampler.friction.factors"][: 1 + expanded]
    elif friction is not None:
        names.append("sampler.friction")
    return [*names, "prior.variance" if config.prior.family == "normal" else "prior.scale"]


def flat(space: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Names with their sections, whichever way a table was written.

    Example:
      >>> flat({"prior": {"variance": [0.1, 1]}, "sampler.friction": True})
      {'prior.variance': [0.1, 1], 'sampler.friction': True}
    """
    found: dict[str, Any] = {}
    for name, value in space.items():
        found |= (
            flat(value, f"{above}{name}.")
            if isinstance(value, Mapping)
            else {f"{above}{name}": value}
        )
    return found


def from_flags(words: list[str]) -> dict[str, Any]:
    """What `--space` says: NAME, NAME=LOW:HIGH or NAME=VALUE.

    Example:
      >>> from_flags(["prior.variance=0.1:2", "sampler.temperature", "sampler.friction=5"])
      {'prior.variance': [0.1, 2.0], 'sampler.temperature': True, 'sampler.friction': 5.0}
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        try:
            numbers = [float(part) for part in value.split(":")] if equals else []
        except ValueError:
            numbers = [math.nan]
        if len(numbers) > 2 or not all(map(math.isfinite, numbers)):
            raise UserError(
                "`--space` must be a setting with its bounds, as in prior.variance=0.01:1, got "
                f"{one_line(word)}."
            )
        found[name] = True if not equals else numbers[0] if len(numbers) == 1 else numbers
    return found


def with_values(config: Config, values: Mapping[str, float]) -> Config:
    """The configuration with other settings, all of them checked."""
    flags = [word for name, value in values.items() for word in (f"--{name}", repr(value))]
    return parse_config(write_config(config), flags)


def value_of(config: Config, name: str) -> float:
    """The number that a configuration has for a setting, or a sentence on why there is none."""
    value = value_at(msgspec.to_builtins(config), name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(
            f"`tune.space` can search settings that are numbers, such as prior.variance, and "
            f"{one_line(name)} is none here."
        )
    return value


def search_ranges(config: Config, asked: Asked) -> list[SearchRange]:
    """What is searched: the usual settings and those asked for, around a configuration.

    Args:
      config: with the values to start from.
      asked: ranges over those that follow from it; numbers in it are in `config` already.
    """
    names = dict.fromkeys([*usual_settings(config), *asked])
    ranges = []
    for name in names:
        wish = asked.get(name, True)
        if wish is False or (isinstance(wish, int | float) and wish is not True):
            continue
        ranges.append(_range(config, name, None if wish is True else wish))
    if not ranges:
        raise UserError("`tune.space` must leave at least one setting to search, got none.")
    return ranges


def _range(config: Config, name: str, given: Any) -> SearchRange:
    value = value_of(config, name)
    whole = isinstance(value, int)
    if given is None:
        if value <= 0.0:
            raise UserError(
                f"`tune.space` needs bounds for {name}, which is {value:g} here: give "
                f"{name}=LOW:HIGH."
            )
        below, above = next((w for n, w in _WIDTHS.items() if name.startswith(n)), _OTHERS)
        low, high = value * below, value * above
        if whole:
            low, high = max(1, round(low)), max(2, round(high))
    else:
        low, high = _bounds(name, given, whole)
        value = value if low <= value <= high else _middle(low, high, whole)
    for bound in (low, high):
        with_values(config, {name: bound})  # a value that is not allowed is named here
    first = (float(low), float(high))
    return SearchRange(
        name=name, low=first[0], high=first[1], start=float(value), whole=whole, first=first
    )


def check_names(config: Config, asked: Asked) -> None:
    """Refuse settings that no configuration has, before anything is measured.

    Whether one is a number is seen later: the pilot may give one friction for each group.
    """
    for name in asked:
        section, _, field = name.rpartition(".")
        fields = dict.fromkeys(f for kind in types_at(section) for f in kind.__struct_fields__)
        if field not in fields:
            known = [f"{section}.{f}" for f in fields] if section else sections_with(field)
            hint = did_you_mean(name, known or usual_settings(config))
            raise UserError(f"`tune.space` has no setting {one_line(name)}; {hint}")


def check_bounds(asked: Asked) -> None:
    """Refuse bounds that no setting can have."""
    for name, given in asked.items():
        if isinstance(given, bool | int | float):
            continue
        pair = list(given) if isinstance(given, list | tuple) else []
        numbers = [x for x in pair if isinstance(x, int | float) and not isinstance(x, bool)]
        if len(pair) != 2 or numbers != pair or not all(map(math.isfinite, pair)):
            raise UserError(
                f"`tune.space` must have a lower and an upper bound for {name}, as in [0.01, 1.0], "
                f"got {one_line(given)}."
            )
        if pair[0] < 0.0:
            raise UserError(
                f"`tune.space` must have bounds above 0 for {name}, since it is searched on a log "
                f"scale, got {pair[0]:g} to {pair[1]:g}."
            )
        if pair[0] >= pair[1]:
            raise UserError(
                f"`tune.space` must have the lower bound of {name} first, got {pair[0]:g} to "
                f"{pair[1]:g}."
            )


def _bounds(name: str, given: Any, whole: bool) -> tuple[float, float]:
    """Two numbers as the setting takes them."""
    check_bounds({name: given})
    low, high = given
    if low == 0.0 and not whole:
        raise UserError(
            f"`tune.space` must have bounds above 0 for {name}, since it is searched on a log "
            f"scale, got {low:g} to {high:g}."
        )
    if whole and (low != round(low) or high != round(high)):
        raise UserError(f"`tune.space` must have whole numbers for {name}, got {one_line(given)}.")
    return (int(low), int(high)) if whole else (float(low), float(high))


def _middle(low: float, high: float, whole: bool) -> float:
    value = math.sqrt(low * high) if low > 0 else (low + high) / 2.0
    return round(value) if whole else float(f"{value:.3g}")


def share_of(place: SearchRange, value: float) -> float:
    """Where in its range a value lies, from 0 to 1.

    Example:
      >>> r = SearchRange(name="x", low=1.0, high=100.0, start=1.0, whole=False, first=(1.0, 100.0))
      >>> share_of(r, 10.0)
      0.5
    """
    scale = math.log if place.log else float
    return (scale(value) - scale(place.low)) / (scale(place.high) - scale(place.low))


def at_edge(place: SearchRange, value: float) -> str:
    """At which edge of its range a value lies, "lower" or "upper"; empty if at none."""
    share = share_of(place, value)
    return "lower" if share <= EDGE else "upper" if share >= 1.0 - EDGE else ""


def widened(config: Config, place: SearchRange, edge: str) -> SearchRange:
    """The range with more room at an edge; as it is where the setting allows no more."""
    step = WIDER if place.log else 1.0
    low, high = place.low, place.high
    if edge == "lower":
        low = low / step if place.log else low - step
    else:
        high = high * step if place.log else high + step
    if place.whole:
        low, high = float(round(low)), float(round(high))
        low = max(low, 1.0 if place.log else 0.0)
    wider = msgspec.structs.replace(place, low=low, high=high)
    try:
        for bound in (low, high):
            with_values(config, {place.name: as_setting(wider, bound)})
    except UserError:
        return place
    return wider


def as_setting(place: SearchRange, value: float) -> float:
    """A value as the configuration takes it: a whole number, or three digits of another."""
    return round(value) if place.whole else float(f"{value:.3g}")
