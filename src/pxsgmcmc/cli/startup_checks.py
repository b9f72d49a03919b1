"""What a process finds when it starts: open descriptors, room for JAX, how wide its numbers are."""

import os
import sys

from pxsgmcmc.errors import UserError

LEAST_ADDRESS_SPACE = 2_000_000_000  # bytes; with less, XLA ends the process while it starts


def open_closed_descriptors() -> None:
    """Put nothing in the place of standard input, output and errors where they are closed.

    Whatever is opened next would get their numbers: what a library prints to standard error would
    go into a file of the run.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one: those below are open by now.
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
    sys.stdin = sys.stdin or open(0, closefd=False)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)


def check_address_space() -> None:
    """Refuse to start JAX where it would be ended by the system instead of saying why."""
    try:
        import resource
    except ImportError:  # not on every system
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
        raise UserError(
            f"The address space must be at least {LEAST_ADDRESS_SPACE / 1e9:.0f} GB for JAX, got "
            f"{limit / 1e9:.2g} GB: raise it by `ulimit -v`."
        )


def check_devices() -> None:
    """Start JAX on the devices that it was told to use, or say that they are not there."""
    import jax

    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:  # the second where JAX knows no such devices
        wanted = os.environ.get("JAX_PLATFORMS", "")
        why = f" ({error})" if str(error) else ""
        raise UserError(
            f"`JAX_PLATFORMS` must name devices that are there, got {wanted!r}{why}: unset it, or "
            "install what they need, such as pip install 'pxsgmcmc[cuda12]'."
        ) from error


def check_single_precision() -> None:
    """Refuse 64-bit numbers for a run of a configuration, which is in 32 bits."""
    import jax

    if jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise UserError(
            "`JAX_ENABLE_X64` must be off for what a configuration describes, whose draws are in "
            "float32: unset it, or sample from Python."
        )
