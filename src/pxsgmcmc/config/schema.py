"""What a configuration may say: frozen structs, each field with its bounds and its default."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

from typing import Any, Literal

import msgspec

from pxsgmcmc.config.model_sections import AnyLikelihood, AnyModel
from pxsgmcmc.config.sampler_sections import AnySampler
from pxsgmcmc.config.section import (
    Above,
    AtLeast0,
    AtLeast1,
    Count,
    Fraction,
    Positive,
    Section,
    UpTo1000,
)


class Data(Section):
    """Which data: a set by name, or files of your own.

    Attributes:
      name: as in `pxsgmcmc data list`.
      root: folder of an official data set; the cache folder if not given.
      limit: only the first so many training rows.
      downscale: images are shrunk by the means over squares of so many pixels a side, also those
        of the sets they are evaluated on.
      augment: random crops and flips, for images.
      pad: pixels around a crop.
      flip: whether to mirror.
      train: your own training data, as in { x = "X.npy", y = "y.npy" }; .npy, .npz, .csv, .parquet,
        where y may name a column of the table.
      validation: files likewise, or a fraction of the training rows.
      split_seed: of the choice of these rows; not the run's, so that seeds share their data.
      test: files likewise.
      shifts: name -> files likewise.
      out_of_distribution: name -> files of inputs alone.
      task: "classification" or "regression"; found out from the targets if not given.
      labels: "codes" from 0 on, or "names".
      standardise: "features", "targets", "both" or "none"; features, and targets of a regression,
        if not given.
      header: whether CSV files have one; found out if not given.
      folder: where the paths of files start; the folder of the configuration if not given.
    """

    name: str | None = None
    root: str | None = None
    limit: Positive | None = None
    downscale: Positive = 1
    augment: bool = False
    pad: Count = 4
    flip: bool = True
    train: dict[str, Any] | None = None
    validation: dict[str, Any] | Fraction | None = None
    split_seed: Count = 0
    test: dict[str, Any] | None = None
    shifts: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    out_of_distribution: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    task: Literal["classification", "regression"] | None = None
    labels: Literal["codes", "names"] | None = None
    standardise: Literal["features", "targets", "both", "none"] | None = None
    header: bool | None = None
    folder: str | None = None


class Expansion(Section):
    """Which factors; `out = 0` and `into = 0` is no expansion.

    Attributes:
      out: factors on output channels (c).
      into: factors on input channels (d).
      rank: none for full matrices; a whole number or a fraction of the width for low rank.
      inner: how many times as wide as the layer it is between two factors of a side.
      input: also on the network's input.
      logits: also on the network's output.
      frozen: factors stay where they start, as a control.
    """

    out: Count = 0
    into: Count = 0
    rank: Positive | Fraction | None = None
    inner: AtLeast1 = 1.0
    input: bool = False
    logits: bool = False
    frozen: bool = False


class PriorSettings(Section):
    """Prior on the weights.

    Attributes:
      family: of the distribution around zero.
      variance: of a normal.
      scale: of a Laplace or Student-t distribution.
      freedom: degrees of freedom of a Student-t distribution.
      on_weights: put it on the collapsed weights, so that expansion leaves their posterior as it
        was.
      factor_variance: of the normal on the factors; 0 for none.
      factors_at: where that normal is centred.
    """

    family: Literal["normal", "laplace", "student_t"] = "normal"
    variance: Above = 1.0
    scale: Above = 1.0
    freedom: Above = 4.0
    on_weights: bool = False
    factor_variance: AtLeast0 = 0.5
    factors_at: Literal["zero", "identity"] = "zero"


class ChainSettings(Section):
    """How long, how often, and what to do when things go wrong; see `pxsgmcmc.sample`.

    Attributes:
      draws: how many to keep of each chain.
      cycle_length: steps of a cycle; with one draw a cycle, between draws.
      batch_size: rows a step sees.
      burn_in: steps before the first cycle.
      draws_per_cycle: from the end of each cycle.
      thinning: steps between draws of one cycle.
      start: "random", as the network begins; "prior" for a draw of the prior, from where large
        networks settle sooner; "map" for a warm start of each chain, see `pxsgmcmc.warm_start`; a
        run directory (its last draw), RUN:NUMBER, or a safetensors file.
      executor: how steps are run: "loop" or "scan"; the faster one if "auto"; "vmap" for several
        chains side by side in one process, on an accelerator or of a network without convolutions.
      chunk_seconds: seconds of work that the device is given ahead; it is looked at twice in them.
      checkpoint_seconds: seconds between saved states; after a crash at most this is repeated.
      on_divergence: "stop", or "retry" from the last saved state with half the step size.
      retries: how often.
      keep_data: on the "device", or on the "host" when they do not fit there.
      devices: that one chain uses, its batches split among them.
      processes: that run it together, each with as many of the devices; see `pxsgmcmc run -h`.
      matmul_precision: of matrix products and convolutions on an accelerator; "auto" is float32,
        unless JAX was told otherwise.
    """

    draws: Positive
    cycle_length: Positive
    batch_size: Positive
    burn_in: Count = 0
    draws_per_cycle: Positive = 1
    thinning: Positive | None = None
    start: str = "random"
    executor: Literal["auto", "loop", "scan", "vmap"] = "auto"
    chunk_seconds: Above = 1.0
    checkpoint_seconds: AtLeast0 = 10.0
    on_divergence: Literal["stop", "retry"] = "stop"
    retries: Count = 3
    keep_data: Literal["auto", "device", "host"] = "auto"
    devices: Positive = 1
    processes: Positive = 1
    matmul_precision: Literal["auto", "float32", "tensorfloat32", "bfloat16"] = "auto"


class Evaluate(Section):
    """What `pxsgmcmc evaluate` measures beside the training, validation and test rows.

    None of it changes a draw, so it can be changed after the run: `pxsgmcmc evaluate DIR
    --evaluate.shifts '["digits-shift"]'`.

    Attributes:
      shifts: data sets with the same classes, whose test rows are measured like our own.
      corruptions: true for all 19 at 5 severities made from the test rows; or a set in the layout
        of CIFAR-10-C by name, "cifar10-c" or one that `pxsgmcmc data corrupt` made.
      corrupted_rows: only the first so many of each corruption; all of them if not given.
      train_rows: only so many training rows, evenly spaced; all of them if not given.
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
    train_rows: Positive | None = None
    out_of_distribution: tuple[str, ...] = ()
    subset: Positive = 1000
    subsets: UpTo1000 = 5
    seed: Count = 0
    batch_size: Positive = 500
    root: str | None = None


class Tune(Section):
    """What `pxsgmcmc tune` searches; a run takes no notice of it.

    Attributes:
      space: setting -> [lowest, highest] to search it between these, true to search it around its
        value, a number to keep it there, false to leave it is. Step size, friction and
        prior are searched unless told otherwise.
    """

    space: dict[str, Any] = msgspec.field(default_factory=dict)


class Measured(Section):
    """What a run found out itself where its configuration said "auto"; written by the run.

    Attributes:
      settings: which ones.
      by: how, and what is predicted of them.
    """

    settings: tuple[str, ...]
    by: str


class Config(Section):
    """A whole run.

    Attributes:
      problem: your own network and data, as "my_module:make_problem": a function of no arguments
        that returns a `px.Problem` with `init`. It takes the place of [data], [model] and
        [likelihood].
      problem_folder: where its module is; the folder of the configuration if not given.
      seed: of everything random.
      chains: independent chains, each a process of its own unless `chain.executor` is "vmap".
      threads: of XLA for each chain on a CPU; unless given, 2 for one chain, 1 each for several,
        which then do most together. The last bits of a draw depend on it, so it is not taken from
        the machine; more than two pay off for large networks on many cores.
      measured: which settings were "auto", and what was measured for them; not for you to write.
    """

    sampler: AnySampler
    chain: ChainSettings
    problem: str | None = None
    problem_folder: str | None = None
    data: Data | None = None
    model: AnyModel | None = None
    likelihood: AnyLikelihood | None = None
    expansion: Expansion = Expansion()
    prior: PriorSettings = PriorSettings()
    evaluate: Evaluate = Evaluate()
    tune: Tune | None = None
    measured: Measured | None = None
    seed: Count = 0
    chains: UpTo1000 = 1
    threads: UpTo1000 | None = None  # a number once the configuration is read
