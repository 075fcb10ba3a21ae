"""The random numbers that golden data and the tests' harness (harness.h, rng_uniform) make alike.

SPDX-License-Identifier: MIT
"""
import numpy as np

MASK = (1 << 64) - 1


def uniform(state, n):
    """splitmix64 (Steele, Lea, Flood 2014), as numbers in [0, 1)."""
    out = np.empty(n)
    for i in range(n):
        state = state + 0x9E3779B97F4A7C15 & MASK
        z = state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        out[i] = ((z ^ z >> 31) >> 11) * 2.0**-53
    return out
