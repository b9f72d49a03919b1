"""Samplers that a configuration may name, with their step sizes and frictions."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

from typing import Annotated, Literal, TypeAlias

import msgspec

from pxsgmcmc.config.section import Above, AtLeast0, Below1, Positive, Section, UpTo1

# Measured when the run begins, and written into its configuration: see `tuning.automatic`.
Auto: TypeAlias = Literal["auto"]
AUTO: Auto = "auto"


class CyclicalSettings(Section, tag="cyclical", tag_field="kind"):
    """A cosine from `peak` down, again every `period` steps (by default, a cycle of the chain)."""

    peak: Above | Auto
    period: Positive | None = None
    lowest: AtLeast0 = 0.0


class Groups(Section):
    """One number for the base parameters, one for the factors."""

    base: AtLeast0
    factors: AtLeast0


class SGLD(Section, tag="sgld", tag_field="name"):
    """Stochastic gradient Langevin dynamics."""

    step_size: Above | CyclicalSettings | Auto
    temperature: AtLeast0 = 1.0
    noise: AtLeast0 | Groups = 1.0


class PSGLD(Section, tag="psgld", tag_field="name"):
    """SGLD with RMSProp's preconditioner."""

    step_size: Above | CyclicalSettings
    temperature: AtLeast0 = 1.0
    decay: UpTo1 = 0.99
    epsilon: Above = 1e-8
    preconditioner_start: Literal["gradient", "zero"] = "gradient"
    noise: AtLeast0 | Groups = 1.0


class SGHMC(Section, tag="sghmc", tag_field="name"):
    """Stochastic gradient Hamiltonian Monte Carlo."""

    step_size: Above | CyclicalSettings | Auto
    friction: AtLeast0 | Groups | Auto
    temperature: AtLeast0 = 1.0
    noise: AtLeast0 | Groups = 1.0


class SGNHT(Section, tag="sgnht", tag_field="name"):
    """Stochastic gradient Nosé-Hoover thermostat."""

    step_size: Above | CyclicalSettings | Auto
    friction: AtLeast0 | Groups | Auto
    temperature: AtLeast0 = 1.0
    integrator: Literal["euler", "symmetric"] = "euler"
    noise: AtLeast0 | Groups = 1.0


class SGRHMC(Section, tag="sgrhmc", tag_field="name"):
    """SGHMC with RMSProp's metric."""

    step_size: Above | CyclicalSettings
    friction: AtLeast0 | Groups
    temperature: AtLeast0 = 1.0
    decay: UpTo1 = 0.99
    epsilon: Above = 1e-8
    preconditioner_start: Literal["gradient", "zero"] = "gradient"
    noise: AtLeast0 | Groups = 1.0


class Adapt(Section):
    """What HMC adapts in its first steps, which `chain.burn_in` must cover: see `px.adaptation`."""

    steps: Positive
    acceptance: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)] = 0.8
    mass: bool = True


class HMC(Section, tag="hmc", tag_field="name"):
    """Hamiltonian Monte Carlo; needs `batch_size` equal to the number of data."""

    step_size: Above | CyclicalSettings
    leapfrog_steps: Positive
    temperature: AtLeast0 = 1.0
    metropolis: bool = True
    jitter: UpTo1 = 0.0
    adapt: Adapt | None = None


class GGMC(Section, tag="ggmc", tag_field="name"):
    """OBABO with a Metropolis test per window."""

    step_size: Above | CyclicalSettings
    friction: AtLeast0 | Groups
    window: Positive = 1
    temperature: AtLeast0 = 1.0


class L2E(Section, tag="l2e", tag_field="name"):
    """Momentum and steps from a meta-trained network; `weights` is a name or a file."""

    step_size: Above | CyclicalSettings
    weights: str = "l2e/desk"
    friction: AtLeast0 | Groups = 0.1
    temperature: AtLeast0 = 1.0
    noise_multiplier: AtLeast0 = 1e-3


class SGD(Section, tag="sgd", tag_field="name"):
    """Gradient descent with momentum."""

    step_size: Above | CyclicalSettings
    momentum: Below1 = 0.0


AnySampler: TypeAlias = SGLD | PSGLD | SGHMC | SGNHT | SGRHMC | HMC | GGMC | L2E | SGD
