"""The [evaluate] section of a configuration as options of `evaluate`."""

from pxsgmcmc.config.opening import config_of
from pxsgmcmc.config.schema import Evaluate
from pxsgmcmc.config.toml import parse_evaluate, started_from_python
from pxsgmcmc.evaluate.options import EvaluateOptions
from pxsgmcmc.run import Run


def options_of(run: Run, settings: list[str] | None = None) -> EvaluateOptions:
    """What a run's configuration asks to be measured, with flags over it."""
    record = run.records[0]
    root = None
    if started_from_python(record.config):
        section = parse_evaluate(settings or [])
    else:
        config = config_of(record, settings)
        section, root = config.evaluate, None if config.data is None else config.data.root
    return as_options(section, root)


def as_options(section: Evaluate, root: str | None = None) -> EvaluateOptions:
    """The part of [evaluate] that is not names of sets."""
    return EvaluateOptions(
        corruptions=section.corruptions,
        corrupted_rows=section.corrupted_rows,
        train_rows=section.train_rows,
        subset=section.subset,
        subsets=section.subsets,
        seed=section.seed,
        batch_size=section.batch_size,
        root=section.root if section.root is not None else root,
    )
