"""The commands `pxsgmcmc config check` and `config show`, and the configurations in the package."""

from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import tyro

from pxsgmcmc.cli.saying import say
from pxsgmcmc.cli.startup_checks import check_devices
from pxsgmcmc.config import Config, parse_config, read_config, write_config
from pxsgmcmc.errors import UserError, did_you_mean


def bundled() -> dict[str, str]:
    """Name -> text of the configurations that come with the package."""
    texts = {}
    with as_file(files("pxsgmcmc") / "configs") as folder:
        for path in sorted(folder.rglob("*.toml")):
            texts[path.relative_to(folder).with_suffix("").as_posix()] = path.read_text("utf-8")
    return texts


def load_config(name: str, settings: list[str] | None = None) -> Config:
    """The configuration in a file, or the bundled one of that name, with settings over it."""
    if Path(name).exists() or name.endswith(".toml"):
        return read_config(name, settings)
    texts = bundled()
    if name not in texts:
        raise UserError(
            f"There is no configuration file {name!r}, nor a bundled one of that name: "
            f"{', '.join(texts)}."
        )
    return parse_config(texts[name], settings, name=name)


def check(
    file: Annotated[str, tyro.conf.arg(metavar="FILE")],
    defaults: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    settings: Annotated[list[str], tyro.conf.Suppress] = [],  # noqa: B006 - never changed
) -> None:
    """Read a configuration and its data, say what is wrong, or print what is set and what it saw.

    pxsgmcmc config check my.toml
    pxsgmcmc config check my.toml --defaults
    pxsgmcmc config check my.toml --chain.draws 10

    Args:
      file: a TOML file, or the name of a bundled configuration.
      defaults: print every setting, also those that have their defaults.
      settings: flags over it.
    """
    config = load_config(file, settings)
    seen = _seen(config)  # before anything is printed: it may find something wrong
    say(write_config(config, defaults=defaults), end="")
    if not defaults:
        say("# all other settings have their defaults, which --defaults prints too")
    for line in seen.splitlines():
        say(f"# {line}")


def _seen(config: Config) -> str:
    """What the data or the problem are, once all parts were built from them."""
    from pxsgmcmc.config.build import build
    from pxsgmcmc.config.problem import load_data

    check_devices()
    built = build(config)
    built.sampler(1.0)
    return repr(built.problem) if config.problem is not None else load_data(config).summary()


def show(
    name: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")] = None,
) -> None:
    """Print a bundled configuration with its comments; without a name, list them.

    pxsgmcmc config show
    pxsgmcmc config show digits/px_sghmc > my.toml

    Args:
      name: of the configuration.
    """
    texts = bundled()
    if name is None:
        for known, text in texts.items():
            say(f"{known:24}{text.splitlines()[0].lstrip('# ')}")
    elif name not in texts:
        raise UserError(f"No bundled configuration is called {name!r}; {did_you_mean(name, texts)}")
    else:
        say(texts[name], end="")
