"""The networks once more in NumPy and float64, loop by loop: what the tests compare ours with."""

import math

import numpy as np


def same_convolution(x, kernel, stride):
    """Zeros around the image so that n pixels give ceil(n / stride); an odd zero goes after."""
    x, kernel = np.float64(x), np.float64(kernel)
    window = kernel.shape[0]
    pads, sides = [], []
    for side in x.shape[1:3]:
        out = math.ceil(side / stride)
        zeros = max((out - 1) * stride + window - side, 0)
        pads.append((zeros // 2, zeros - zeros // 2))
        sides.append(out)
    x = np.pad(x, [(0, 0), *pads, (0, 0)])
    y = np.zeros((x.shape[0], *sides, kernel.shape[-1]))
    for i in range(sides[0]):
        for j in range(sides[1]):
            patch = x[:, i * stride : i * stride + window, j * stride : j * stride + window]
            y[:, i, j] = np.tensordot(patch, kernel, axes=3)
    return y


def frn(x, scale, bias, threshold):
    x = np.float64(x)
    return np.maximum(
        scale * x / np.sqrt(np.mean(x**2, axis=(1, 2), keepdims=True) + 1e-6) + bias, threshold
    )


def swish(x):
    return x / (1 + np.exp(-x))


def resnet(params, x, blocks):
    def conv_norm(x, conv, norm, stride=1):
        y = same_convolution(x, conv["kernel"], stride) + np.float64(conv["bias"])
        return frn(y, norm["scale"], norm["bias"], norm["threshold"])

    x = swish(conv_norm(x, params["stem"]["conv"], params["stem"]["norm"]))
    for stage in (1, 2, 3):
        for number in range(1, blocks + 1):
            block = params[f"stage{stage}"][f"block{number}"]
            stride = 2 if stage > 1 and number == 1 else 1
            around = x
            if stride == 2:
                around = conv_norm(x, block["shortcut"]["conv"], block["shortcut"]["norm"], 2)
            through = swish(conv_norm(x, block["conv1"], block["norm1"], stride))
            x = swish(conv_norm(through, block["conv2"], block["norm2"]) + around)
    return x.mean(axis=(1, 2)) @ params["head"]["kernel"] + params["head"]["bias"]


def layer_norm(x, layer):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-6) * layer["scale"] + layer["bias"]


def attention(x, layer):
    q, k, v = (
        np.einsum("bpi,ihd->bhpd", x, layer[name]["kernel"]) + layer[name]["bias"][:, None, :]
        for name in ("query", "key", "value")
    )
    scores = np.exp(np.einsum("bhpd,bhqd->bhpq", q, k) / math.sqrt(q.shape[-1]))
    weights = scores / scores.sum(-1, keepdims=True)
    mixed = np.einsum("bhpq,bhqd->bphd", weights, v)
    return np.einsum("bphd,hdo->bpo", mixed, layer["out"]["kernel"]) + layer["out"]["bias"]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def vit(params, x, patch, depth):
    kernel = np.float64(params["patches"]["kernel"])
    x = np.float64(x)
    rows = [
        np.tensordot(x[:, i : i + patch, j : j + patch], kernel, axes=3)
        for i in range(0, x.shape[1], patch)
        for j in range(0, x.shape[2], patch)
    ]
    x = np.stack(rows, axis=1) + params["patches"]["bias"] + params["positions"]["embedding"]
    for number in range(1, depth + 1):
        block = params[f"block{number}"]
        x = x + attention(layer_norm(x, block["norm1"]), block["attention"])
        hidden = gelu(layer_norm(x, block["norm2"]) @ block["up"]["kernel"] + block["up"]["bias"])
        x = x + hidden @ block["down"]["kernel"] + block["down"]["bias"]
    x = layer_norm(x, params["norm"]).mean(axis=1)
    return x @ params["head"]["kernel"] + params["head"]["bias"]
