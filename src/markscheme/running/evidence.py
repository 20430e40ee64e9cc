"""What a manifest says about where and with what a run was made."""

from __future__ import annotations

import subprocess
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("markscheme", "msgspec", "numpy", "aiohttp", "sympy", "latex2sympy2_extended", "math-verify")
"""What can change a result: ourselves and the libraries that ask, mark and count."""


def package_versions() -> dict[str, str]:
    """Of the packages that are installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def git_revision() -> str | None:
    """Of the folder the user stands in: their experiment's code, not ours."""
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
