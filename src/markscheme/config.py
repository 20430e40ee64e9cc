"""The one list of options of a run.

Command-line flags, the arguments of `ms.run` and the `config` of a manifest are all made from `RunConfig`, so they
cannot drift apart. What each option means is said once, here. An option is either part of what is asked (`fixed`: a
resumed run must keep it) or of how the asking is done.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from markscheme.errors import UsageError, nearest

SAMPLING = "sampling"
PROMPT = "prompt"
MODEL = "model"
SERVERS = "servers and replicas that markscheme starts"
REQUESTS = "requests"
FOLDERS = "folders"

Count = Annotated[int, Meta(ge=1)]
Whole = Annotated[int, Meta(ge=0)]
NonNegative = Annotated[float, Meta(ge=0, le=1e12)]  # not infinite
Positive = Annotated[float, Meta(gt=0, le=1e12)]
Share = Annotated[float, Meta(gt=0, le=1)]
Points = Annotated[float, Meta(ge=0.1, le=50)]  # percentage points: a share such as 0.02 is refused, not misread


def _option(help: str, *flags: str, group: str, metavar: str | None = None, fixed: bool = False) -> Meta:
    return Meta(description=help, extra={"flags": flags, "group": group, "metavar": metavar, "fixed": fixed})


class RunConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """Everything that decides what a run asks and how it is marked. `None` means the benchmark's or model's default."""

    benchmark: str
    model: str

    samples: Annotated[Count, _option("responses per problem", "-n", "--samples", group=SAMPLING, fixed=True)] = 1
    temperature: Annotated[
        NonNegative | None,
        _option(
            "sampling temperature (default: 0 for one sample, 0.8 for several)",
            "-t",
            "--temperature",
            group=SAMPLING,
            fixed=True,
            metavar="TEMP",
        ),
    ] = None
    pass_k: Annotated[
        tuple[int, ...],
        _option("report pass@k for these k, comma-separated", "-k", "--pass-k", group=SAMPLING, metavar="K,K…"),
    ] = ()
    top_k: Annotated[
        Count | None, _option("sample from the K likeliest tokens", "--top-k", group=SAMPLING, fixed=True)
    ] = None
    top_p: Annotated[Share | None, _option("nucleus sampling", "--top-p", group=SAMPLING, fixed=True)] = None
    max_tokens: Annotated[
        Count | None,
        _option(
            "longest response, in tokens (default: as many as the model gives)",
            "--max-tokens",
            group=SAMPLING,
            fixed=True,
        ),
    ] = None
    until: Annotated[
        Points | None,
        _option(
            "add samples in rounds until the 95 % interval of the accuracy on these problems is ± so many points; "
            "-n is then the size of the first round (default: 4)",
            "--until",
            group=SAMPLING,
            metavar="±POINTS",
        ),
    ] = None
    max_samples: Annotated[
        Count,
        _option("with --until: at most so many samples per problem, on average", "--max-samples", group=SAMPLING),
    ] = 64
    stop: Annotated[
        tuple[str, ...],
        _option("end a response at this text; may be repeated", "--stop", group=SAMPLING, fixed=True),
    ] = ()
    seed: Annotated[
        Whole, _option("every sample's own seed is derived from this one", "--seed", group=SAMPLING, fixed=True)
    ] = 0

    prompt: Annotated[
        str | None,
        _option(
            "prompt variant of the benchmark (see `markscheme list`), or a text with {statement} in it",
            "--prompt",
            group=PROMPT,
            fixed=True,
            metavar="NAME|TEXT",
        ),
    ] = None
    fewshot: Annotated[
        Whole | None,
        _option("worked examples in the prompt (default: the benchmark's)", "--fewshot", group=PROMPT, fixed=True),
    ] = None
    fewshot_pool: Annotated[
        str | None,
        _option(
            "where worked examples come from: a file of problems, or a benchmark (default: the benchmark's own pool)",
            "--fewshot-pool",
            group=PROMPT,
            fixed=True,
            metavar="FILE|BENCHMARK",
        ),
    ] = None
    fewshot_seed: Annotated[Whole, _option("which examples are drawn", "--fewshot-seed", group=PROMPT, fixed=True)] = 42
    limit: Annotated[Count | None, _option("only the first L problems", "--limit", group=PROMPT, fixed=True)] = None
    limit_seed: Annotated[
        Whole | None,
        _option(
            "with --limit: L problems drawn with this seed, not the first L", "--limit-seed", group=PROMPT, fixed=True
        ),
    ] = None
    system_prompt: Annotated[
        str | None,
        _option("system message before every question", "--system-prompt", group=PROMPT, fixed=True, metavar="TEXT"),
    ] = None
    protocol: Annotated[
        str | None,
        _option("how responses are marked (default: the benchmark's)", "--protocol", group=PROMPT, fixed=True),
    ] = None

    base_url: Annotated[
        tuple[str, ...],
        _option("server address; repeat it for replicas", "--base-url", group=MODEL, metavar="URL"),
    ] = ()
    api: Annotated[
        Literal["chat", "completions"],
        _option("chat messages, or plain text for base models (openai/ only)", "--api", group=MODEL, fixed=True),
    ] = "chat"
    api_key_env: Annotated[
        str | None,
        _option(
            "environment variable that holds the key (default: the backend's own, such as OPENAI_API_KEY)",
            "--api-key-env",
            group=MODEL,
            metavar="VARIABLE",
        ),
    ] = None
    header: Annotated[
        tuple[str, ...],
        _option(
            "one more HTTP header of every request; may be repeated", "--header", group=MODEL, metavar="'NAME: VALUE'"
        ),
    ] = ()
    extra_field: Annotated[
        tuple[str, ...],
        _option(
            "one more field of the request body; the value is JSON, or else text; `null` leaves a field out",
            "--extra-field",
            group=MODEL,
            fixed=True,
            metavar="KEY=VALUE",
        ),
    ] = ()
    chat_template_kwarg: Annotated[
        tuple[str, ...],
        _option(
            "an argument of the server's chat template, such as enable_thinking=false; may be repeated",
            "--chat-template-kwarg",
            group=MODEL,
            fixed=True,
            metavar="KEY=VALUE",
        ),
    ] = ()
    reasoning_effort: Annotated[
        str | None,
        _option(
            "how long the model should think, in the server's words: low, high …",
            "--reasoning-effort",
            group=MODEL,
            fixed=True,
            metavar="EFFORT",
        ),
    ] = None
    thinking_budget: Annotated[
        Count | None,
        _option("tokens that the model may think (anthropic/)", "--thinking-budget", group=MODEL, fixed=True),
    ] = None
    response_field: Annotated[
        str, _option("where http/ finds the text in the answer", "--response-field", group=MODEL, fixed=True)
    ] = "answer"
    max_tokens_field: Annotated[
        str | None,
        _option(
            "what the server calls the token limit (openai/; default: max_completion_tokens at OpenAI, else max_tokens)",
            "--max-tokens-field",
            group=MODEL,
        ),
    ] = None
    samples_per_request: Annotated[
        Count | None,
        _option(
            "samples in one request (the server's `n`), so that the prompt is computed once (default: the model's, mostly 1)",
            "--samples-per-request",
            group=MODEL,
            fixed=True,
        ),
    ] = None

    replicas: Annotated[
        Count,
        _option(
            "copies of the model, each on its own GPUs (vllm/, sglang/, … or --engine ray)", "--replicas", group=SERVERS
        ),
    ] = 1
    gpus_per_replica: Annotated[
        NonNegative | None,
        _option(
            "GPUs of each copy (default: what --server-arg tensor-parallel-size and its like amount to)",
            "--gpus-per-replica",
            group=SERVERS,
            metavar="N",
        ),
    ] = None
    server_arg: Annotated[
        tuple[str, ...],
        _option(
            "an option for the server that is started, without its dashes: tensor-parallel-size=2, enforce-eager",
            "--server-arg",
            group=SERVERS,
            metavar="KEY[=VALUE]",
        ),
    ] = ()
    server_timeout: Annotated[
        Positive,
        _option("seconds that a server may take to start", "--server-timeout", group=SERVERS, metavar="SECONDS"),
    ] = 1800.0
    server_restarts: Annotated[
        Whole,
        _option("times that a server or replica that dies is started again", "--server-restarts", group=SERVERS),
    ] = 5
    engine: Annotated[
        Literal["local", "ray"],
        _option("where replicas run: on this machine, or on a Ray cluster", "--engine", group=SERVERS),
    ] = "local"
    ray_address: Annotated[
        str | None,
        _option(
            "the Ray cluster, such as `auto` (default: $RAY_ADDRESS, else one on this machine)",
            "--ray-address",
            group=SERVERS,
            metavar="ADDRESS",
        ),
    ] = None

    concurrency: Annotated[
        Count | Literal["auto"] | None,
        _option(
            "requests in flight; `auto` finds out what the server takes (default: the model's, for servers auto)",
            "--concurrency",
            group=REQUESTS,
            metavar="N|auto",
        ),
    ] = None
    batch: Annotated[
        bool, _option("ask through the provider's batch API: half the price, within a day", "--batch", group=REQUESTS)
    ] = False
    request_interval: Annotated[
        NonNegative,
        _option("seconds between two requests", "--request-interval", group=REQUESTS, metavar="SECONDS"),
    ] = 0.0
    max_rpm: Annotated[Positive | None, _option("at most so many requests a minute", "--max-rpm", group=REQUESTS)] = (
        None
    )
    max_tpm: Annotated[
        Positive | None,
        _option("at most so many tokens a minute, prompt and response", "--max-tpm", group=REQUESTS),
    ] = None
    max_cost: Annotated[
        NonNegative | None,
        _option("start nothing more once so many dollars are spent; needs a known price", "--max-cost", group=REQUESTS),
    ] = None
    max_tokens_total: Annotated[
        Count | None,
        _option(
            "start nothing more once so many tokens are used, prompts and responses together",
            "--max-tokens-total",
            group=REQUESTS,
        ),
    ] = None
    max_retries: Annotated[
        Whole, _option("tries after the first, where another try can help", "--max-retries", group=REQUESTS)
    ] = 30
    retry_delay: Annotated[
        NonNegative,
        _option(
            "seconds before the second try; doubles with each while the server is down or busy, up to a minute",
            "--retry-delay",
            group=REQUESTS,
            metavar="SECONDS",
        ),
    ] = 1.0
    request_timeout: Annotated[
        Positive,
        _option(
            "seconds that one try may take, the whole generation included",
            "--request-timeout",
            group=REQUESTS,
            metavar="SECONDS",
        ),
    ] = 1800.0

    data_dir: Annotated[
        str | None,
        _option(
            "folder of official data (default: $MARKSCHEME_DATA, else the user cache)",
            "--data-dir",
            group=FOLDERS,
            metavar="DIR",
        ),
    ] = None
    prices: Annotated[
        str | None,
        _option(
            "price table for the cost (default: $MARKSCHEME_PRICES, else the packaged one)",
            "--prices",
            group=FOLDERS,
            metavar="FILE.toml",
        ),
    ] = None


def make_config(**options: Any) -> RunConfig:
    """A checked config from plain values; a wrong one is a `UsageError` that names the option."""
    for name in (name for name in options if name not in RunConfig.__struct_fields__):
        short = [option for option, meta in _metas().items() if meta.extra and f"-{name}" in meta.extra["flags"]]
        hint = nearest(name, RunConfig.__struct_fields__, "`markscheme run --help` names the options")
        raise UsageError(f"there is no option {name!r}; {f'did you mean {short[0]}?' if short else hint}")
    # One is as good as a list of one.
    for name in ("base_url", "stop", "header", "extra_field", "chat_template_kwarg", "server_arg"):
        if isinstance(options.get(name), str):
            options[name] = (options[name],)
    for name, value in options.items():
        for text in (value,) if isinstance(value, str) else value if isinstance(value, tuple | list) else ():
            if isinstance(text, str) and not _is_text(text):
                raise UsageError(f"{_flag(name)} is not text: it holds bytes that are no UTF-8")
    try:
        return msgspec.convert(options, RunConfig, strict=True)
    except msgspec.ValidationError as error:
        raise UsageError(_complaint(str(error), options)) from None


def _complaint(error: str, options: Mapping[str, Any]) -> str:
    """msgspec's sentence, with the flag that the user typed in place of its path."""
    reason, _, path = error.rpartition(" - at `$.")
    name = re.match(r"\w*", path)[0]  # type: ignore[index]  # matches the empty text at least
    if name not in options:
        return f"these options do not fit: {error}"
    return f"{_flag(name)} cannot be {options[name]!r}: {reason[0].lower()}{reason[1:]}"


def _is_text(value: str) -> bool:
    """The command line hands over bytes that are no text as lone surrogates, which no JSON can hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


@cache
def _metas() -> dict[str, Meta]:
    """What is said of each option beside its type: its flags, and whether a resumed run must keep it."""
    hints = get_type_hints(RunConfig, include_extras=True)
    return {name: get_args(hint)[-1] for name, hint in hints.items() if get_origin(hint) is Annotated}


def _flag(name: str) -> str:
    meta = _metas().get(name)
    return meta.extra["flags"][-1] if meta and meta.extra else name


def fixed_options() -> tuple[str, ...]:
    """The options that are part of what is asked, which a resumed run must keep."""
    return ("benchmark", "model", *(name for name, meta in _metas().items() if meta.extra and meta.extra["fixed"]))


def check_pass_k(config: RunConfig) -> None:
    """pass@k needs k samples; say so before anything is paid for."""
    most, flag = (config.samples, "-n") if config.until is None else (config.max_samples, "--max-samples")
    for k in config.pass_k:
        if not 1 <= k <= most:
            raise UsageError(f"pass@{k} needs at least {k} samples per problem, and {flag} is {most}")
