"""Sampling until a score or a difference is known: whether to ask more after each round, and how often per problem.

A round is saved before anything of it is asked, so a resumed run finishes the same round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError, command, option
from markscheme.running.closing import mark_the_rest
from markscheme.running.live import Live
from markscheme.runs.folder import PlannedRound, Run
from markscheme.types import Question

FIRST_ROUND, FIRST_LOOK = 4, 2  # samples per problem before the first look, if -n does not set them


def first_round(config: RunConfig) -> int:
    """Return the samples per problem that a run begins with; refuse options that do not fit sampling in rounds."""
    if (config.until_better is None) != (config.margin is None):
        raise UsageError(f"{option('until_better', 'BASELINE')} and {option('margin', 'POINTS')} go together")
    if config.until is None and config.until_better is None:
        return config.samples
    name = option("until" if config.until is not None else "until_better")
    if config.until is not None and config.until_better is not None:
        raise UsageError(
            f"{option('until')} measures one score and {option('until_better')} a difference: leave one of them out"
        )
    if (config.samples_per_request or 1) > 1:
        raise UsageError(f"{name} assumes independent samples: leave {option('samples_per_request')} out")
    first = config.samples if config.samples > 1 else FIRST_ROUND if config.until is not None else FIRST_LOOK
    if config.temperature == 0:
        raise UsageError(f"{name} needs a temperature above 0, since at 0 all samples are the same")
    if config.max_samples < first:
        raise UsageError(
            f"{option('max_samples', config.max_samples)} is less than the first round of {first} ({option('samples')})"
        )
    return first


class Rounds:
    """The rounds of a run: those planned, and the next one."""

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
        if not self._planned:  # the first round, or a plain run that continues in rounds
            first = run.manifest.samples
            if first < 2 or run.manifest.sampling.get("temperature") == 0:
                raise UsageError(
                    f"{run.path} cannot continue with {option('until')}, which needs at least two samples per problem and a temperature "
                    "above 0; start a new run"
                )
            self._planned = [PlannedRound(first, (first,) * len(questions))]
        self._asked_here = 0  # rounds begun by this process

    def missing(self) -> Mapping[str, range]:
        """Return the samples of each problem to ask now: all that are planned, later only those of the new round."""
        done = [0] * len(self._questions)
        if self._asked_here:
            done = [sum(counts) for counts in zip(*(each.asked for each in self._planned[:-1]), strict=True)]
        upto = [sum(counts) for counts in zip(*(each.asked for each in self._planned), strict=True)]
        keys = [question.problem.key for question in self._questions]
        return {key: range(low, high) for key, low, high in zip(keys, done, upto, strict=True)}

    def keep(self) -> None:
        """Save the plan before it is asked."""
        self._run.save_rounds(self._planned)

    async def advance(self) -> bool:
        """Plan one more round; return False if the score is known or the most samples are asked."""
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


class Looks:
    """Adds samples to every problem until it is decided whether the model is better than another; see `looking`.

    The number of samples is in the manifest before they are asked, so a resumed run continues with the same.
    """

    def __init__(self, run: Run, config: RunConfig, questions: Sequence[Question], live: Live, baseline: Run) -> None:
        assert config.margin is not None
        self._run, self._questions, self._live, self._baseline = run, questions, live, baseline
        self._first, self._margin = first_round(config), config.margin / 100
        # With more than twice the baseline's samples, the noise of the baseline dominates.
        self._most = min(config.max_samples, 2 * baseline.manifest.samples)
        self._from, self._samples = 0, run.manifest.samples

    def missing(self) -> Mapping[str, range]:
        """Return the samples of each problem to ask now."""
        return {each.problem.key: range(self._from, self._samples) for each in self._questions}

    def keep(self) -> None:
        """Save the number of samples before they are asked."""
        if self._run.manifest.samples != self._samples:
            self._run.save_manifest(msgspec.structs.replace(self._run.manifest, samples=self._samples))

    async def advance(self) -> bool:
        """Go on to the next look; return False if the outcome is known or the most samples are asked."""
        from markscheme.statistics import looking

        await mark_the_rest(self._run, {one.problem.key: one.problem for one in self._questions})
        label = self._run.manifest.protocol
        counts = self._run.snapshot().counts(label)
        following = looking.next_look(self._samples, self._most)
        if following == self._samples or not counts.n.any():
            return False
        looked = looking.look(self._baseline.snapshot().counts(label), counts, self._margin, self._first)
        if looked.outcome != "open":
            return False
        self._live.total += (following - self._samples) * len(self._questions)
        self._from, self._samples = self._samples, following
        d = looked.difference
        self._live.state = (
            f"look {looked.looks + 1}: {100 * d.estimate:+.1f} points so far, {100 * d.low:+.1f} to {100 * d.high:+.1f}"
        )
        return True


def baseline_of(config: RunConfig, questions: Sequence[Question], protocol: str) -> Run | None:
    """Return the run that `--until-better` names, which must have answers to the same problems under the same protocol."""
    if config.until_better is None:
        return None
    baseline = Run.open(config.until_better)
    snapshot = baseline.snapshot()
    lacking = [each.problem.id for each in questions if each.problem.key not in snapshot.numbers]
    if lacking:
        raise UsageError(
            f"{baseline.path} cannot be the baseline: {len(lacking)} of these {len(questions)} problems are not in it, such "
            f"as {lacking[0]}"
        )
    if protocol not in (snapshot.label_of(name) for name in snapshot.protocols):
        marked = ", ".join(snapshot.protocols) or "nothing"
        raise UsageError(
            f"{baseline.path} cannot be the baseline: it is marked with {marked}, not with {protocol}; "
            f"{command('mark', baseline.path, protocol=protocol.partition('@')[0])} does it"
        )
    if baseline.manifest.samples < 2 or baseline.manifest.sampling.get("temperature") == 0:
        raise UsageError(
            f"{baseline.path} cannot be the baseline: it needs at least two samples per problem at a temperature above 0"
        )
    return baseline
