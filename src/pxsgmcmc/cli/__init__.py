"""The command line: parses, calls one function, prints. Rooms are imported when a command runs."""

import contextlib
import functools
import importlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, get_type_hints

from pxsgmcmc.cli.saying import say
from pxsgmcmc.cli.startup_checks import check_address_space, open_closed_descriptors
from pxsgmcmc.errors import (
    CorruptRun,
    Diverged,
    Locked,
    UserError,
    did_you_mean,
    nearest,
    one_line,
    printable,
)
from pxsgmcmc.memory import start_with_large_pages


class Command(NamedTuple):
    """Where a command lives and what it does."""

    home: str  # module:function
    about: str
    takes_settings: bool = False  # unknown flags are settings of the configuration


COMMANDS = {
    "demo": Command("demo:demo", "see it work: two methods on digits, in minutes", True),
    "pilot": Command("pilot:pilot_config", "what step size and friction will do, measured", True),
    "tune": Command("tune:tune_config", "step size, friction and prior, searched", True),
    "run": Command("run:run", "run a configuration: sample, keep draws, survive", True),
    "resume": Command("run:resume", "go on with a run that was stopped"),
    "show": Command("show:show", "what a run is, how far, and whether it is well"),
    "watch": Command("watch:watch", "follow a run from another terminal"),
    "jobs": Command("jobs:jobs", "every chain under a folder: where it runs, how long yet"),
    "list": Command("listing:list_runs", "the runs under a folder"),
    "verify": Command("show:verify", "check every file of a run against its hash"),
    "push": Command("moving:push", "send a run to a store, such as S3, and check it there"),
    "pull": Command("moving:pull", "fetch a run from there"),
    "predict": Command("predict:predict_file", "probabilities and uncertainty for new inputs"),
    "evaluate": Command("evaluate:evaluate_run", "how good its predictions are, and where", True),
    "diagnose": Command("diagnose:diagnose_run", "does it move, has it settled, is it warm enough"),
    "compare": Command("compare:compare_runs", "evaluated runs side by side, over seeds"),
    "report": Command("report:report", "an HTML page on a run, or on several side by side"),
    "export": Command("export:export", "what it predicts as one file, for JAX alone or ONNX"),
    "reproduce": Command("reproduce:reproduce", "a table or figure of the paper, and its values"),
    "reproduce list": Command("reproduce:list_experiments", "what there is to reproduce"),
    "reproduce claims": Command("reproduce:claims", "the paper's claims, with verdicts"),
    "reproduce search": Command("reproduce_search:search", "settings of all methods, equal effort"),
    "reproduce first-updates": Command(
        "first_updates:first_updates", "the first steps at the paper's size, in numbers"
    ),
    "meta-train": Command("meta_train:meta_train_l2e", "learn the network of the sampler L2E"),
    "config check": Command("configs:check", "read a configuration and say what is wrong", True),
    "config show": Command("configs:show", "print a bundled configuration, or list them"),
    "data list": Command("data:list_sets", "the data sets that are known"),
    "data get": Command("data:get", "download an official data set"),
    "data check": Command("data:check", "check a data set against its hashes"),
    "data corrupt": Command("corrupt:corrupt_set", "write the 19 corruptions of an image set"),
}
COMPILING = {  # with JAX
    *("demo", "pilot", "tune", "run", "resume"),
    *("predict", "evaluate", "diagnose", "export", "meta-train"),
}
HELP = {"-h", "--help"}


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code. 0 done, 2 input, 3 diverged, 4 damaged, 5 locked.

    6 is said by a process whose companions are gone.
    """
    arguments = sys.argv[1:] if argv is None else argv
    return guarded(lambda: _dispatch(arguments))


def guarded(command: Callable[[], int]) -> int:
    """The exit code of a command, with errors that are the user's said in one line."""
    try:
        return command()
    except Locked as error:
        return _fail(error, 5)
    except UserError as error:
        return _fail(error, 2)
    except Diverged as error:
        return _fail(error, 3)
    except CorruptRun as error:
        return _fail(error, 4)
    except MemoryError:
        return _fail("There is not enough memory: free some, or raise `ulimit -v`.", 2)
    except KeyboardInterrupt:
        return _fail("Interrupted.", 130)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def entry() -> None:
    """What the `pxsgmcmc` script calls."""
    open_closed_descriptors()
    if COMPILING & set(sys.argv[1:2]) and not HELP & set(sys.argv):
        start_with_large_pages()
    sys.exit(main())


def _fail(error: Any, code: int) -> int:
    say(f"pxsgmcmc: {printable(error, 2000)}", to_errors=True)
    return code


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in HELP | {"help"}:
        say(_overview())
        return 0
    if arguments[0] == "--version":
        from pxsgmcmc import __version__

        say(f"pxsgmcmc {__version__}")
        return 0
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if name in COMMANDS and len(arguments) >= words:
            return _call(name, arguments[words:])
    group = [name for name in COMMANDS if name.split()[0] == arguments[0]]
    if group:
        known = ", ".join(name.split()[1] for name in group)
        raise UserError(f"`pxsgmcmc {arguments[0]}` needs one of: {known}.")
    hint = did_you_mean(arguments[0], COMMANDS)
    raise UserError(f"There is no command {one_line(arguments[0])}; {hint}")


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  pxsgmcmc {name.ljust(width)}  {COMMANDS[name].about}" for name in COMMANDS]
    return "\n".join(
        [
            "Sample the posterior of neural networks with parameter-expanded SG-MCMC.",
            "",
            *lines,
            "",
            "Each command explains itself: pxsgmcmc run --help",
            "Commands that compute start themselves again with large pages of memory on Linux,",
            "which makes steps faster; PXSGMCMC_LARGE_PAGES=0 keeps them from it.",
            "Exit codes: 0 done, 2 something in the input, 3 the chain diverged, 4 a damaged run,",
            "            5 another process writes to the run, 6 one of several processes is gone,",
            "            128 + n stopped by signal n (what was sampled is kept; resume goes on).",
        ]
    )


def _call(name: str, arguments: list[str]) -> int:
    import tyro

    command = COMMANDS[name]
    module, _, function = command.home.partition(":")
    call = getattr(importlib.import_module(f"pxsgmcmc.cli.{module}"), function)
    asked_for_help = HELP & set(arguments)
    messages = io.StringIO()
    parsed: list[Any] = []

    # tyro reads the flags and calls this stand-in, so that errors of the command itself are not
    # taken for errors of its flags.
    def note(*args: Any, **settings: Any) -> None:
        parsed.append((args, settings))

    note.__doc__, note.__annotations__ = call.__doc__, _annotations(call)
    note.__signature__ = inspect.signature(call)  # pyright: ignore[reportFunctionMemberAccess]
    rest, problem = list[str](), ""
    parse = functools.partial(
        tyro.cli,
        note,
        prog=f"pxsgmcmc {name}",
        description=_description(call),
        args=arguments,
        config=(tyro.conf.PositionalRequiredArgs,),
    )
    with contextlib.nullcontext() if asked_for_help else contextlib.redirect_stderr(messages):
        try:
            if command.takes_settings:
                _, rest = parse(return_unknown_args=True)
            else:
                parse()
        except SystemExit as stop:
            if not stop.code:
                return 0
            problem = _with_suggestion(_one_line(messages.getvalue()), call)
    if not parsed:
        raise UserError(f"{problem} See `pxsgmcmc {name} --help`.")
    args, settings = parsed[0]
    if command.takes_settings:
        from pxsgmcmc.cli.flags import check_flags

        check_flags(name, call, rest)
        settings["settings"] = rest
    if name in COMPILING:
        check_address_space()
        from pxsgmcmc.cli.compiled import remember_compilations

        remember_compilations()
    return call(*args, **settings) or 0


def _with_suggestion(problem: str, call: Callable[..., Any]) -> str:
    """The flag of this command that is spelt most like one that it does not have."""
    unknown = re.match(r"Unrecognized options?: (--[\w-]+)", problem)
    if not unknown:
        return problem
    own = [f"--{name.replace('_', '-')}" for name in inspect.signature(call).parameters]
    near = nearest(unknown[1], own)
    return f"There is no flag {unknown[1]!r}" + (f"; did you mean `{near[0]}`?" if near else ".")


def _annotations(call: Callable[..., Any]) -> dict[str, Any]:
    """Types of its arguments, with a word to tyro: None and False are no defaults to be shown."""
    import tyro

    def hint(default: str) -> str:
        return "" if default in ("None", "False", "") else f"(default: {default})"

    quiet = tyro.conf.arg(help_behavior_hint=hint)
    hints = get_type_hints(call, include_extras=True)
    return {name: Annotated[kind, quiet] for name, kind in hints.items()}


def _description(call: Callable[..., Any]) -> str:
    """A command's docstring up to its arguments, with its example lines set off."""
    text = (inspect.getdoc(call) or "").partition("\nArgs:")[0].strip()
    return re.sub(r"^(?=pxsgmcmc )", "  ", text, flags=re.MULTILINE)


def _one_line(box: str) -> str:
    """What stands in tyro's box, up to its first rule, in words that people use."""
    kept: list[str] = []
    for line in box.splitlines()[1:]:  # drawn in ASCII where the terminal has no other characters
        words = re.sub(r"^[│|]|[│|]$", "", line).strip()
        if re.fullmatch(r"[─+╰╯-]{2,}", words) and kept:
            break
        if not re.fullmatch(r"[─+╰╯-]*", words):
            kept.append(words)
    text = " ".join(" ".join(kept).split()).removesuffix(" (required)").rstrip(".") + "."
    if number := re.match(
        r"Error parsing (\S+): .*(invalid literal for int|to float).*: ('.*')", text
    ):
        kind = "number" if number[2] == "to float" else "whole number"
        return f"`{number[1]}` must be a {kind}, got {number[3]}."
    return re.sub("'None', |, 'None'", "", text)
