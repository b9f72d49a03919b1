"""The shapes written on public functions of metrics and diagnostics are true.

The annotations name types of jaxtyping, which users do not need: they are never evaluated when the
package runs. Here they are, and each call below is checked against them, arguments and results.
"""

import functools
import importlib
import inspect
import typing

import jaxtyping
import numpy as np
import pytest
import typeguard
import xarray

from pxsgmcmc import diagnostics as diag
from pxsgmcmc import metrics

WORDS = {name: getattr(jaxtyping, name) for name in ("Bool", "Float", "Integer", "Real")}
WORDS["DataTree"] = xarray.DataTree


def hints(annotated):
    scope = vars(importlib.import_module(annotated.__module__))
    return typing.get_type_hints(annotated, globalns={**scope, **WORDS})


def check(value, hint):
    """Compare a value with its annotation, field by field for a NamedTuple."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        for field, kind in hints(type(value)).items():
            check(getattr(value, field), kind)
    elif typing.get_origin(hint) is dict:
        for item in value.values():
            check(item, typing.get_args(hint)[1])
    else:
        typeguard.check_type(value, hint)


def checked(function):
    """The function with its annotations enforced; a name of an axis is one size in a call."""
    kinds, signature = hints(function), inspect.signature(function)

    @jaxtyping.jaxtyped(typechecker=None)
    @functools.wraps(function)
    def call(*args, **kwargs):
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name in kinds:
                check(value, kinds[name])
        result = function(*args, **kwargs)
        check(result, kinds["return"])
        return result

    return call


rng = np.random.default_rng(0)
LOGITS, LABELS = rng.normal(size=(4, 6, 3)), rng.integers(0, 3, 6)
P = np.exp(metrics.log_softmax(LOGITS))
ROWS = rng.normal(size=(3, 5))
PLANE = diag.plane(*ROWS)
CHAINS = rng.normal(size=(2, 9))
CHAIN_P = np.tile(rng.dirichlet(np.ones(3), size=(1, 9, 6)), (2, 1, 1, 1))
KERNEL = rng.normal(size=(3, 3, 2, 4))
MIXTURE, OBSERVED = metrics.NormalMixture(rng.normal(size=(4, 6, 2)), 1.0), rng.normal(size=(6, 2))

GOOD_CALLS = {
    metrics.agreement: (P[0], P[1]),
    metrics.total_variation: (P[0], P[1]),
    metrics.auroc: (ROWS[0], CHAINS[0]),
    metrics.average_precision: (ROWS[0], CHAINS[0]),
    metrics.detection: (ROWS[0], CHAINS[0]),
    metrics.roc: (ROWS[0], CHAINS[0], "outside"),
    metrics.tnr_at_tpr: (ROWS[0], CHAINS[0], 0.9),
    metrics.log_mean_probabilities: (LOGITS,),
    metrics.log_softmax: (LOGITS,),
    metrics.logsumexp: (LOGITS,),
    metrics.measure: (LOGITS, LABELS, ["nll"]),
    metrics.metric: ("nll",),
    metrics.most_probable: (P,),
    metrics.reliability: (P[0].max(axis=1), LABELS == 0, 10),
    metrics.risk_coverage: (LABELS, ROWS.ravel()[:6]),
    metrics.uncertainty: (LOGITS,),
    metrics.band_figures: (MIXTURE, np.arange(6.0), np.arange(6.0), OBSERVED),
    metrics.coverage_curve: (rng.uniform(size=(6, 2)),),
    metrics.error_against_spread: (MIXTURE, OBSERVED, 2),
    metrics.measure_regression: (MIXTURE, OBSERVED, ["crps"]),
    metrics.pit: (MIXTURE, OBSERVED),
    metrics.regression_figures: (MIXTURE, OBSERVED),
    metrics.regression_metric: ("crps",),
    diag.barrier: (diag.Segment(np.arange(3.0), np.arange(3.0)),),
    diag.connect: (np.sum, ROWS[0], ROWS[1]),
    diag.plane: tuple(ROWS),
    diag.plane_axes: (PLANE,),
    diag.plane_grid: (PLANE, np.arange(3.0), np.arange(2.0)),
    diag.survey: (np.sum, PLANE, np.arange(3.0), np.arange(2.0)),
    diag.condition_number: (np.arange(1.0, 3.0),),
    diag.conv_singular_values: (KERNEL, 4),
    diag.matrix_singular_values: (ROWS,),
    diag.track_spectra: ([{"a": ROWS}], lambda name, k: diag.matrix_singular_values(k)),
    diag.distances: (ROWS,),
    diag.convergence: (CHAINS,),
    diag.function_space_convergence: (CHAIN_P,),
    diag.summarise: (diag.Convergence(ROWS, ROWS, ROWS),),
    diag.to_datatree: ({"a": CHAINS},),
    diag.kinetic_temperature: (ROWS,),
    diag.configurational_temperature: (ROWS, ROWS),
    diag.sghmc_factors: (0.1, 1.0),
    diag.temperature_over_draws: (CHAINS[0].repeat(3),),
}


@pytest.mark.parametrize("function", GOOD_CALLS, ids=lambda f: f.__name__)
def test_shapes_and_types_are_as_annotated(function):
    checked(function)(*GOOD_CALLS[function])


def test_every_public_function_is_checked():
    public = [getattr(room, name) for room in (metrics, diag) for name in room.__all__]
    # No arrays in, none out; or any array in.
    names = {metrics.title_of, metrics.lower_is_better}
    names |= {diag.learning_coefficient, diag.reduced_rank_coefficient}
    assert {f for f in public if inspect.isfunction(f)} - names == set(GOOD_CALLS)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (metrics.measure, (LOGITS, LABELS[:-1], ["nll"])),  # axes of one name differ
        (metrics.measure, (LOGITS, LABELS.astype(float), ["nll"])),  # the wrong kind of number
        (metrics.uncertainty, (LOGITS[0],)),  # an axis is missing
        (diag.function_space_convergence, (CHAINS,)),
    ],
)
def test_the_check_itself_can_fail(function, args):
    with pytest.raises(typeguard.TypeCheckError):
        checked(function)(*args)


def test_a_result_of_the_wrong_shape_is_noticed():
    def wrong(logits):
        return metrics.Uncertainty(logits[0, :-1, 0], logits[0, :, 0], logits[0, :, 0])

    wrong.__annotations__ = {"logits": "Real[np.ndarray, 'draws data classes']", "return": "tuple"}
    with pytest.raises(typeguard.TypeCheckError):
        checked(wrong)(LOGITS)
