"""Results of runs that never were."""

from pxsgmcmc.results import Corruptions, Detection, Results, SplitResult, Subject


def result(
    method,
    seed,
    metrics,
    *,
    settings="s",
    data="digits",
    model="resnet_frn, depth 8, width 8",
    rows=100,
    steps=4000,
    train_sha256="",
    test_sha256="",
    sets_sha256=None,
    shifts=None,
    corruptions=None,
    ood=None,
):
    """Results of one run, with the same metrics on training and test rows."""
    subject = Subject(
        method=method,
        settings=settings,
        data=data,
        model=model,
        seed=seed,
        chains=1,
        draws=20,
        steps=steps,
        parameters=1000,
        sampled=1000,
        version="0.1.0",
        train_sha256=train_sha256,
        test_sha256=test_sha256,
        sets_sha256=sets_sha256 or {},
    )
    return Results(
        subject=subject,
        train=SplitResult(rows=1000, metrics=metrics),
        test=SplitResult(rows=rows, metrics=metrics),
        shifts={name: SplitResult(rows=50, metrics=m) for name, m in (shifts or {}).items()},
        corruptions=corruptions,
        out_of_distribution=ood or {},
    )


def detection(**metrics):
    """Out-of-distribution results with these metrics."""
    return Detection(
        rows_inside=10,
        rows_outside=10,
        metrics=metrics,
        spread=dict.fromkeys(metrics, 0.0),
        subsets=1,
        edges=[0.0, 1.0],
        inside=[10],
        outside=[10],
        false_alarms=[0.0, 1.0],
        detections=[0.0, 1.0],
    )


def corrupted(metrics):
    """One corruption at one severity, pooled with itself."""
    return Corruptions(
        names=["fog"],
        severities=[1],
        values={name: [[value]] for name, value in metrics.items()},
        pooled={"all": SplitResult(rows=100, metrics=metrics)},
    )
