"""Networks and likelihoods that a configuration may name."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

from typing import Literal, TypeAlias

from pxsgmcmc.config.section import Above, Positive, Section


class ResNetFRN(Section, tag="resnet_frn", tag_field="name"):
    """A residual network with filter response normalisation and swish."""

    depth: Positive = 20
    width: Positive = 16
    head_init: Literal["lecun", "he"] = "lecun"


class MLPSettings(Section, tag="mlp", tag_field="name"):
    """Dense layers, with a layer norm before each activation if asked for."""

    widths: tuple[Positive, ...] = (64, 64)
    activation: Literal["swish", "relu", "gelu", "tanh"] = "swish"
    norm: bool = False


class CNNSettings(Section, tag="cnn", tag_field="name"):
    """A few convolutions and a dense layer."""

    widths: tuple[Positive, ...] = (16, 32)
    activation: Literal["swish", "relu", "gelu", "tanh"] = "swish"


class ViT(Section, tag="vit", tag_field="name"):
    """A small vision transformer."""

    patch: Positive = 2
    width: Positive = 32
    depth: Positive = 2
    heads: Positive = 4


AnyModel: TypeAlias = ResNetFRN | MLPSettings | CNNSettings | ViT


class CategoricalTargets(Section, tag="categorical", tag_field="name"):
    """One of several classes, from a logit for each."""


class BernoulliTargets(Section, tag="bernoulli", tag_field="name"):
    """One of two classes, from one logit."""


class GaussianTargets(Section, tag="gaussian", tag_field="name"):
    """Numbers with normal noise: a standard deviation, "learned", or "network" for each input."""

    noise: Above | Literal["learned", "network"] = "learned"
    noise_start: Above = 0.5
    noise_spread: Above = 1.0


class StudentTTargets(Section, tag="student_t", tag_field="name"):
    """Numbers with heavy-tailed noise: a scale, "learned", or "network" for each input."""

    noise: Above | Literal["learned", "network"] = "learned"
    freedom: Above = 4.0
    noise_start: Above = 0.5
    noise_spread: Above = 1.0


class PoissonTargets(Section, tag="poisson", tag_field="name"):
    """Counts, from a log rate."""


AnyLikelihood: TypeAlias = (
    CategoricalTargets | BernoulliTargets | GaussianTargets | StudentTTargets | PoissonTargets
)
