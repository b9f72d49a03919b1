"""Numbers and names as a reader wants them."""

import math
from collections.abc import Sequence

from pxsgmcmc.errors import printable
from pxsgmcmc.metrics import METRICS, REGRESSION_METRICS

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MISSING = "–"
SHARES = ("err", "coverage90", "coverage50", "epistemic_share")  # shown as percentages
_IN_UNITS = ("rmse", "mae", "crps", "width90", "std")  # of any size: in the unit of the target


def plain(text: str, at_most: int = 200) -> str:
    r"""A name from outside on one line, without characters that act, and not too long of it.

    Example:
      >>> plain("two\nlines")
      'two lines'
      >>> plain("a" * 30, 10)
      'aaaaaaaaa…'
    """
    kept = printable(text, 4 * at_most)
    return kept if len(kept) <= at_most else kept[: at_most - 1].rstrip() + "…"


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits.

    Example:
      >>> number(0.12345), number(123456.0), number(1.2e-7), number(None)
      ('0.123', '123,456', '1.2 × 10⁻⁷', '–')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0.0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4 or size > 9:
        return power(value, digits)
    decimals = max(0, digits - 1 - size)
    return minus(f"{value:,.{decimals}f}")


def power(value: float, digits: int = 3) -> str:
    """A number as a multiple of a power of ten.

    Example:
      >>> power(0.001), power(0.025)
      ('10⁻³', '2.5 × 10⁻²')
    """
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    ten = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return minus({"1": "", "-1": "-"}.get(mantissa, f"{mantissa} × ") + ten)


def percent(share: float | None) -> str:
    """A share of one as a percentage.

    Example:
      >>> percent(0.0312)
      '3.1%'
    """
    return MISSING if share is None or math.isnan(share) else minus(f"{100.0 * share:.1f}%")


def minus(text: str) -> str:
    """With a minus sign in place of the hyphen."""
    return text.replace("-", "−")


def metric_value(name: str, value: float | None) -> str:
    """A metric to three decimals, so that columns line up; to three digits if it has a unit.

    Example:
      >>> metric_value("nll", 0.12345), metric_value("err", 0.0312), metric_value("rmse", 53.21)
      ('0.123', '3.1%', '53.2')
    """
    if value is None or not math.isfinite(value):
        return number(value)
    if name in _IN_UNITS:
        return number(value)
    return percent(value) if name in SHARES else minus(f"{value:.3f}")


def with_spread(name: str, mean: float, sd: float | None) -> str:
    """A metric with its standard deviation to the same decimals, where there is one.

    Example:
      >>> with_spread("rmse", 53.21, 1.234), with_spread("err", 0.03, 0.001)
      ('53.2 ± 1.2', '3.0% ± 0.1%')
    """
    text = metric_value(name, mean)
    if sd is None or "×" in text or not math.isfinite(sd):
        return text if sd is None else f"{text} ± {number(sd)}"
    decimals = len(text.rstrip("%").partition(".")[2])
    spread = f"{100.0 * sd:.{decimals}f}%" if text.endswith("%") else f"{sd:,.{decimals}f}"
    return f"{text} ± {spread}"


def metric_title(name: str) -> str:
    """For tables and axes.

    Example:
      >>> metric_title("nll"), metric_title("rmse"), metric_title("tnr95_inside")
      ('NLL', 'RMSE', 'TNR95 (inside)')
    """
    for known in (METRICS, REGRESSION_METRICS):
        if name in known:
            return known[name].title
    word, _, side = plain(name, 40).partition("_")
    return f"{word.upper()} ({side.replace('_', ' ')})" if side else word.upper()


def count(many: int, what: str) -> str:
    """So many of something.

    Example:
      >>> count(1, "draw"), count(1200, "draw")
      ('1 draw', '1,200 draws')
    """
    return f"{many:,} {what}" + ("" if many == 1 else "s")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    Example:
      >>> listed(["a", "b", "c"])
      'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def duration(seconds: float) -> str:
    """A length of time, roughly.

    Example:
      >>> duration(0.2), duration(75), duration(7200)
      ('under two seconds', '75 seconds', '2.0 hours')
    """
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.{0 if unit == 'minutes' else 1}f} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 1.5 else "under two seconds"
