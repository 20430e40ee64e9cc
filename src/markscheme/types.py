"""The nouns: Problem, Prompt, Response, Mark and what they are made of.

Frozen, typed, and one JSON line each. Facts (`Response`) and opinions (`Mark`) are kept apart on purpose: a better
marker must never cost a second generation. Fields are only ever added, with a default, so an old run folder can
always be read; unknown fields of a newer version are ignored.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any, Literal

import msgspec


class CountdownGold(msgspec.Struct, frozen=True):
    """What a Countdown answer is judged against: every number exactly once, hitting the target."""

    nums: tuple[int, ...]
    target: int


# The right answer as the data set writes it; for Countdown, the puzzle itself, since any solution will do.
Gold = str | CountdownGold


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question with its gold answer.

    `key` is a hash of what is asked and what is right, so a response belongs to the same problem whatever its
    position or id; a data set that really holds the same problem twice gets `-2` behind the second key.
    """

    id: str
    statement: str
    gold: Gold
    protocol: str = "math"
    solution: str | None = None
    choices: tuple[str, ...] = ()
    """The options of a multiple-choice question, A first; letter, text and value are one answer."""
    metadata: dict[str, Any] = {}
    key: str = ""
    cluster: str | None = None
    """What problems that are not independent of each other share: their contest, say."""

    def __post_init__(self) -> None:
        if not self.key:
            msgspec.structs.force_setattr(self, "key", content_key(self.statement, self.gold))


def content_key(statement: str, gold: Gold) -> str:
    """The first 16 hex digits of sha256 over statement and gold: enough for 10⁹ problems without a collision."""
    payload = msgspec.json.encode([statement, gold])
    return hashlib.sha256(payload).hexdigest()[:16]


class Message(msgspec.Struct, frozen=True):
    """One chat message, exactly as it is sent."""

    role: Literal["system", "user", "assistant"]
    content: str


class Prompt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The messages really sent for one problem, and which examples stand in them."""

    messages: tuple[Message, ...]
    fewshot_ids: tuple[str, ...] = ()
    fewshot_seed: int | None = None
    then: tuple[str, ...] = ()
    """What the user says after the first answer, after the second …"""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a run's `problems.jsonl`: a problem and the prompt it was asked with.

    Kept in the run folder so that a run can be marked again, audited and viewed without the data set.
    """

    problem: Problem
    prompt: Prompt


class Sampling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a model is asked to sample. `None` leaves the choice to the model's own default."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


# Why generation ended; `length` means that a limit cut it off: of tokens, or of the turns of a conversation.
FinishReason = Literal["stop", "length", "content_filter", "other"]


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: dict[str, Any]  # JSON Schema of its arguments


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A model asks for a tool."""

    id: str  # by which its result is known; empty where the call is part of the text
    name: str
    arguments: str  # as the model wrote them: JSON, or what it took for JSON


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn after the prompt: what the model said, what a tool gave back, or what the user said next."""

    role: Literal["assistant", "tool", "user"]
    text: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""  # the call that a tool answers
    failed: bool = False  # the tool reports an error
    lost: bool = False  # and what earlier calls left for later ones is gone
    finish_reason: FinishReason | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    latency: float | None = None
    first_token: float | None = None
    # The turn in the provider's own items, where these must be handed back with the next (encrypted reasoning).
    raw: tuple[dict[str, Any], ...] = ()


class Response(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came back for one (problem, sample), or the error that came instead. A fact: written once, never edited.

    Of a conversation, `text` and `reasoning` are those of the last assistant turn, tokens and latency those of all turns.
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
    cached_tokens: int | None = None  # of the prompt's tokens, those that the provider had in its cache
    latency: float | None = None  # seconds of the attempt that succeeded
    first_token: float | None = None  # seconds until it came, where the answer was streamed
    seed: int | None = None
    """What it was drawn with. Samples of a problem that share a seed came with one request, and may not be independent."""
    attempts: int = 1
    model: str | None = None  # as the server names itself
    created: str | None = None  # UTC, ISO 8601
    error: str | None = None  # one sentence; a response with an error has no text and no score
    error_kind: str | None = None
    metadata: dict[str, Any] = {}
    turns: tuple[Turn, ...] = ()
    """Every turn of a conversation, the last included; empty where the model was asked once."""

    @property
    def tokens_per_second(self) -> float | None:
        """The speed after the first token, of one streamed answer."""
        if self.first_token is None or self.latency is None or not self.completion_tokens or self.turns:
            return None
        seconds = self.latency - self.first_token
        return (self.completion_tokens - 1) / seconds if seconds > 0 else None

    @property
    def calls(self) -> int | None:
        """Calls of tools that were answered, of a conversation."""
        return sum(turn.role == "tool" for turn in self.turns) if self.turns else None

    @property
    def tool_errors(self) -> int | None:
        """Calls that failed."""
        return sum(turn.failed for turn in self.turns) if self.turns else None

    @property
    def tool_tokens(self) -> int | None:
        """Tokens that tools added to the prompts: about, by how much longer each prompt is than what was there before."""
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
        """What the model said each time before the user went on."""
        pairs = zip(self.turns, self.turns[1:], strict=False)
        return tuple(turn for turn, after in pairs if turn.role == "assistant" and after.role == "user")

    @property
    def cut_off_by_turns(self) -> bool:
        """Whether the model still called a tool when its turns were used up."""
        return bool(self.turns and self.turns[-1].tool_calls)


class Verdict(StrEnum):
    """What became of a response. All but `error` have a score; `error` is missing data, never a wrong answer."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"
    """Nothing could be extracted."""
    TRUNCATED = "truncated"
    """Cut off by the token limit, or still thinking, before an answer."""
    MALFORMED = "malformed"
    """An answer in a form that the task forbids, such as a number used twice."""
    UNMARKABLE = "unmarkable"
    """The gold cannot be read or the marker ran out of time: reported, never silently wrong."""
    ERROR = "error"
    """The model never answered."""


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A judgement on one response under one protocol. An opinion: it can be made again from the response at any time."""

    verdict: Verdict
    protocol: str = ""  # "name@version"
    answer: str | None = None  # as extracted, before normalisation
    why: str = ""  # one clause a person can check: "gives 47, not 46"
    span: tuple[int, int] | None = None  # where the answer stands in the response text, in characters
    flags: tuple[str, ...] = ()  # what a sceptic should know: "rounded", "unit ignored", …
    earlier: tuple[Verdict, ...] = ()  # of the answers before the last, where the user went on asking
    key: str = ""
    sample: int = msgspec.field(default_factory=int)  # not `= 0`, which would be left out of the line it identifies

    @property
    def correct(self) -> bool:
        """Whether the response earns the mark."""
        return self.verdict is Verdict.CORRECT

    @property
    def score(self) -> float | None:
        """1.0 or 0.0, and `None` where there was no response to score."""
        if self.verdict is Verdict.ERROR:
            return None
        return 1.0 if self.correct else 0.0
