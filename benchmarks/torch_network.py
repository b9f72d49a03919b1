# ruff: noqa: D102 - methods that PyTorch names explain themselves
"""R20-FRN-Swish in PyTorch, the network of pxsgmcmc.models.resnet with the same names."""

import math
from collections import OrderedDict

import torch
from torch import Tensor, nn
from torch.nn import functional as F

CLASSES, EPSILON = 10, 1e-6


def column(vector: Tensor) -> Tensor:
    return vector.view(1, -1, 1, 1)


def plain_norm(x: Tensor, scale: Tensor, bias: Tensor, threshold: Tensor) -> Tensor:
    """max(scale x / sqrt(mean over pixels of x^2 + epsilon) + bias, threshold)."""
    inverse = torch.rsqrt(x.square().mean((2, 3), keepdim=True) + EPSILON)
    above = torch.relu(x * (inverse * column(scale)) + column(bias - threshold))
    return above + column(threshold)


class FilterResponseNorm(torch.autograd.Function):
    """The norm with its gradient written out; PyTorch's own takes much longer."""

    @staticmethod
    def forward(x, scale, bias, threshold):
        if x.is_contiguous():
            mean_square = torch.linalg.vector_norm(x, dim=(2, 3), keepdim=True).square_()
            mean_square.div_(x.shape[2] * x.shape[3])
        else:  # with the channels last that norm is slow
            mean_square = x.square().mean((2, 3), keepdim=True)
        inverse = mean_square.add_(EPSILON).rsqrt_()
        above = torch.addcmul(column(bias - threshold), x, inverse * column(scale)).relu_()
        return above + column(threshold), above, inverse

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, scale, _, _ = inputs
        _, above, inverse = output
        ctx.mark_non_differentiable(above, inverse)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, scale, above, inverse)

    @staticmethod
    @torch.no_grad()  # torch.func records this pass too, and in-place updates in it would leak
    def backward(ctx, dy, *_):
        x, scale, above, inverse = ctx.saved_tensors
        gain = inverse * column(scale)
        dz = torch.ops.aten.threshold_backward(dy, above, 0)
        by_image = (x * dz).sum((2, 3), keepdim=True).mul_(inverse)
        dbias, total = (d.sum((2, 3)).sum(0) for d in (dz, dy))
        pull = (gain * inverse).mul_(by_image)
        dx = dz.mul_(gain).addcmul_(x, pull, value=-1 / (x.shape[2] * x.shape[3]))
        return dx, by_image.sum((0, 2, 3)), dbias, total - dbias


class Norm(nn.Module):
    """The norm with a gradient written out or derived; a compiler does better with the latter."""

    written = True

    def __init__(self, channels: int):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.threshold = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        if torch.compiler.is_compiling() or not self.written:
            return plain_norm(x, self.scale, self.bias, self.threshold)
        return FilterResponseNorm.apply(x, self.scale, self.bias, self.threshold)[0]


class Conv(nn.Conv2d):
    """Zeros around the image as TensorFlow and JAX put them: the odd one goes after it."""

    def forward(self, x: Tensor) -> Tensor:
        stride, window = self.stride[0], self.kernel_size[0]
        if window == 1 and self.in_channels < 8:
            # oneDNN writes past a buffer here: wrong gradients or a crash (its issue 6035).
            x, stride = x[:, :, ::stride, ::stride], 1
        zeros = max((math.ceil(x.shape[2] / stride) - 1) * stride + window - x.shape[2], 0)
        before, after = zeros // 2, zeros - zeros // 2
        if before != after:
            x, before = F.pad(x, (before, after, before, after)), 0
        return F.conv2d(x, self.weight, self.bias, stride, before)


class ConvNorm(nn.Sequential):
    """A convolution and the norm behind it."""

    def __init__(self, inputs: int, outputs: int, window: int, stride: int = 1):
        super().__init__()
        self.conv = Conv(inputs, outputs, window, stride)
        self.norm = Norm(outputs)


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1, self.norm1 = Conv(inputs, outputs, 3, stride), Norm(outputs)
        self.conv2, self.norm2 = Conv(outputs, outputs, 3), Norm(outputs)
        self.shortcut = ConvNorm(inputs, outputs, 1, stride) if inputs != outputs else None

    def forward(self, x: Tensor) -> Tensor:
        around = x if self.shortcut is None else self.shortcut(x)
        return F.silu(self.norm2(self.conv2(F.silu(self.norm1(self.conv1(x))))) + around)


def resnet(depth: int, width: int, channels: int) -> nn.Sequential:
    """The network of pxsgmcmc.models.resnet, with the same names."""
    layers: dict[str, nn.Module] = {"stem": ConvNorm(channels, width, 3), "swish": nn.SiLU()}
    inputs = width
    for stage, outputs in enumerate((width, 2 * width, 4 * width), 1):
        stride = 1 if stage == 1 else 2
        blocks = {"block1": Block(inputs, outputs, stride)}
        for number in range(2, (depth - 2) // 6 + 1):
            blocks[f"block{number}"] = Block(outputs, outputs, 1)
        layers[f"stage{stage}"] = nn.Sequential(OrderedDict(blocks))
        inputs = outputs
    layers["mean"], layers["flat"] = nn.AdaptiveAvgPool2d(1), nn.Flatten()
    layers["head"] = nn.Linear(inputs, CLASSES)
    return nn.Sequential(OrderedDict(layers))
