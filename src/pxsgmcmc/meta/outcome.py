"""What a meta-training came to, in words and as a page."""

from pathlib import Path
from typing import Any

from pxsgmcmc.errors import UserError, printable_texts
from pxsgmcmc.meta import folder as kept
from pxsgmcmc.meta.held_out import mean_difference, mean_over_tasks
from pxsgmcmc.store import files
from pxsgmcmc.store.sealed import from_json
from pxsgmcmc.store.tensors import decode
from pxsgmcmc.tree import nested


def describe(out: str | Path) -> str:
    """A few lines on a meta-training, from its log."""
    folder = Path(out)
    lines = kept.read_log(folder)
    looks = [line for line in lines if "held_out" in line]
    before, after = looks[0]["held_out"], looks[-1]["held_out"]
    first, last = mean_over_tasks(before), mean_over_tasks(after)
    change = mean_difference(after, before)
    skipped = sum(line.get("skipped", 0) for line in lines)
    return (
        f"{looks[-1]['step']} outer steps; {skipped} pairs diverged and were left out. Meta-loss "
        f"on {last.tasks} held-out tasks: {first.value:.3f} ± {first.error:.3f} before, "
        f"{last.value:.3f} ± {last.error:.3f} after, change {change.value:.3f} ± "
        f"{change.error:.3f} (mean and standard error over tasks)."
    )


def write_page(out: str | Path) -> Path:
    """Write page.html from the log and the weights in a folder of a meta-training."""
    try:
        import jinja2
        from markupsafe import Markup

        from pxsgmcmc.meta.figures import meta_figures
        from pxsgmcmc.report import drawing
    except ModuleNotFoundError as error:
        raise UserError(
            f"The page needs {error.name}, which is not installed; run `pip install "
            "'pxsgmcmc[report]'` and give the same command again."
        ) from None
    folder = Path(out)
    log = [printable_texts(line) for line in kept.read_log(folder)]
    weights = nested(decode(files.read_file(folder / kept.WEIGHTS, at_most=1 << 20)))
    facts = from_json(files.read_file(folder / kept.SETTINGS, at_most=1 << 20))
    with drawing.style():
        figures = list(meta_figures(log, weights))
    here, report = Path(__file__).parent, Path(drawing.__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(here), autoescape=True, undefined=jinja2.StrictUndefined
    )
    text = environment.get_template("page.html").render(
        title="Meta-training of L2E",
        lead=describe(folder),
        rows=_rows(log),
        figures=figures,
        settings=printable_texts(_worded(facts.get("settings", {}))),
        css=Markup((report / "style.css").read_text("utf-8")),
        safe_svg=Markup,
    )
    target = folder / kept.PAGE
    files.write_file(target, text.encode())
    return target


def _rows(log: list[Any]) -> list[dict[str, str]]:
    looks = [line["held_out"] for line in log if "held_out" in line]

    def shown(look: dict[str, list[float]], task: str) -> str:
        mean = mean_over_tasks({task: look[task]})
        return f"{mean.value:.3f}" if mean.tasks else "diverged"

    return [
        {"task": task, "before": shown(looks[0], task), "after": shown(looks[-1], task)}
        for task in looks[0]
    ]


def _worded(settings: dict[str, Any]) -> dict[str, str]:
    def text(value: Any) -> str:
        return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

    return {name.replace("_", " "): text(value) for name, value in settings.items()}
