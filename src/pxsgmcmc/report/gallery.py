"""The pictures of a report: test images with the probabilities that were predicted for them."""

import base64
import io
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from PIL import Image

from pxsgmcmc.report.formatting import number, percent, plain
from pxsgmcmc.results import Gallery, Picture

_SHOWN_CLASSES = 3


class ProbabilityBar(NamedTuple):
    """A class and its probability."""

    name: str
    percent: str
    width: str  # of the bar, for CSS
    true: bool


class Shot(NamedTuple):
    """One image with its bars."""

    source: str  # a data URI
    alt: str
    truth: str
    right: bool
    entropy: str
    bars: list[ProbabilityBar]


class Wall(NamedTuple):
    """Images under one heading."""

    title: str
    shots: list[Shot]


def walls(gallery: Gallery | None) -> Iterator[Wall]:
    """The most and the least certain images, those that there are."""
    if gallery:
        for title, pictures in (
            ("Least certain", gallery.least_certain),
            ("Most certain", gallery.most_certain),
        ):
            shots = [_shot(gallery, picture) for picture in pictures]
            if shots:
                yield Wall(title, shots)


def _shot(gallery: Gallery, picture: Picture) -> Shot:
    def name(k: int) -> str:
        return plain(gallery.classes[k], 40) if k < len(gallery.classes) else f"class {k}"

    order = sorted(range(len(picture.probabilities)), key=lambda k: -picture.probabilities[k])
    shown = order[:_SHOWN_CLASSES]
    bars = [
        ProbabilityBar(
            name(k),
            percent(picture.probabilities[k]),
            f"{min(100.0, 100.0 * picture.probabilities[k]):.1f}%",
            k == picture.label,
        )
        for k in shown
    ]
    truth = name(picture.label)
    predictions = ", ".join(f"{bar.name} {bar.percent}" for bar in bars)
    return Shot(
        source=png_uri(picture.pixels, gallery.shape),
        alt=f"Test image {picture.row}, which is {truth}; predicted {predictions}.",
        truth=truth,
        right=bool(order) and order[0] == picture.label,
        entropy=number(picture.entropy, 2),
        bars=bars,
    )


def png_uri(pixels: bytes, shape: tuple[int, int, int]) -> str:
    """Pixels as a data URI that a page can show without a request.

    Example:
      >>> png_uri(bytes([0, 255]), (1, 2, 1))[:22]
      'data:image/png;base64,'
    """
    image = np.frombuffer(pixels, np.uint8).reshape(shape)
    if shape[2] not in (1, 3):
        image = image[:, :, :1]  # other channels than colours are not for the eye
    written = io.BytesIO()
    Image.fromarray(image.squeeze(axis=2) if image.shape[2] == 1 else image).save(
        written, "PNG", optimize=True
    )
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode()
