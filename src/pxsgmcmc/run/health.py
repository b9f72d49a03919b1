"""The verdict on a run, from evidence that costs nothing: its index, and what was diagnosed."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pxsgmcmc.diagnostics._r_hat import r_hat
from pxsgmcmc.diagnostics.temperature import sghmc_factors
from pxsgmcmc.health import Evidence, Heat, another, fewest_draws, judge
from pxsgmcmc.results import Diagnostics, Verdict
from pxsgmcmc.run.artifacts import DIAGNOSTICS
from pxsgmcmc.run.findings import with_findings
from pxsgmcmc.run.kept_results import kept_with


def verdict_on(run: Any) -> Verdict:
    """A verdict from temperatures, energies, the manifest, and what `diagnose` kept of these draws.

    So all who ask about the same draws hear the same.
    """
    evidence, diagnosis = evidence_on(run), kept_with(run, DIAGNOSTICS, Diagnostics)
    return judge(evidence if diagnosis is None else with_findings(evidence, diagnosis))


def evidence_on(run: Any) -> Evidence:
    """What the index and the manifest say, for `judge`."""
    progress = [record.manifest["progress"] for record in run.records]
    setbacks = max((p.get("retried", []) for p in progress), key=len)
    energies = run.energies
    draws = energies.shape[1]
    settled = draws >= fewest_draws(run.chains) and bool(np.isfinite(energies).all())
    ends = None
    if settled:
        third = max(1, draws // 3)
        ends = (float(energies[:, :third].mean()), float(energies[:, -third:].mean()))
    found = _found(run.origin)
    return Evidence(
        status=run.status,
        divergence=next((p["divergence"] for p in progress if "divergence" in p), ""),
        setbacks=len(setbacks),
        changes=tuple(dict.fromkeys(c for p in progress for c in _accepted(p))),
        step_size_factor=setbacks[-1]["step_size_factor"] if setbacks else 1.0,
        chains=run.chains,
        draws=draws,
        kinetic=last_cycle_temperatures(run),
        energy_r_hat=float(r_hat(energies)) if settled else None,
        energy_ends=ends,
        found_settings=found is not None,
        cut_short=found is not None and found.get("cut_short") is True,
    )


def _found(origin: dict[str, Any]) -> dict[str, Any] | None:
    """What a manifest says of settings that chains found themselves; None of any others."""
    for made_by in ("fit", "estimator"):
        if isinstance(facts := origin.get(made_by), dict):
            return facts
    return None


def _accepted(progress: dict[str, Any]) -> Iterator[str]:
    """What was changed while the run went on, and accepted."""
    for entry in progress.get("changes", []):
        for change in entry["changes"]:
            yield f"{another(change['what'])} after {entry['after_draws']} draws"


def last_cycle_temperatures(run: Any) -> dict[str, Heat]:
    """Kinetic temperature by group, averaged over the last cycle of every chain."""
    origin = run.origin
    facts, sizes = origin.get("sampler", {}), origin.get("group_sizes", {})
    T = facts.get("temperature", 0.0)
    last = [run.index(chain)[-1].facts for chain in range(run.chains) if run.index(chain)]
    if not T or not facts.get("thermal_momentum") or not last:
        return {}
    steps = origin.get("collection", {}).get("cycle_length", 1)
    by_group = {}
    for group in last[0].get("temperature", {}):
        noise = facts.get("noise", {}).get(group)
        if not noise:  # a group without noise has no temperature; of a mixed one it is not known
            continue
        friction = facts.get("friction", {}).get(group) or 0.0
        h = float(np.mean([one.get("mean_step_size", 0.0) for one in last]))
        factor = 1.0
        if facts.get("name") == "SGHMC" and h * friction < 1.0:
            factor = sghmc_factors(h, friction)[0]
        expected = T * noise**2 * factor
        if not expected > 0.0:  # too small to be a number, or of a friction that no chain has
            continue
        # Momentum forgets itself in about 1 / (h friction) steps, twice as fast when squared.
        independent = max(1.0, steps * min(1.0, h * friction)) * len(last)
        by_group[group] = Heat(
            value=float(np.mean([one.get("temperature", {}).get(group, np.nan) for one in last])),
            expected=expected,
            chance=3.0 * float(np.sqrt(2.0 / (max(1, sizes.get(group, 1)) * independent))),
        )
    return by_group
