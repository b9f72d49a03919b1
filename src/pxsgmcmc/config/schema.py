"""What a configuration may say: frozen structs, each field with its bounds and its default."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

from typing import Annotated, Literal, TypeAlias

import msgspec

# Upper bounds keep out infinity and numbers that no counter here can hold.
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
UpTo1000: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
Above: TypeAlias = Annotated[float, msgspec.Meta(gt=0.0, le=1e12)]
AtLeast0: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1e12)]
Fraction: TypeAlias = Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
UpTo1: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Below1: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all sections have in common: nothing may be misspelt, nothing changes."""


class Data(Section):
    """Which data.

    Attributes:
      name: as in `pxsgmcmc data list`.
      root: folder of an official data set; the cache folder if not given.
      limit: only the first so many training rows.
      augment: random crops and flips, for images.
      pad: pixels around a crop.
      flip: whether to mirror.
    """

    name: str
    root: str | None = None
    limit: Positive | None = None
    augment: bool = False
    pad: Count = 4
    flip: bool = True


class ResNetFRN(Section, tag="resnet_frn", tag_field="name"):
    """A residual network with filter response normalisation and swish."""

    depth: Positive = 20
    width: Positive = 16
    head_init: Literal["lecun", "he"] = "lecun"


class MLP(Section, tag="mlp", tag_field="name"):
    """Dense layers."""

    widths: tuple[Positive, ...] = (64, 64)
    activation: Literal["swish", "relu", "gelu", "tanh"] = "swish"


class CNN(Section, tag="cnn", tag_field="name"):
    """A few convolutions and a dense layer."""

    widths: tuple[Positive, ...] = (16, 32)
    activation: Literal["swish", "relu", "gelu", "tanh"] = "swish"


class ViT(Section, tag="vit", tag_field="name"):
    """A small vision transformer."""

    patch: Positive = 2
    width: Positive = 32
    depth: Positive = 2
    heads: Positive = 4


class Expansion(Section):
    """Which factors; `out = 0` and `into = 0` is no expansion.

    Attributes:
      out: factors on output channels (c).
      into: factors on input channels (d).
      rank: none for full matrices; a whole number or a fraction of the width for low rank.
      input: also on the network's input.
      logits: also on the network's output.
      frozen: factors stay where they start, as a control.
    """

    out: Count = 0
    into: Count = 0
    rank: Positive | Fraction | None = None
    input: bool = False
    logits: bool = False
    frozen: bool = False


class Prior(Section):
    """Prior on the weights.

    Attributes:
      variance: of the normal around zero.
      exact: put it on the collapsed weights, so that expansion leaves their posterior as it was.
      factor_variance: of the normal on the factors; 0 for none.
      factors_at: where that normal is centred.
    """

    variance: Above = 1.0
    exact: bool = False
    factor_variance: AtLeast0 = 0.5
    factors_at: Literal["zero", "identity"] = "zero"


class Cyclical(Section, tag="cyclical", tag_field="kind"):
    """A cosine from `peak` down, again every `period` steps (by default, a cycle of the chain)."""

    peak: Above
    period: Positive | None = None
    lowest: AtLeast0 = 0.0


class Groups(Section):
    """One number for the base parameters, one for the factors."""

    base: AtLeast0
    factors: AtLeast0


class SGLD(Section, tag="sgld", tag_field="name"):
    """Stochastic gradient Langevin dynamics."""

    step_size: Above | Cyclical
    temperature: AtLeast0 = 1.0
    noise: AtLeast0 | Groups = 1.0


class PSGLD(Section, tag="psgld", tag_field="name"):
    """SGLD with RMSProp's preconditioner."""

    step_size: Above | Cyclical
    temperature: AtLeast0 = 1.0
    decay: UpTo1 = 0.99
    epsilon: Above = 1e-8
    noise: AtLeast0 | Groups = 1.0


class SGHMC(Section, tag="sghmc", tag_field="name"):
    """Stochastic gradient Hamiltonian Monte Carlo."""

    step_size: Above | Cyclical
    friction: AtLeast0 | Groups
    temperature: AtLeast0 = 1.0
    noise: AtLeast0 | Groups = 1.0


class SGNHT(Section, tag="sgnht", tag_field="name"):
    """Stochastic gradient Nosé-Hoover thermostat."""

    step_size: Above | Cyclical
    friction: AtLeast0 | Groups
    temperature: AtLeast0 = 1.0
    noise: AtLeast0 | Groups = 1.0


class SGRHMC(Section, tag="sgrhmc", tag_field="name"):
    """SGHMC with RMSProp's metric."""

    step_size: Above | Cyclical
    friction: AtLeast0 | Groups
    temperature: AtLeast0 = 1.0
    decay: UpTo1 = 0.99
    epsilon: Above = 1e-8
    noise: AtLeast0 | Groups = 1.0


class HMC(Section, tag="hmc", tag_field="name"):
    """Hamiltonian Monte Carlo; needs `batch_size` equal to the number of data."""

    step_size: Above | Cyclical
    leapfrog_steps: Positive
    temperature: AtLeast0 = 1.0
    metropolis: bool = True


class GGMC(Section, tag="ggmc", tag_field="name"):
    """OBABO with a Metropolis test per window."""

    step_size: Above | Cyclical
    friction: AtLeast0 | Groups
    window: Positive = 1
    temperature: AtLeast0 = 1.0


class SGD(Section, tag="sgd", tag_field="name"):
    """Gradient descent with momentum."""

    step_size: Above | Cyclical
    momentum: Below1 = 0.0


AnySampler: TypeAlias = SGLD | PSGLD | SGHMC | SGNHT | SGRHMC | HMC | GGMC | SGD
AnyModel: TypeAlias = ResNetFRN | MLP | CNN | ViT


class Chain(Section):
    """How long, how often, and what to do when things go wrong; see `pxsgmcmc.sample`.

    Attributes:
      draws: how many to keep.
      steps: of a cycle; with one draw a cycle, between draws.
      batch_size: rows a step sees.
      burn_in: steps before the first cycle.
      draws_per_cycle: from the end of each cycle.
      every: steps between draws of one cycle.
      start: "random", a run directory (its last draw), RUN:NUMBER, or a safetensors file.
      executor: how steps are run.
      chunk_seconds: between looks at the device.
      checkpoint_seconds: between saved states.
      on_divergence: what to do about it.
      retries: how often.
      keep_data: where.
      tensorboard: folder for event files.
    """

    draws: Positive
    steps: Positive
    batch_size: Positive
    burn_in: Count = 0
    draws_per_cycle: Positive = 1
    every: Positive | None = None
    start: str = "random"
    executor: Literal["auto", "loop", "scan"] = "auto"
    chunk_seconds: Above = 1.0
    checkpoint_seconds: AtLeast0 = 10.0
    on_divergence: Literal["stop", "retry"] = "stop"
    retries: Count = 3
    keep_data: Literal["auto", "device", "host"] = "auto"
    tensorboard: str | None = None


class Evaluate(Section):
    """What `pxsgmcmc evaluate` measures beside the training, validation and test rows.

    None of it changes a draw, so it can be changed after the run: `pxsgmcmc evaluate DIR
    --evaluate.shifts '["digits-shift"]'`.

    Attributes:
      shifts: data sets with the same classes, whose test rows are measured like our own.
      corruptions: true for all 19 at 5 severities made from the test rows; or a set in the layout
        of CIFAR-10-C by name, "cifar10-c" or one that `pxsgmcmc data corrupt` made.
      corrupted_rows: only the first so many of each corruption; all of them if not given.
      out_of_distribution: data sets of another kind, to be told from the test rows by entropy.
      subset: rows of each side of such a pair, drawn at random; fewer where a set is smaller.
      subsets: how often such rows are drawn, for the spread.
      seed: of the corruptions and the subsets.
      batch_size: inputs at a time.
      root: folder of official sets named here; `data.root` if not given.
    """

    shifts: tuple[str, ...] = ()
    corruptions: bool | str = False
    corrupted_rows: Positive | None = None
    out_of_distribution: tuple[str, ...] = ()
    subset: Positive = 1000
    subsets: UpTo1000 = 5
    seed: Count = 0
    batch_size: Positive = 500
    root: str | None = None


class Config(Section):
    """A whole run.

    Attributes:
      seed: of everything random.
      chains: independent chains, each a process of its own.
      threads: of XLA for each chain on a CPU; unless given, 2 for one chain, 1 each for several,
        which then do most together. The last bits of a draw depend on it, so it is not taken from
        the machine; more than two pay off for large networks on many cores.
    """

    data: Data
    model: AnyModel
    sampler: AnySampler
    chain: Chain
    expansion: Expansion = Expansion()
    prior: Prior = Prior()
    evaluate: Evaluate = Evaluate()
    seed: Count = 0
    chains: UpTo1000 = 1
    threads: UpTo1000 | None = None  # a number once the configuration is read
