"""The main types: Problem, Prompt, Response, Mark and their parts.

Frozen, typed, and one JSON line each. Facts (`Response`) and opinions (`Mark`) are separate, so that a better marker
never costs a second generation. New fields always have a default, so an old run folder can always be read; unknown
fields of a newer version are ignored.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any, Literal

import msgspec


class CountdownGold(msgspec.Struct, frozen=True):
    """The puzzle that a Countdown answer must solve: every number exactly once, equal to the target."""

    nums: tuple[int, ...]
    target: int


# The right answer as written in the data set; for Countdown the puzzle, since any solution is right.
Gold = str | CountdownGold


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question with its gold answer.

    `key` is a hash of statement and gold, so a response belongs to the same problem whatever its position or id. If a data set
    holds the same problem twice, the second key ends in `-2`.
    """

    id: str
    statement: str
    gold: Gold
    protocol: str = "math"
    solution: str | None = None
    choices: tuple[str, ...] = ()
    """The options of a multiple-choice question, A first; letter, text and value are the same answer."""
    metadata: dict[str, Any] = {}
    key: str = ""
    cluster: str | None = None
    """Shared by problems that are not independent of each other, such as those of one contest."""

    def __post_init__(self) -> None:
        if not self.key:
            msgspec.structs.force_setattr(self, "key", content_key(self.statement, self.gold))


def content_key(statement: str, gold: Gold) -> str:
    """Return the first 16 hex digits of a SHA-256 over statement and gold: enough for 10⁹ problems without a collision."""
    payload = msgspec.json.encode([statement, gold])
    return hashlib.sha256(payload).hexdigest()[:16]


class Message(msgspec.Struct, frozen=True):
    """One chat message, exactly as sent."""

    role: Literal["system", "user", "assistant"]
    content: str


class Prompt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The messages sent for one problem, and the few-shot examples in them."""

    messages: tuple[Message, ...]
    fewshot_ids: tuple[str, ...] = ()
    fewshot_seed: int | None = None
    then: tuple[str, ...] = ()
    """The user's messages after the first answer, the second answer …"""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a run's `problems.jsonl`: a problem and its prompt.

    It is in the run folder so that a run can be marked again, audited and viewed without the data set.
    """

    problem: Problem
    prompt: Prompt


class Sampling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a model is asked to sample. `None` means the model's own default."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


# Why generation ended; `length` means that it was cut off by the limit of tokens or of turns.
FinishReason = Literal["stop", "length", "content_filter", "other"]


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as described to a model."""

    name: str
    description: str
    parameters: dict[str, Any]  # JSON Schema of its arguments


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A model's call of a tool."""

    id: str  # identifies the result; empty if the call is part of the text
    name: str
    arguments: str  # as the model wrote them, usually JSON


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn after the prompt, of the model, a tool or the user."""

    role: Literal["assistant", "tool", "user"]
    text: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""  # the call that a tool answers
    failed: bool = False  # the tool reports an error
    lost: bool = False  # the state that earlier calls left is lost
    finish_reason: FinishReason | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    latency: float | None = None
    first_token: float | None = None
    # The turn as the provider's own items, if they must be sent back with the next turn (encrypted reasoning).
    raw: tuple[dict[str, Any], ...] = ()


class Response(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer for one (problem, sample), or the error in its place. A fact: written once, never edited.

    In a conversation, `text` and `reasoning` are those of the last assistant turn, tokens and latency those of all turns.
    """

    key: str  # the Problem's key
    sample: int
    problem_id: str = ""
    text: str = ""
    reasoning: str | None = None
    finish_reason: FinishReason | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None  # prompt tokens from the provider's cache
    latency: float | None = None  # seconds of the attempt that succeeded
    first_token: float | None = None  # seconds until the first token of a streamed answer
    seed: int | None = None
    """The seed it was drawn with. Samples of a problem with the same seed came from one request and may not be independent."""
    attempts: int = 1
    model: str | None = None  # as the server names itself
    created: str | None = None  # UTC, ISO 8601
    error: str | None = None  # one sentence; a response with an error has no text and no score
    error_kind: str | None = None
    metadata: dict[str, Any] = {}
    turns: tuple[Turn, ...] = ()
    """Every turn of a conversation, including the last; empty for a single-turn response."""

    @property
    def tokens_per_second(self) -> float | None:
        """The speed after the first token, for one streamed answer."""
        if self.first_token is None or self.latency is None or not self.completion_tokens or self.turns:
            return None
        seconds = self.latency - self.first_token
        return (self.completion_tokens - 1) / seconds if seconds > 0 else None

    @property
    def calls(self) -> int | None:
        """The number of answered tool calls in a conversation."""
        return sum(turn.role == "tool" for turn in self.turns) if self.turns else None

    @property
    def tool_errors(self) -> int | None:
        """The number of failed tool calls."""
        return sum(turn.failed for turn in self.turns) if self.turns else None

    @property
    def tool_tokens(self) -> int | None:
        """The approximate number of tokens that tools added: by how much each prompt grew beyond the turns before it."""
        added, before, called = 0, None, False
        for turn in self.turns:
            called = called or turn.role == "tool"
            if turn.role != "assistant":
                continue
            if turn.prompt_tokens is None or turn.completion_tokens is None:
                return None
            if called and before is not None:
                added += max(0, turn.prompt_tokens - before)
            before = turn.prompt_tokens + turn.completion_tokens - (turn.reasoning_tokens or 0)
            called = False
        return added if self.turns else None

    @property
    def earlier_answers(self) -> tuple[Turn, ...]:
        """The answers before each further user message."""
        pairs = zip(self.turns, self.turns[1:], strict=False)
        return tuple(turn for turn, after in pairs if turn.role == "assistant" and after.role == "user")

    @property
    def cut_off_by_turns(self) -> bool:
        """Whether the model still called a tool in its last allowed turn."""
        return bool(self.turns and self.turns[-1].tool_calls)


class Verdict(StrEnum):
    """The outcome of a response. All but `error` have a score; `error` is missing data, never a wrong answer."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"
    """No answer could be extracted."""
    TRUNCATED = "truncated"
    """Cut off by the token limit, or still thinking, before an answer."""
    MALFORMED = "malformed"
    """An answer in a form that the task forbids, such as a number used twice."""
    UNMARKABLE = "unmarkable"
    """The gold cannot be read or the marker ran out of time: reported, never silently wrong."""
    ERROR = "error"
    """The model never answered."""


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A verdict on one response under one protocol. An opinion: it can be made again from the response at any time."""

    verdict: Verdict
    protocol: str = ""  # "name@version"
    answer: str | None = None  # as extracted, before normalisation
    why: str = ""  # a reason that can be checked: "gives 47, not 46"
    span: tuple[int, int] | None = None  # position of the answer in the response text, in characters
    flags: tuple[str, ...] = ()  # what a sceptic should know: "rounded", "unit ignored", …
    earlier: tuple[Verdict, ...] = ()  # verdicts of the answers before further user messages
    key: str = ""
    sample: int = msgspec.field(default_factory=int)  # not `= 0`: the default would be omitted from the line

    @property
    def correct(self) -> bool:
        """Whether the verdict is `correct`."""
        return self.verdict is Verdict.CORRECT

    @property
    def score(self) -> float | None:
        """1.0 or 0.0, or None if there is no response to score."""
        if self.verdict is Verdict.ERROR:
            return None
        return 1.0 if self.correct else 0.0
