# ruff: noqa: E402 - the clock starts first
"""A step of R20-FRN-Swish in PyTorch, timed on request: what a user would run instead of ours.

    python torch_worker.py CANDIDATE [key=value ...]        see CANDIDATES and SETTINGS
    python torch_worker.py check FILE.npz [key=value ...]   is it the same network?

A candidate takes one step and prints a line of JSON; then it answers each number on its input with
the seconds that so many steps took and the most memory it held while stepping.
"""

import time

STARTED = time.perf_counter()

import json
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import torch
from memory import forget_peak, peak_mb
from torch import Tensor, nn
from torch.nn import functional as F
from torch_network import CLASSES, Norm, resnet

SETTINGS = {"depth": 20, "width": 16, "batch": 256, "size": 32, "channels": 3, "threads": 2}
NUM_DATA = 50_000
R20_PARAMETERS = 274_042


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
    "torch_plain_channels_last": training,
    "torch_plain_contiguous": training,
    "torch_channels_last": training,
    "torch_contiguous": training,
    "torch_compile": partial(training, compiled=True),
    "posteriors_sgld": partial(sampling, "sgld"),
    "posteriors_sghmc": partial(sampling, "sghmc"),
}


def prepare(name: str, setting: dict[str, int]) -> tuple[nn.Module, tuple[Tensor, Tensor]]:
    """The network and a batch of random images that stays."""
    torch.manual_seed(0)
    Norm.written = "plain" not in name
    layout = torch.contiguous_format if "contiguous" in name else torch.channels_last
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
    print(json.dumps(ready | {"idle_mb": forget_peak()}), flush=True)
    for line in sys.stdin:
        began = time.perf_counter()
        for _ in range(int(line)):
            step()
        seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "peak_mb": peak_mb()}), flush=True)


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
