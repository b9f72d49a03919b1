"""What a chain did since its last draw, or its last line in the log: means over steps."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Averages:
    """Sums over steps, and what the last step said."""

    steps: int = 0
    energy: float = 0.0
    last_energy: float = 0.0
    step_size: float = 0.0
    last_step_size: float = 0.0
    acceptance: float = 0.0
    tests: float = 0.0
    temperature: dict[str, float] = field(default_factory=dict)
    norm: dict[str, float] = field(default_factory=dict)

    def add(self, count: int, sums: Any, norms: dict[str, Any]) -> None:
        """So many steps more, with what `Advance` says of them."""
        self.steps += count
        self.energy += float(sums.energy)
        self.step_size += float(sums.step_size)
        self.acceptance += float(sums.acceptance)
        self.tests += float(sums.tests)
        self.last_energy = float(sums.last_energy)
        self.last_step_size = float(sums.last_step_size)
        for group, total in sums.temperature.items():
            self.temperature[group] = self.temperature.get(group, 0.0) + float(total)
        self.norm = {name: float(norm) for name, norm in norms.items()}

    def memory(self) -> dict[str, Any]:
        """What must be saved to go on."""
        return asdict(self)

    def _means(self) -> dict[str, Any]:
        return {
            "temperature": {group: total / self.steps for group, total in self.temperature.items()},
            "acceptance": self.acceptance / self.tests if self.tests else None,
            "mean_step_size": self.step_size / self.steps,
        }

    def draw_facts(self) -> dict[str, Any]:
        """What the index keeps of a draw besides its energy."""
        return {"mean_energy": self.energy / self.steps, **self._means()}

    def log_facts(self) -> dict[str, Any]:
        """What a line of the log says."""
        return {
            "energy": self.energy / self.steps,
            "step_size": self.last_step_size,
            **self._means(),
            "norm": self.norm,
        }
