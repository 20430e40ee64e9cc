"""Each sample's own seed, from the run's seed, the problem and the sample index: nothing depends on order."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, key: str, sample: int) -> int:
    """A non-negative 31-bit integer, which every server accepts."""
    digest = hashlib.sha256(f"{seed}:{key}:{sample}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
