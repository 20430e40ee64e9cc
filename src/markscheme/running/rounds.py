"""Sampling until it is known: after each round, whether to ask on, and which problem how often.

A round is written down before anything of it is asked. A run that breaks off anywhere therefore finishes the same
round when it is resumed, and the next one is decided from what came back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.fleet.ranks import ALONE, Ranks
from markscheme.running.closing import mark_the_rest
from markscheme.running.live import Live
from markscheme.runs.folder import PlannedRound, Run
from markscheme.types import Question

FIRST_ROUND = 4  # samples of every problem before the first look, where -n does not say otherwise


def first_round(config: RunConfig, ranks: Ranks = ALONE) -> int:
    """Samples per problem that a run begins with; refuses what cannot become an adaptive run."""
    if config.until is None:
        return config.samples
    if ranks.several:
        raise UsageError(
            "--until looks at all answers after each round, so one process must ask: start it without torchrun"
        )
    if (config.samples_per_request or 1) > 1:
        raise UsageError("--until takes every sample as drawn by itself: leave out --samples-per-request")
    first = config.samples if config.samples > 1 else FIRST_ROUND
    if config.temperature == 0:
        raise UsageError("--until asks the same again, and at temperature 0 the answer is the same again; raise it")
    if config.max_samples < first:
        raise UsageError(f"--max-samples {config.max_samples} leaves no room for a first round of {first} (-n)")
    return first


class Rounds:
    """The rounds of one run: what is planned, and what comes next."""

    def __init__(
        self,
        run: Run,
        config: RunConfig,
        questions: Sequence[Question],
        live: Live,
        planned: Sequence[PlannedRound] = (),
    ) -> None:
        assert config.until is not None
        self._run, self._questions, self._live = run, questions, live
        self._target, self._most = config.until / 100, config.max_samples
        self._planned = list(planned)
        if not self._planned:  # the first round, or a plain run that is now to be carried on
            first = run.manifest.samples
            if first < 2 or run.manifest.sampling.get("temperature") == 0:
                raise UsageError(
                    f"{run.path} cannot be carried on with --until: it needs two samples per problem or more, and a "
                    "temperature above 0; start a new run"
                )
            self._planned = [PlannedRound(first, (first,) * len(questions))]
        self._asked_here = 0  # rounds begun by this process

    def missing(self) -> Mapping[str, range]:
        """The samples of each problem that this pass asks for: all that are planned, later only the new round's."""
        done = [0] * len(self._questions)
        if self._asked_here:
            done = [sum(counts) for counts in zip(*(each.asked for each in self._planned[:-1]), strict=True)]
        upto = [sum(counts) for counts in zip(*(each.asked for each in self._planned), strict=True)]
        keys = [question.problem.key for question in self._questions]
        return {key: range(low, high) for key, low, high in zip(keys, done, upto, strict=True)}

    def keep(self) -> None:
        """Write the plan down; what is asked afterwards can always be accounted for."""
        self._run.save_rounds(self._planned)

    async def advance(self) -> bool:
        """Plan one more round; false when the score is known or the most samples are asked."""
        from markscheme.statistics import sequential

        await mark_the_rest(self._run, {one.problem.key: one.problem for one in self._questions})
        snapshot = replace(self._run.snapshot(), planned=tuple(self._planned))
        rounds = snapshot.counts(self._run.manifest.protocol).rounds
        known = sequential.known(rounds)
        size = sequential.next_size(sum(each.size for each in self._planned), self._most)
        if known.half_width <= self._target or not size or not any(rounds[-1].n):
            return False
        asked = sequential.allocate(rounds, size, len(self._questions))
        self._planned.append(PlannedRound(size, tuple(asked.tolist())))
        self._asked_here += 1
        self._live.total += int(asked.sum())
        self._live.state = (
            f"round {len(self._planned)}: ± {100 * known.half_width:.1f} points so far, until ± {100 * self._target:g}"
        )
        return True
