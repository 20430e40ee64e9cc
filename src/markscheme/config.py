"""The options of a run.

Command-line flags, the arguments of `ms.run` and the `config` of a manifest are all made from `RunConfig`, so they
cannot drift apart. A `fixed` option is part of what is asked, and a resumed run must keep it; the others say how to ask.
In a help text, `{limit}` names another option as the user types it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import PurePath
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import msgspec
from msgspec import Meta

from markscheme.errors import Surface, UsageError, command, nearest, option, speaking

Count = Annotated[int, Meta(ge=1)]
# Per problem. Applies to new runs only: an old manifest with more is still read.
MOST_SAMPLES = 1_000_000
Whole = Annotated[int, Meta(ge=0)]
Megabytes = Annotated[int, Meta(ge=128)]  # with less, Python does not start or has no room for sympy
NonNegative = Annotated[float, Meta(ge=0, le=1e12)]  # not infinite
Positive = Annotated[float, Meta(gt=0, le=1e12)]
Share = Annotated[float, Meta(gt=0, le=1)]
Points = Annotated[float, Meta(ge=0.1, le=50)]  # percentage points: a share such as 0.02 is refused, not misread


def _free(help: str, metavar: str | None = None, *, short: str = "", group: str = "", fixed: bool = False) -> Meta:
    """Describe an option of how to ask; the first option of a group names the group."""
    return Meta(description=help, extra={"short": short, "metavar": metavar, "fixed": fixed, "group": group})


_OPTION_IN_HELP = re.compile(r"\{(?!statement)(\w+)(?::(\w+))?\}")
_fixed = partial(_free, fixed=True)  # an option that is part of what is asked


class RunConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """What a run asks and how it is marked. `None` means the benchmark's or the model's default."""

    benchmark: str
    model: str

    samples: Annotated[Count, _fixed("responses per problem", short="-n", group="sampling")] = 1
    temperature: Annotated[
        NonNegative | None,
        _fixed("sampling temperature (default: 0 for one sample, 0.8 for several)", "TEMP", short="-t"),
    ] = None
    pass_k: Annotated[
        tuple[int, ...], _free("report pass@k for these values of k, separated by commas", "K,K…", short="-k")
    ] = ()
    top_k: Annotated[Count | None, _fixed("sample from the N most likely tokens")] = None
    top_p: Annotated[
        Share | None, _fixed("nucleus sampling: sample from the most likely tokens whose probabilities add up to X")
    ] = None
    max_tokens: Annotated[Count | None, _fixed("longest response in tokens (default: the model's own limit)")] = None
    until: Annotated[
        Points | None,
        _free(
            "add samples in rounds until the 95 % interval of the accuracy on these problems is no wider than ±POINTS; "
            "{samples} is then the size of the first round (default: 4)",
            "±POINTS",
        ),
    ] = None
    until_better: Annotated[
        str | None,
        _free(
            "add samples until the model is shown to be better than this run, or a gain of {margin} points is ruled out; "
            "in an experiment with two models, the name of the first",
            "BASELINE",
        ),
    ] = None
    margin: Annotated[
        Points | None, _free("with {until_better}: the smallest gain that matters, in percentage points", "POINTS")
    ] = None
    max_samples: Annotated[
        Count, _free("with {until} or {until_better}: at most N samples per problem on average", "N")
    ] = 64
    stop: Annotated[tuple[str, ...], _fixed("stop generating at this text; may be repeated")] = ()
    seed: Annotated[Whole, _fixed("base seed; each sample gets its own seed derived from it")] = 0

    prompt: Annotated[
        str | None,
        _fixed(
            "prompt variant of the benchmark (see `markscheme list`), or a template that contains {statement}",
            "NAME|TEXT",
            group="prompt",
        ),
    ] = None
    fewshot: Annotated[Whole | None, _fixed("number of worked examples in the prompt (default: the benchmark's)")] = (
        None
    )
    fewshot_pool: Annotated[
        str | None,
        _fixed(
            "source of the worked examples: a file of problems or a benchmark (default: the benchmark's own examples)",
            "FILE|BENCHMARK",
        ),
    ] = None
    fewshot_seed: Annotated[Whole, _fixed("seed for choosing the worked examples")] = 42
    limit: Annotated[Count | None, _fixed("only the first N problems")] = None
    limit_seed: Annotated[
        Whole | None, _fixed("with {limit}: draw the problems at random with seed N instead of taking the first")
    ] = None
    stratify: Annotated[
        tuple[str, ...],
        _fixed(
            "with {limit} and {limit_seed}: draw the same share from every stratum, that is, from every value of a problem "
            "field such as level, or from every solve rate in stored runs; repeat it to name several runs",
            "FIELD|RUN",
        ),
    ] = ()
    system_prompt: Annotated[str | None, _fixed("system message before every question", "TEXT")] = None
    then: Annotated[
        tuple[str, ...],
        _fixed("user message sent after the answer, such as 'Are you sure?'; repeat it for more turns", "TEXT"),
    ] = ()
    protocol: Annotated[str | None, _fixed("protocol that marks the responses (default: the benchmark's)")] = None

    tools: Annotated[
        tuple[str, ...],
        _fixed("tool that the model may call, such as python; may be repeated", "TOOL", group="tools"),
    ] = ()
    tool_format: Annotated[
        Literal["native", "fenced", "nanochat"],
        _fixed("form of a tool call: the server's API, ```python blocks in the text, or nanochat's tags in the text"),
    ] = "native"
    max_turns: Annotated[Count, _fixed("with {tools}: at most N model turns per response", "N")] = 16
    tool_timeout: Annotated[Positive, _fixed("time limit of one tool call", "SECONDS")] = 30.0
    tool_memory: Annotated[Megabytes, _fixed("memory limit of one tool call in megabytes", "MB")] = 2048
    tool_state: Annotated[
        Literal["session", "none"],
        _fixed("whether variables are kept between tool calls of the same response"),
    ] = "session"
    sandbox: Annotated[
        str,
        _free(
            "sandbox for tools: bubblewrap, nsjail, podman, docker or landlock (default: the first that works)", "NAME"
        ),
    ] = "auto"
    tool_image: Annotated[str, _free("container image for podman and docker; it must exist locally", "IMAGE")] = (
        "python:3.12-slim"
    )
    unsafe_tools: Annotated[bool, _free("run tools without a sandbox if none is available")] = False

    base_url: Annotated[
        tuple[str, ...], _free("server address; repeat it for several replicas", "URL", group="model")
    ] = ()
    name: Annotated[str | None, _free("label for the model in reports, such as `int4`", "NAME")] = None
    step: Annotated[Whole | None, _free("training step of the checkpoint, for reports on a training run", "N")] = None
    api: Annotated[
        Literal["chat", "completions", "responses"],
        _fixed("chat messages, plain completions for base models, or OpenAI's Responses API (openai/ only)"),
    ] = "chat"
    background: Annotated[
        bool, _free("let the provider run each request in the background and fetch the answer later ({api:responses})")
    ] = False
    api_key_env: Annotated[
        str | None,
        _free("environment variable with the API key (default: the backend's own, such as OPENAI_API_KEY)", "VARIABLE"),
    ] = None
    header: Annotated[
        tuple[str, ...], _free("extra HTTP header for every request; may be repeated", "'NAME: VALUE'")
    ] = ()
    extra_field: Annotated[
        tuple[str, ...],
        _fixed(
            "extra field of the request body; the value is JSON or text, and `null` removes the field; may be repeated",
            "KEY=VALUE",
        ),
    ] = ()
    chat_template_kwarg: Annotated[
        tuple[str, ...],
        _fixed("argument for the server's chat template, such as enable_thinking=false; may be repeated", "KEY=VALUE"),
    ] = ()
    reasoning_effort: Annotated[
        str | None, _fixed("reasoning effort, in the server's terms: low, medium, high …", "EFFORT")
    ] = None
    reasoning_summary: Annotated[
        Literal["auto", "concise", "detailed"] | None,
        _fixed("ask for a summary of the model's reasoning ({api:responses})"),
    ] = None
    thinking_budget: Annotated[Count | None, _fixed("at most N tokens of thinking (anthropic/)")] = None
    response_field: Annotated[str, _fixed("http/: field of the reply that contains the text")] = "answer"
    max_tokens_field: Annotated[
        str | None,
        _free(
            "openai/: name of the request field for the token limit (default: max_completion_tokens for OpenAI, else "
            "max_tokens)"
        ),
    ] = None
    samples_per_request: Annotated[
        Count | None,
        _fixed(
            "ask for N samples in one request (the server's `n`), so that the prompt is computed once (default: the "
            "backend's, usually 1)"
        ),
    ] = None

    replicas: Annotated[
        Count,
        _free(
            "number of copies of the model, each on its own GPUs (vllm/, sglang/, … or {engine:ray})",
            group="servers and replicas that markscheme starts",
        ),
    ] = 1
    gpus_per_replica: Annotated[
        NonNegative | None,
        _free("GPUs per copy (default: worked out from {server_arg} tensor-parallel-size and similar)", "N"),
    ] = None
    server_arg: Annotated[
        tuple[str, ...],
        _free(
            "option for the started server, without its dashes: tensor-parallel-size=2, enforce-eager; may be repeated",
            "KEY[=VALUE]",
        ),
    ] = ()
    server_timeout: Annotated[Positive, _free("time limit for a server to start", "SECONDS")] = 1800.0
    server_restarts: Annotated[Whole, _free("restart a server or replica that dies at most N times")] = 5
    engine: Annotated[Literal["local", "ray"], _free("run replicas on this machine or on a Ray cluster")] = "local"
    ray_address: Annotated[
        str | None,
        _free(
            "address of the Ray cluster, such as `auto` (default: $RAY_ADDRESS, else a new one on this machine)",
            "ADDRESS",
        ),
    ] = None

    concurrency: Annotated[
        Count | Literal["auto"] | None,
        _free(
            "number of requests in flight; `auto` adapts to the server (default: the backend's; auto for servers)",
            "N|auto",
            group="requests",
        ),
    ] = None
    batch: Annotated[bool, _free("use the provider's batch API: half the price, answers within a day")] = False
    request_interval: Annotated[NonNegative, _free("wait between two requests", "SECONDS")] = 0.0
    max_rpm: Annotated[Positive | None, _free("at most N requests per minute", "N")] = None
    max_tpm: Annotated[Positive | None, _free("at most N tokens per minute, prompts and responses together", "N")] = (
        None
    )
    max_cost: Annotated[
        NonNegative | None, _free("stop asking once the run has cost this many dollars; needs a known price", "DOLLARS")
    ] = None
    max_tokens_total: Annotated[
        Count | None, _free("stop asking once N tokens are used, prompts and responses together")
    ] = None
    max_retries: Annotated[Whole, _free("retry a request at most N times if a retry can help")] = 30
    retry_delay: Annotated[
        NonNegative,
        _free(
            "wait before the first retry; doubles with each retry while the server is down or busy, up to a minute",
            "SECONDS",
        ),
    ] = 1.0
    request_timeout: Annotated[
        Positive,
        _free(
            "give up on a request after this long without data; without streaming, after this long in total", "SECONDS"
        ),
    ] = 1800.0
    total_timeout: Annotated[
        Positive, _free("time limit of one streamed request, including the whole generation", "SECONDS")
    ] = 14400.0
    no_stream: Annotated[bool, _free("receive each answer in one piece instead of streaming it")] = False

    data_dir: Annotated[
        str | None,
        _free("data folder (default: $MARKSCHEME_DATA, else the user cache)", "DIR", group="folders"),
    ] = None
    prices: Annotated[
        str | None, _free("price table (default: $MARKSCHEME_PRICES, else the packaged one)", "FILE.toml")
    ] = None


class Option(NamedTuple):
    """An option of a run: a field of `RunConfig`, flags of the command line, and an argument in Python."""

    name: str
    kind: Any
    default: Any
    help: str
    group: str
    short: str
    metavar: str | None
    fixed: bool

    def explained(self, surface: Surface) -> str:
        """Return the help text for the command line or for Python."""
        with speaking(surface):
            return _OPTION_IN_HELP.sub(lambda named: option(named[1], named[2]), self.help)

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags, the long one last."""
        return (*filter(None, [self.short]), f"--{self.name.replace('_', '-')}")


@cache
def run_options() -> dict[str, Option]:
    """Return every option of a run except the benchmark and the model."""
    options, group = {}, ""
    for field in msgspec.structs.fields(RunConfig):
        if get_origin(field.type) is Annotated:
            kind, *_, meta = get_args(field.type)  # Annotated[Annotated[int, limits], option] comes flattened
            group = meta.extra["group"] or group
            options[field.name] = Option(
                field.name, kind, field.default, meta.description, **{**meta.extra, "group": group}
            )
    return options


def fixed_options() -> tuple[str, ...]:
    """Return the names of the options that a resumed run must keep."""
    return ("benchmark", "model", *(each.name for each in run_options().values() if each.fixed))


# Fixed options whose values are not settings to compare or to sweep.
NO_SETTINGS = ("benchmark", "model", "protocol", "samples", "limit", "limit_seed")
# Options that distinguish runs of the same questions.
SETTINGS = ("name", "step", *(name for name in fixed_options() if name not in NO_SETTINGS), "server_arg")


def settings(config: RunConfig) -> dict[str, Any]:
    """Return those settings that differ from the default."""
    return {name: value for name in SETTINGS if (value := getattr(config, name)) != run_options()[name].default}


# Options that would change what a judge is asked.
NOT_FOR_JUDGES = (
    *("samples", "pass_k", "until", "until_better", "margin", "max_samples", "stop", "name", "step", "data_dir"),
    *(each.name for each in run_options().values() if each.group in ("prompt", "tools")),
)


def make_config(**options: Any) -> RunConfig:
    """Return a checked config. A wrong value is a `UsageError` that names the option."""
    known = run_options()
    given = {name: plain(value) for name, value in options.items()}
    for name, value in given.items():
        if name not in RunConfig.__struct_fields__:
            short = [each.name for each in known.values() if each.short == f"-{name}"]
            hint = nearest(name, RunConfig.__struct_fields__, f"{command('run --help')} lists the options")
            raise UsageError(f"there is no option {name!r}; {f'did you mean {short[0]}?' if short else hint}")
        several = isinstance(value, str) and name in known and known[name].kind == tuple[str, ...]
        if several or (name == "pass_k" and isinstance(value, int)):
            given[name] = (value,)
        if name in ("samples", "max_samples") and isinstance(value, int) and value > MOST_SAMPLES:
            raise UsageError(f"{option(name)} cannot be {value}: a problem has at most {MOST_SAMPLES} samples")
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and not is_text(text):
                raise UsageError(f"{option(name)} is not text: it contains bytes that are not UTF-8")
    try:
        return msgspec.convert(given, RunConfig, strict=True)
    except msgspec.ValidationError as error:
        raise UsageError(_complaint(str(error), given)) from None


def plain(value: Any) -> Any:
    """Convert numbers and arrays of numpy, paths and lists to the values that a config holds."""
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
    return tuple(map(plain, value)) if isinstance(value, list | tuple | range) else value


_KINDS = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "True or False", "array": "a list"}
_LIMITS = {">=": "of at least", ">": "above", "<=": "of at most", "<": "below"}


def _complaint(error: str, options: Mapping[str, Any]) -> str:
    """Return msgspec's message with the option in place of its path."""
    reason, _, path = error.rpartition(" - at `$.")
    name = re.match(r"\w*", path)[0]  # type: ignore[index]  # matches the empty text at least
    if name not in options:
        return f"these options do not fit: {error}"
    given = f"{options[name]:g}" if isinstance(options[name], float) else repr(options[name])
    wanted = re.fullmatch(r"Expected `(\w+)[^`]*`(?:, got `\w+`| (>=|>|<=|<) (\S+))", reason)
    if wanted is None or wanted[1] not in _KINDS:
        return f"{option(name)} cannot be {given}: {reason[0].lower()}{reason[1:]}"
    limit = f" {_LIMITS[wanted[2]]} {float(wanted[3]):g}" if wanted[2] else ""
    return f"{option(name)} cannot be {given}: it must be {_KINDS[wanted[1]]}{limit}"


def is_text(value: str) -> bool:
    """Return False for an argument with bytes that are not UTF-8, which Python passes as lone surrogates."""
    return not any("\ud800" <= sign <= "\udfff" for sign in value)


def check_pass_k(config: RunConfig) -> None:
    """Refuse pass@k with fewer than k samples before anything is paid for."""
    name = "samples" if config.until is None else "max_samples"
    for k in config.pass_k:
        if not 1 <= k <= (most := getattr(config, name)):
            raise UsageError(f"pass@{k} needs at least {k} samples per problem, and {option(name)} is {most}")
