"""Weights for the network of L2E whose outputs are known."""

import numpy as np

from pxsgmcmc.samplers.l2e import SHAPES


def random_weights(seed: int, scale: float = 1.0) -> dict:
    """Normal weights and biases, in float32 as they are used."""
    rng = np.random.default_rng(seed)
    return {
        layer: {
            name: np.float32(scale * rng.normal(size=s) / np.sqrt(s[0])) for name, s in own.items()
        }
        for layer, own in SHAPES.items()
    }


def passing_weights(gain: float) -> dict:
    """alpha = 0 and beta = 1e-3 gain r / sqrt(1e-5 + mean r^2): r = relu(r) - relu(-r), twice."""
    weights = {
        layer: {n: np.zeros(s, np.float32) for n, s in own.items()} for layer, own in SHAPES.items()
    }
    weights["linear_0"]["w"][2, :2] = 1.0, -1.0  # the third input is the momentum
    weights["linear_1"]["w"][[0, 1], [0, 1]] = 1.0
    weights["linear_2"]["w"][:2, 1] = gain, -gain
    return weights


def by_hand(weights, g, q, r, v):
    """The network in NumPy, one coordinate after the other; alpha and beta of one leaf."""
    inputs = [g, q, r, *v]
    scaled = [x / np.sqrt(1e-5 + np.mean(np.square(x))) for x in inputs]
    alpha, beta = np.zeros_like(q), np.zeros_like(q)
    for place in np.ndindex(q.shape):
        x = np.array([feature[place] for feature in scaled])
        x = np.maximum(x @ weights["linear_0"]["w"] + weights["linear_0"]["b"], 0.0)
        x = np.maximum(x @ weights["linear_1"]["w"] + weights["linear_1"]["b"], 0.0)
        x = 1e-3 * (x @ weights["linear_2"]["w"] + weights["linear_2"]["b"])
        alpha[place], beta[place] = x
    return alpha, beta
