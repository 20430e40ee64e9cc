"""What a config asks, settled before anything is paid for: problems, prompts and the protocol that judges them.

Also with what it is asked: the versions and the revision that a manifest names.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from markscheme.benchmarks import Benchmark, with_examples
from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.config import RunConfig, check_pass_k
from markscheme.errors import DataError
from markscheme.marking import Protocol, get_protocol, mark
from markscheme.running.rounds import first_round
from markscheme.running.strata import strata_of
from markscheme.types import Question

# What can change a result: ourselves and the libraries that ask, mark and count.
PACKAGES = ("markscheme", "msgspec", "numpy", "aiohttp", "sympy", "latex2sympy2_extended", "math-verify")


class Prepared(NamedTuple):
    """Everything about a run that needs no model."""

    benchmark: Benchmark
    questions: list[Question]
    protocol: Protocol
    strata: Sequence[str] = ()  # of each problem of the benchmark, where a part of each is drawn


def prepare(config: RunConfig, bench: Benchmark | None = None) -> Prepared:
    """Read the data, write the prompts, find the protocol; whatever is wrong with the options is raised here.

    `bench` is given where the benchmark of the config is an object and has no name to be found by.
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
    mark("", questions[0].problem, protocol=protocol.name)  # a protocol that cannot judge these problems says so now
    return Prepared(bench, questions, protocol, strata)


def package_versions() -> dict[str, str]:
    """The versions of those packages that are installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def git_revision() -> str | None:
    """The revision of the folder that the user is in: their experiment's code, not ours."""
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
