"""The table of backends: one file each, found by the name before the slash in `backend/target`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Literal, NamedTuple

from markscheme.config import RunConfig
from markscheme.errors import ModelError, UsageError, needed, option
from markscheme.models.addresses import with_environment
from markscheme.models.base import Model
from markscheme.models.certificates import certificates_when_used
from markscheme.models.secrets import check_key_variable, guard
from markscheme.objects import is_object_spec


class Backend(NamedTuple):
    """A row of the table. The module has the backend's name and a function `create(target, config) -> Model`."""

    # Where answers come from: a server or file that exists already, servers that markscheme starts (one per replica),
    # this process, or this process without a GPU.
    computes: Literal["elsewhere", "in servers", "here", "on cores"]
    summary: str


# The built-in backends. None of their modules is imported before it is used.
BACKENDS = {
    "openai": Backend(
        "elsewhere", "OpenAI and compatible servers (vLLM, SGLang, llama.cpp …): openai/NAME with --base-url"
    ),
    "anthropic": Backend("elsewhere", "Anthropic's Messages API: anthropic/NAME"),
    "http": Backend("elsewhere", "a server of your own, plain contract: http/http://localhost:8000/generate"),
    "vllm": Backend("in servers", "starts `vllm serve` for you: vllm/Qwen/Qwen3-8B"),
    "sglang": Backend(
        "in servers", "starts SGLang for you: sglang/NAME; or its native /generate: sglang/http://localhost:30000"
    ),
    "transformers": Backend("in servers", "starts `transformers serve` for you: transformers/NAME"),
    "llamacpp": Backend("in servers", "starts `llama-server` for you: llamacpp/FILE.gguf"),
    "hf": Backend("here", "a Hugging Face model in this process: hf/PATH"),
    "nanochat": Backend("here", "a checkpoint of nanochat, from its checkout: nanochat/sft"),
    "nano": Backend("on cores", "the small Countdown model that ships with markscheme, a demonstration: needs nothing"),
    "solver": Backend("on cores", "exact Countdown solver: the upper bound, needs nothing"),
    "replay": Backend("elsewhere", "stored outputs: replay/FILE.jsonl, needs nothing"),
}

ELSEWHERE, STARTED, WITHOUT_GPU = (
    tuple(name for name, backend in BACKENDS.items() if backend.computes == where)
    for where in ("elsewhere", "in servers", "on cores")
)

ENTRY_POINTS = "markscheme.models"  # entry-point group for backends of other packages


def backend_names() -> dict[str, str]:
    """Return every backend with its one-line description, including installed plug-ins."""
    plugins = {point.name: f"from {point.value.partition(':')[0]}" for point in entry_points(group=ENTRY_POINTS)}
    return {**plugins, **{name: backend.summary for name, backend in BACKENDS.items()}}


def check_backend(spec: str) -> None:
    """Refuse a spec whose backend does not exist."""
    if is_object_spec(spec):
        return
    backend = spec.partition("/")[0]
    if backend not in BACKENDS and not entry_points(group=ENTRY_POINTS, name=backend):
        known = f"the backends are {', '.join(backend_names())}"
        raise UsageError(f"there is no model backend {backend!r} (in {spec!r}); {_meant(spec)}{known}")


def _meant(spec: str) -> str:
    """Suggest a spec: a misspelt backend, or a model of an OpenAI-compatible server."""
    backend, _, target = spec.partition("/")
    close = get_close_matches(backend, backend_names(), n=1)
    if close:
        return f"did you mean {close[0]}{f'/{target}' if target else ''}? "
    return "" if "://" in spec else f"for a model of an OpenAI-compatible server, use openai/{spec}; "


def check_options(spec: str, config: RunConfig) -> None:
    """Refuse options that would have no effect on this backend. A plug-in may read all of them."""
    backend, _, target = spec.partition("/")
    serverless = backend in BACKENDS and (backend not in STARTED or target.startswith(("http://", "https://")))
    if config.ray_address is not None and config.engine != "ray":
        raise UsageError(f"{option('ray_address')} is the cluster of {option('engine', 'ray')}; give both, or neither")
    if backend in BACKENDS and (BACKENDS[backend].computes in ("here", "on cores") or backend == "replay"):
        for name in ("header", "chat_template_kwarg", "reasoning_effort", "thinking_budget"):
            if getattr(config, name) not in (None, ()):
                raise UsageError(
                    f"--{name.replace('_', '-')} is sent to servers, and {backend} is not one; leave it out"
                )
    if backend in BACKENDS and backend != "anthropic" and config.thinking_budget is not None:
        raise UsageError(
            f"{option('thinking_budget')} is for anthropic/; for {backend}/ use {option('reasoning_effort')}, or {option('extra_field')} with the name that "
            "your server has for it"
        )
    if config.server_arg and serverless:
        raise UsageError(
            f"{option('server_arg')} is for servers that are started here ({', '.join(STARTED)}), not for {backend}"
        )
    if config.gpus_per_replica is not None and serverless and (config.engine != "ray" or backend in WITHOUT_GPU):
        raise UsageError(f"{option('gpus_per_replica')} has no effect on {backend}; leave it out")


def checked_options(spec: str, config: RunConfig) -> RunConfig:
    """Check the options, register their secrets for redaction, and add what the environment sets."""
    check_key_variable(config)
    check_options(spec, config)
    for warning in guard(config := with_environment(config)):
        print(f"markscheme: {warning}", file=sys.stderr)
    return config


def load_here(spec: str, config: RunConfig) -> Model:
    """Load the model that a spec names into this process."""
    config = checked_options(spec, config)
    backend, _, target = spec.partition("/")
    if config.replicas > 1 and backend not in STARTED:
        raise UsageError(
            f"{option('replicas', config.replicas)} of {spec} need {option('engine', 'ray')}, or a server that is started here"
        )
    model = _factory(spec)(target, config)
    if not isinstance(model, Model):
        raise ModelError(
            f"the backend {backend!r} made a {type(model).__name__}, which is not a Model: derive it from "
            "markscheme.models.base.Model, as CONTRIBUTING.md shows; it can keep its own attributes"
        )
    return model


def _factory(spec: str) -> Callable[[str, RunConfig], object]:
    """Return the `create` function of the spec's backend."""
    check_backend(spec)
    if is_object_spec(spec):
        from markscheme.models.callables import create as create_callable

        return lambda _, config: create_callable(spec, config)
    backend = spec.partition("/")[0]
    if backend in BACKENDS:
        # A backend that runs in this process may lack its library; the others need nothing beyond our own dependencies.
        with certificates_when_used():
            create: Callable[[str, RunConfig], object] = needed(f"markscheme.models.{backend}", "hf").create
        return create
    (point, *_) = entry_points(group=ENTRY_POINTS, name=backend)
    try:
        plugin: Callable[[str, RunConfig], object] = point.load()
    except (ImportError, AttributeError) as error:
        raise ModelError(f"the backend {backend!r} ({point.value}) cannot be loaded: {error}") from error
    return plugin
