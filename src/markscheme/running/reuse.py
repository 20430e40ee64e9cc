"""Copy answers to the same requests from other runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from markscheme.config import RunConfig, fixed_options
from markscheme.runs.folder import Manifest, Run
from markscheme.runs.journal import Journal
from markscheme.types import Question, Response

# Options that may differ between runs with the same request: messages and sampling are compared as they are sent.
_OTHERWISE = {
    "benchmark", "samples", "limit", "limit_seed", "stratify", "prompt", "fewshot", "fewshot_pool", "fewshot_seed", "system_prompt",
    "then", "tools", "protocol", "temperature", "top_p", "top_k", "max_tokens", "stop",
}  # fmt: skip


def reuse_answers(run: Run, questions: Sequence[Question], others: Iterable[Run]) -> int:
    """Copy what other runs got for the same messages, options, sample number and seed; return how many."""
    prompts = {question.problem.key: _said(question) for question in questions}
    snapshot = run.snapshot()
    have = {(response.key, response.sample) for response in snapshot.responses() if response.error is None}
    copied = 0
    for other in others:
        if other.path.resolve() == run.path.resolve() or _asked(other.manifest) != _asked(run.manifest):
            continue
        with Journal(run.path / "responses.jsonl") as journal:
            for response in _same(other, prompts):
                place = (response.key, response.sample)
                if response.sample < run.manifest.samples and place not in have:
                    have.add(place)
                    copied += 1
                    source = {**response.metadata, "reused_from": str(other.path)}
                    journal.write([msgspec.structs.replace(response, metadata=source)])
    return copied


def _same(other: Run, prompts: Mapping[str, object]) -> Iterator[Response]:
    shared = {each.problem.key for each in other.questions() if prompts.get(each.problem.key) == _said(each)}
    return (one for one in (other.responses() if shared else ()) if one.key in shared and one.error is None)


def _said(question: Question) -> tuple[object, ...]:
    return question.prompt.messages, question.prompt.then


def _asked(manifest: Manifest) -> tuple[object, ...]:
    """Return everything about the requests of a run except their messages."""
    config: RunConfig = manifest.config
    fixed = tuple(getattr(config, name) for name in fixed_options() if name not in _OTHERWISE)
    tools = tuple(sorted(manifest.tools))
    return (manifest.model, tools, config.base_url, msgspec.json.encode(manifest.sampling, order="sorted"), *fixed)
