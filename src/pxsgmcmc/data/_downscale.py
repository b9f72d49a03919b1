"""Images made smaller, in every split of a data set."""

import dataclasses

from pxsgmcmc.data._assemble import area_mean
from pxsgmcmc.data._fingerprint import fingerprint
from pxsgmcmc.data.dataset import Dataset, Split
from pxsgmcmc.errors import UserError


def downscale(dataset: Dataset, factor: int) -> Dataset:
    """The same set with images shrunk by means over squares of `factor` x `factor` pixels.

    Args:
      dataset: of uint8 images (rows, height, width, channels).
      factor: a divisor of height and width; 1 leaves everything as it is.
    """
    if factor == 1:
        return dataset
    splits = {name: Split(_shrunk(dataset, s.x, factor), s.y) for name, s in dataset.splits.items()}
    return dataclasses.replace(dataset, splits=splits, sha256=fingerprint(splits))


def _shrunk(dataset: Dataset, x, factor: int):
    if x.ndim != 4 or x.dtype.name != "uint8":
        raise UserError(f"`downscale` needs images, and {dataset.name!r} has none.")
    height, width = x.shape[1:3]
    if height % factor or width % factor:
        raise UserError(
            f"`downscale` must divide the height and width of the images of {dataset.name!r}, "
            f"{height} x {width}, got {factor}."
        )
    return area_mean(x, factor)
