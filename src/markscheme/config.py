"""The one list of options of a run.

Command-line flags, the arguments of `ms.run` and the `config` of a manifest are all made from `RunConfig`, so they
cannot drift apart. What each option means is said once, here.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from markscheme.errors import UsageError

SAMPLING = "sampling"
PROMPT = "prompt"
REQUESTS = "requests"
FOLDERS = "folders"


Count = Annotated[int, Meta(ge=1)]
Whole = Annotated[int, Meta(ge=0)]


def _option(help: str, *flags: str, group: str, metavar: str | None = None) -> Meta:
    return Meta(description=help, extra={"flags": flags, "group": group, "metavar": metavar})


class RunConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """Everything that decides what a run asks and how it is marked. `None` means the benchmark's or model's default."""

    benchmark: str
    model: str

    samples: Annotated[Count, _option("responses per problem", "-n", "--samples", group=SAMPLING)] = 1
    temperature: Annotated[
        float | None,
        _option(
            "sampling temperature (default: the benchmark's)", "-t", "--temperature", group=SAMPLING, metavar="TEMP"
        ),
    ] = None
    pass_k: Annotated[
        tuple[int, ...],
        _option("report pass@k for these k, comma-separated", "-k", "--pass-k", group=SAMPLING, metavar="K,K…"),
    ] = ()
    top_k: Annotated[Count | None, _option("sample from the K likeliest tokens", "--top-k", group=SAMPLING)] = None
    top_p: Annotated[float | None, _option("nucleus sampling", "--top-p", group=SAMPLING)] = None
    max_tokens: Annotated[
        Count | None, _option("longest response, in tokens (default: the benchmark's)", "--max-tokens", group=SAMPLING)
    ] = None
    stop: Annotated[
        tuple[str, ...], _option("end a response at this text; may be repeated", "--stop", group=SAMPLING)
    ] = ()
    seed: Annotated[Whole, _option("every sample's own seed is derived from this one", "--seed", group=SAMPLING)] = 0

    prompt: Annotated[
        str | None, _option("prompt variant of the benchmark (see `markscheme list`)", "--prompt", group=PROMPT)
    ] = None
    fewshot: Annotated[
        Whole | None, _option("worked examples in the prompt (default: the benchmark's)", "--fewshot", group=PROMPT)
    ] = None
    fewshot_seed: Annotated[Whole, _option("which examples are drawn", "--fewshot-seed", group=PROMPT)] = 42
    limit: Annotated[Count | None, _option("only the first L problems", "--limit", group=PROMPT)] = None
    protocol: Annotated[
        str | None, _option("how responses are marked (default: the benchmark's)", "--protocol", group=PROMPT)
    ] = None

    base_url: Annotated[
        tuple[str, ...],
        _option("server address; repeat it for replicas", "--base-url", group=REQUESTS, metavar="URL"),
    ] = ()
    concurrency: Annotated[
        Count | None,
        _option("requests in flight, or `auto`", "--concurrency", group=REQUESTS, metavar="N|auto"),
    ] = None

    data_dir: Annotated[
        str | None,
        _option(
            "folder of official data (default: $MARKSCHEME_DATA, else the user cache)",
            "--data-dir",
            group=FOLDERS,
            metavar="DIR",
        ),
    ] = None


def make_config(**options: Any) -> RunConfig:
    """A checked config from plain values; a wrong one is a `UsageError` that names the option."""
    unknown = set(options) - set(RunConfig.__struct_fields__)
    if unknown:
        raise UsageError(
            f"unknown option {sorted(unknown)[0]!r}; the options are {', '.join(RunConfig.__struct_fields__)}"
        )
    try:
        return msgspec.convert(options, RunConfig, strict=True)
    except msgspec.ValidationError as error:
        raise UsageError(f"option out of range: {error}") from None


def check_pass_k(config: RunConfig) -> None:
    """pass@k needs k samples; say so before anything is paid for."""
    for k in config.pass_k:
        if not 1 <= k <= config.samples:
            raise UsageError(f"pass@{k} needs at least {k} samples per problem, and -n is {config.samples}")
