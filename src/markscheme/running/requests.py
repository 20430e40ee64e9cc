"""Yield what is still to be asked, one request at a time, each sample with its own seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from markscheme.models.base import Request
from markscheme.running.live import SampleSet
from markscheme.runs.folder import Manifest
from markscheme.runs.turns import Begun
from markscheme.types import Question, Sampling


def requests(
    manifest: Manifest,
    questions: Sequence[Question],
    sampling: Sampling,
    done: SampleSet,
    step: int = 1,
    wanted: Mapping[str, range] | None = None,
    begun: Mapping[tuple[str, int], Begun] | None = None,
) -> Iterator[Request]:
    """Yield every problem once (with `step` samples) before any twice, so that early figures are meaningful.

    `wanted` are the samples of each problem if they are not the same for all. `begun` are conversations of an earlier process,
    which continue where they stopped.
    """
    spans = wanted or dict.fromkeys((question.problem.key for question in questions), range(manifest.samples))
    for ahead in range(0, max(map(len, spans.values()), default=0), step):
        for question in questions:
            problem = question.problem
            group = spans[problem.key][ahead : ahead + step]
            missing = tuple(sample for sample in group if not done.has(problem.key, sample))
            if not missing:
                continue
            left = (begun or {}).get((problem.key, missing[0]), Begun(()))
            yield Request(
                benchmark=manifest.benchmark,
                problem_id=problem.id,
                key=problem.key,
                statement=problem.statement,
                prompt=question.prompt,
                samples=missing,
                seeds=tuple(derive_seed(manifest.config.seed, problem.key, sample) for sample in missing),
                sampling=sampling,
                turns=left.turns,
                ticket=left.ticket,
            )


def derive_seed(seed: int, key: str, sample: int) -> int:
    """Return a seed of 31 bits, which all servers accept, that depends only on the run's seed, the problem and the sample."""
    digest = hashlib.sha256(f"{seed}:{key}:{sample}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
