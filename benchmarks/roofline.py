"""The least time that a step of R20 can take on a GPU, by its data sheet; nothing is measured.

python benchmarks/roofline.py
"""

BATCH, SIDE, FORWARD_AND_BACKWARD = 256, 32, 3
TERAFLOPS = {"float32": 19.5, "tensorfloat32": 156.0}  # of an A100, by NVIDIA's data sheet
TERABYTES = 1.555  # a second, of its memory of 40 GB
PASSES = 8  # over a layer's output: convolution, norm and swish write and read it, both ways


def layers() -> list[tuple[int, int, int]]:
    """(pixels, in, out) of the 3x3 convolutions of R20: three stages of three blocks of two."""
    found = [(SIDE * SIDE, 3, 16)]
    into = 16
    for stage, width in enumerate((16, 32, 64)):
        pixels = (SIDE >> stage) ** 2
        for _ in range(6):
            found.append((pixels, into, width))
            into = width
    return found


def main() -> None:
    """Print operations, bytes and the time that each takes at least."""
    products = sum(pixels * 9 * into * out for pixels, into, out in layers())
    numbers = sum(pixels * out for pixels, _, out in layers())
    flops = 2 * products * FORWARD_AND_BACKWARD * BATCH
    moved = 4 * numbers * PASSES * BATCH
    memory = moved / TERABYTES / 1e9
    print(f"{products / 1e6:.1f} million multiply-adds an image, forwards")
    print(f"{flops / 1e9:.0f} GFLOP and {moved / 1e9:.2f} GB a step")
    for name, speed in TERAFLOPS.items():
        arithmetic = flops / speed / 1e9
        limit = "arithmetic" if arithmetic > memory else "memory"
        print(
            f"{name}: arithmetic {arithmetic:.2f} ms, memory {memory:.2f} ms; at least "
            f"{max(arithmetic, memory):.2f} ms a step, by {limit}"
        )


if __name__ == "__main__":
    main()
