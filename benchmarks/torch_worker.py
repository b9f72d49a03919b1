# ruff: noqa: D102, E402 - methods that PyTorch names explain themselves; the clock starts first
"""A step of R20-FRN-Swish in PyTorch, timed on request: what a user would run instead of ours.

    python torch_worker.py CANDIDATE [key=value ...]        see CANDIDATES and SETTINGS
    python torch_worker.py check FILE.npz [key=value ...]   is it the same network?

A candidate takes one step and prints a line of JSON; then it answers each number on its input with
the seconds that so many steps took and the most memory it ever held.
"""

import time

STARTED = time.perf_counter()

import json
import math
import resource
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

SETTINGS = {"depth": 20, "width": 16, "batch": 256, "size": 32, "channels": 3, "threads": 2}
CLASSES, NUM_DATA, EPSILON = 10, 50_000, 1e-6
R20_PARAMETERS = 274_042


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
    """The norm in the form that suits: a compiler does better with the plain one."""

    def __init__(self, channels: int):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.threshold = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
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


def training(network: nn.Module, batch: tuple, *, compiled: bool = False) -> Callable[[], object]:
    """A plain training step."""
    optimiser = torch.optim.SGD(network.parameters(), lr=1e-6, momentum=0.9)
    forward = torch.compile(network) if compiled else network

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        F.cross_entropy(forward(batch[0]), batch[1]).backward()
        optimiser.step()

    return step


def sampling(name: str, network: nn.Module, batch: tuple) -> Callable[[], object]:
    """A sampler of `posteriors`, scaled as its documentation advises: by the number of data."""
    warnings.simplefilter("ignore", FutureWarning)  # of tensordict, at the import
    import posteriors

    def log_posterior(params, batch):
        logits = torch.func.functional_call(network, params, batch[0])
        prior = posteriors.diag_normal_log_prob(params) / NUM_DATA
        return prior - F.cross_entropy(logits, batch[1]), logits

    sampler = getattr(posteriors.sgmcmc, name).build(log_posterior, 1e-6, temperature=1 / NUM_DATA)
    state = sampler.init({name: p.detach() for name, p in network.named_parameters()})

    def step() -> None:
        nonlocal state
        state, _ = sampler.update(state, batch)

    return step


CANDIDATES = {
    "torch_channels_last": training,
    "torch_contiguous": training,
    "torch_compile": partial(training, compiled=True),
    "posteriors_sgld": partial(sampling, "sgld"),
    "posteriors_sghmc": partial(sampling, "sghmc"),
}


def prepare(name: str, setting: dict[str, int]) -> tuple[nn.Module, tuple[Tensor, Tensor]]:
    """The network and a batch of random images that stays."""
    torch.manual_seed(0)
    layout = torch.contiguous_format if name == "torch_contiguous" else torch.channels_last
    network = resnet(setting["depth"], setting["width"], setting["channels"])
    shape = (setting["batch"], setting["channels"], setting["size"], setting["size"])
    images = torch.randn(shape).to(memory_format=layout)
    return network.to(memory_format=layout), (images, torch.randint(CLASSES, shape[:1]))


def check(path: str, setting: dict[str, int]) -> dict[str, float]:
    """The largest difference in logits, and the length of that in the gradient over its length.

    The file holds images `x` (batch, height, width, channels), labels `y`, `logits`, parameters by
    name, such as `params/stem/conv/kernel`, and the gradients of the mean cross entropy, such as
    `gradients/stem/conv/kernel`. By rounding, a unit at its threshold may fall to either side, and
    that alone moves the gradient by some 1e-3.
    """
    arrays = np.load(path)
    network = resnet(setting["depth"], setting["width"], setting["channels"])

    def ours(kind: str, name: str) -> Tensor:
        path = f"{kind}/{name.replace('.', '/').replace('weight', 'kernel')}"
        array = torch.from_numpy(arrays[path])
        return array.permute(*{4: (3, 2, 0, 1), 2: (1, 0), 1: (0,)}[array.ndim])

    def flat(tensors: Iterable[Tensor]) -> Tensor:
        return torch.cat([tensor.flatten() for tensor in tensors])

    names = [name for name, _ in network.named_parameters()]
    network.load_state_dict({name: ours("params", name) for name in names})
    gradient = flat(ours("gradients", name) for name in names)
    found = {"logits": 0.0, "gradients": 0.0}
    for layout in (torch.contiguous_format, torch.channels_last):
        network.to(memory_format=layout).zero_grad()
        images = torch.from_numpy(arrays["x"]).permute(0, 3, 1, 2).contiguous(memory_format=layout)
        logits = network(images)
        F.cross_entropy(logits, torch.from_numpy(arrays["y"]).long()).backward()
        off = (logits - torch.from_numpy(arrays["logits"])).abs().max()
        found["logits"] = max(found["logits"], off.item())
        off = (flat(p.grad for p in network.parameters()) - gradient).norm() / gradient.norm()
        found["gradients"] = max(found["gradients"], off.item())
    return found


def serve(name: str, setting: dict[str, int]) -> None:
    """Take a step, then as many as each line of the input says."""
    network, batch = prepare(name, setting)
    parameters = sum(p.numel() for p in network.parameters())
    if all(setting[key] == SETTINGS[key] for key in ("depth", "width", "channels")):
        assert parameters == R20_PARAMETERS, parameters
    step = CANDIDATES[name](network, batch)
    step()
    first = time.perf_counter() - STARTED
    ready = {"ready": name, "first_step_seconds": first, "parameters": parameters}
    print(json.dumps(ready), flush=True)
    for line in sys.stdin:
        began = time.perf_counter()
        for _ in range(int(line)):
            step()
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "peak_mb": peak}), flush=True)


def main() -> None:
    name, *words = sys.argv[1:]
    path = words.pop(0) if name == "check" else None
    setting = SETTINGS | {key: int(value) for key, value in (word.split("=") for word in words)}
    torch.set_num_threads(setting["threads"])
    if path is not None:
        print(json.dumps(check(path, setting)))
    else:
        serve(name, setting)


if __name__ == "__main__":
    main()
