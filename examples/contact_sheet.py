"""Draw all 19 corruptions at all 5 severities on one picture.

    python examples/contact_sheet.py docs/corruptions.png              # a cat, 32 x 32
    python examples/contact_sheet.py digits.png --data digits --row 3  # an 8 x 8 digit
    python examples/contact_sheet.py large.png --side 96               # the cat, larger

Needs the extra `data`. The cat is scikit-image's photograph of Chelsea.
"""

import argparse

import numpy as np
from PIL import Image, ImageDraw

from pxsgmcmc.data._embedded import load_embedded
from pxsgmcmc.data.corruptions import CORRUPTIONS, SEVERITIES, corrupt

THUMB, GAP, LABEL = 96, 4, 14  # pixels


def cat(side: int) -> np.ndarray:
    """Chelsea's face as (1, side, side, 3) uint8."""
    from skimage import data

    face = Image.fromarray(data.chelsea()).crop((70, 0, 370, 300))
    return np.asarray(face.resize((side, side), Image.Resampling.BOX))[None]


def contact_sheet(image: np.ndarray, *, seed: int = 0) -> Image.Image:
    """Two columns of strips; a strip is the original and severities 1 to 5, left to right."""
    strip_width, strip_height = 6 * (THUMB + GAP) + 4 * GAP, THUMB + GAP + LABEL
    rows = (len(CORRUPTIONS) + 1) // 2
    sheet = Image.new("RGB", (2 * strip_width, rows * strip_height), "white")
    pen = ImageDraw.Draw(sheet)
    for index, name in enumerate(CORRUPTIONS):
        left, top = divmod(index, rows)
        left, top = left * strip_width, top * strip_height
        pen.text((left + GAP, top + 1), name.replace("_", " "), fill="black")
        pictures = [image] + [corrupt(image, name, s, seed=seed) for s in SEVERITIES]
        for column, picture in enumerate(pictures):
            thumb = Image.fromarray(picture[0] if picture.shape[-1] == 3 else picture[0, ..., 0])
            thumb = thumb.resize((THUMB, THUMB), Image.Resampling.NEAREST)
            sheet.paste(thumb, (left + GAP + column * (THUMB + GAP), top + LABEL))
    return sheet


def main() -> None:
    """Parse, draw, write."""
    parser = argparse.ArgumentParser(description="Draw all corruptions at all severities.")
    parser.add_argument("out")
    parser.add_argument("--data", help="an embedded image set, instead of the cat")
    parser.add_argument("--row", type=int, default=0, help="which image of its test split")
    parser.add_argument("--side", type=int, default=32, help="size of the cat in pixels")
    arguments = parser.parse_args()
    if arguments.data is None:
        image = cat(arguments.side)
    else:
        image = load_embedded(arguments.data).splits["test"].x[[arguments.row]]
    contact_sheet(image).save(arguments.out, optimize=True)


if __name__ == "__main__":
    main()
