"""Open the run that a command was given."""

from typing import TYPE_CHECKING, Annotated

import tyro

from pxsgmcmc.cli.saying import say

if TYPE_CHECKING:
    from pxsgmcmc.run import Run

Directory = Annotated[str, tyro.conf.arg(metavar="DIR")]
Folder = Annotated[str | None, tyro.conf.arg(metavar="DIR")]
WholeNumber = Annotated[int | None, tyro.conf.arg(metavar="N")]
ProblemName = Annotated[str | None, tyro.conf.arg(metavar="MODULE:FUNCTION")]


def run_at(
    directory: str,
    problem: str | None = None,
    skip: int = 0,
    settings: list[str] | None = None,
    data: bool = True,
) -> "Run":
    """The run, without the first `skip` draws of each chain.

    Args:
      directory: of the run.
      problem: for a run that was made from Python: "my_module:make_problem", a function in the
        current folder that returns its `px.Problem`.
      skip: draws to leave out at the start of each chain.
      settings: flags over the [evaluate] section of the run's configuration.
      data: whether to read the data of the run; predictions need none.
    """
    from pxsgmcmc.cli.startup_checks import check_devices
    from pxsgmcmc.config.opening import open_any
    from pxsgmcmc.config.own_problem import own_problem
    from pxsgmcmc.errors import UserError, check_count, printable
    from pxsgmcmc.store.chains import is_several, read_chains

    check_count("skip", skip)
    check_devices()
    given = None if problem is None else own_problem(problem, None)
    run = open_any(directory, given, settings=settings, data=data)
    if data and given is None and run.origin.get("estimator") is not None:
        raise UserError(
            f"`{printable(directory)}` was made by a scikit-learn estimator, whose rows are not "
            "kept with it: it can predict, and for all else give its `px.Problem` with --problem "
            "my_module:make_problem."
        )
    if not len(run):
        raise UserError(
            f"`{directory}` has no draws yet: go on with `pxsgmcmc resume {directory}`."
        )
    if is_several(directory) and (late := read_chains(directory).chains - run.chains):
        chains = f"{late} of {late + run.chains} chains"
        say(f"{chains} in {printable(directory)} have not begun", to_errors=True)
    return run.skip(skip) if skip else run
