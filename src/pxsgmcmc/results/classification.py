"""How probabilities of classes did on labelled rows: curves, corruptions, other kinds of data."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

from pxsgmcmc.results.part import Part


class ReliabilityResult(Part):
    """Confidence and accuracy by bin; empty bins have count 0 and null."""

    edges: list[float]
    count: list[int]
    confidence: list[float | None]
    accuracy: list[float | None]


class RiskCoverageResult(Part):
    """Error among the most certain share of the data, thinned to at most 200 points."""

    coverage: list[float]
    risk: list[float]
    area: float


class Detection(Part):
    """How well entropy tells one out-of-distribution set from the test set."""

    rows_inside: int
    rows_outside: int
    metrics: dict[str, float]  # as `pxsgmcmc.metrics.detection` names them, averaged over subsets
    spread: dict[str, float]  # standard deviation of each over the seeded subsets; 0 with only one
    subsets: int
    edges: list[float]  # of the histograms of entropy, in nats
    inside: list[int]
    outside: list[int]
    false_alarms: list[float]  # the ROC curve, at most 200 points
    detections: list[float]


class Picture(Part):
    """One test image with what was predicted for it."""

    row: int
    label: int
    probabilities: list[float]
    entropy: float
    epistemic: float
    pixels: bytes  # uint8, in C order of `Gallery.shape`; base64 in JSON

    def __repr__(self) -> str:
        """One line, without the pixels."""
        likely = max(range(len(self.probabilities)), key=self.probabilities.__getitem__, default=0)
        return (
            f"Picture(row={self.row}, label={self.label}, predicted={likely}, "
            f"entropy={self.entropy:.3g}, epistemic={self.epistemic:.3g})"
        )


class Gallery(Part):
    """The test images the draws are most and least certain of."""

    shape: tuple[int, int, int]  # height, width, channels
    classes: list[str]
    most_certain: list[Picture]
    least_certain: list[Picture]
