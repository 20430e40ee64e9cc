"""What a config asks: problems, prompts and protocol, settled before anything is paid for; and the versions for the manifest."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from typing import NamedTuple

from markscheme.benchmarks import Benchmark, with_examples
from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.config import RunConfig, check_pass_k
from markscheme.errors import DataError
from markscheme.marking import Protocol, get_protocol, mark
from markscheme.running.rounds import first_round
from markscheme.running.strata import strata_of
from markscheme.types import Question

# Packages that can change a result.
PACKAGES = ("markscheme", "msgspec", "numpy", "aiohttp", "sympy", "latex2sympy2_extended", "math-verify")


_VERSION = re.compile(r"^Version: (\S+)", re.MULTILINE)


class Prepared(NamedTuple):
    """Everything about a run that needs no model."""

    benchmark: Benchmark
    questions: list[Question]
    protocol: Protocol
    strata: Sequence[str] = ()  # of each problem of the benchmark, for a stratified sample


def prepare(config: RunConfig, bench: Benchmark | None = None) -> Prepared:
    """Read the data, make the prompts, find the protocol, and report any mistake in the options.

    `bench` is a benchmark that exists only as an object.
    """
    check_pass_k(config)
    first_round(config)
    bench = bench or find_benchmark(config.benchmark, config.data_dir)
    if config.fewshot_pool is not None:
        bench = with_examples(bench, config.fewshot_pool, config.data_dir)
    strata = strata_of(config, bench.problems)
    questions = bench.questions(
        variant=config.prompt,
        fewshot=config.fewshot,
        fewshot_seed=config.fewshot_seed,
        limit=config.limit,
        limit_seed=config.limit_seed,
        strata=strata,
        system_prompt=config.system_prompt,
        then=config.then,
    )
    if not questions:
        raise DataError(f"{bench.name} has no problems: {', '.join(file.path for file in bench.files)} is empty")
    protocol = get_protocol(config.protocol or bench.protocol)
    mark("", questions[0].problem, protocol=protocol.name)  # fails now if the protocol cannot judge these problems
    return Prepared(bench, questions, protocol, strata)


def package_versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            about = distribution(name).read_text("METADATA") or ""
        except PackageNotFoundError:
            continue
        # `version` would parse the whole description of the package, which is longer.
        if found := _VERSION.search(about):
            versions[name] = found[1]
    return versions


def platform_name() -> str:
    """Return what `platform.platform()` returns, on Linux without starting `uname -p` for it."""
    if sys.platform != "linux":
        return platform.platform()
    about, libc = os.uname(), "".join(platform.libc_ver())
    return "-".join(filter(None, [about.sysname, about.release, about.machine, libc and f"with-{libc}"]))


def git_revision() -> str | None:
    """Return the git revision of the user's folder."""
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
