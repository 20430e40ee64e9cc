"""Factoring integers, with bounds: what is too hard stays whole."""

from __future__ import annotations

from functools import lru_cache
from math import gcd, isqrt

_SMALL = [p for p in range(2, 1000) if all(p % d for d in range(2, isqrt(p) + 1))]
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


@lru_cache(maxsize=2048)
def factor(n: int) -> tuple[tuple[int, int], ...]:
    """The prime factors of n ≥ 1 with their exponents. A cofactor beyond 64 bits counts as prime."""
    found: list[tuple[int, int]] = []
    for p in _SMALL:
        if p * p > n:
            break
        if n % p == 0:
            k = 0
            while n % p == 0:
                n //= p
                k += 1
            found.append((p, k))
    waiting = [n] if n > 1 else []
    large: dict[int, int] = {}
    while waiting:
        m = waiting.pop()
        root = isqrt(m)
        if m < 1_000_000 or (m.bit_length() > 64 and root * root != m) or _is_prime(m):
            large[m] = large.get(m, 0) + 1
        elif root * root == m:
            waiting += [root, root]
        else:
            d = _rho(m)
            waiting += [d, m // d]
    return (*found, *sorted(large.items()))


def _is_prime(n: int) -> bool:
    """Miller and Rabin's test, exact below 2**64 with these witnesses."""
    if n % 2 == 0 or n.bit_length() > 2000:
        return False
    d, s = n - 1, 0
    while d % 2 == 0:
        d //= 2
        s += 1
    for w in _WITNESSES:
        x = pow(w, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def _rho(n: int) -> int:
    """A proper factor of a composite n without small factors, by Pollard's method; at most some 10⁵ steps."""
    for c in range(1, 50):
        x = y = 2
        d = 1
        while d == 1:
            x = (x * x + c) % n
            y = (y * y + c) % n
            y = (y * y + c) % n
            d = gcd(abs(x - y), n)
        if d != n:
            return d
    return n
