"""Who answers: one file a backend, found by the name before the slash of `backend/target`."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from markscheme.errors import ModelError, UsageError

if TYPE_CHECKING:
    from markscheme.config import RunConfig
    from markscheme.models.base import Model

BACKENDS = {
    "openai": "OpenAI and compatible servers (vLLM, SGLang, llama.cpp …): openai/NAME with --base-url",
    "anthropic": "Anthropic's Messages API: anthropic/NAME",
    "http": "a server of your own, plain contract: http/http://localhost:8000/generate",
    "vllm": "starts `vllm serve` for you: vllm/Qwen/Qwen3-8B",
    "sglang": "starts SGLang for you: sglang/NAME; or its native /generate: sglang/http://localhost:30000",
    "transformers": "starts `transformers serve` for you: transformers/NAME",
    "llamacpp": "starts `llama-server` for you: llamacpp/FILE.gguf",
    "hf": "a Hugging Face model in this process: hf/PATH",
    "nanochat": "a checkpoint of nanochat, from its checkout: nanochat/sft",
    "nano": "the small Countdown model in the box, a demonstration: needs nothing",
    "solver": "exact Countdown solver: the upper bound, needs nothing",
    "replay": "stored outputs: replay/FILE.jsonl, needs nothing",
}
"""Built-in backends; the module of each has the same name."""

STARTED = ("vllm", "sglang", "transformers", "llamacpp")
"""Those whose servers markscheme starts, one for each replica."""

WITHOUT_GPU = ("nano", "solver")
"""Those that compute on cores only."""

ENTRY_POINTS = "markscheme.models"
"""Entry-point group through which another package adds a backend."""


def backend_names() -> dict[str, str]:
    """Every backend with its one line of description, installed plug-ins included."""
    plugins = {point.name: f"from {point.value.partition(':')[0]}" for point in entry_points(group=ENTRY_POINTS)}
    return {**plugins, **BACKENDS}


def check_backend(spec: str) -> None:
    """Refuse a spec whose backend does not exist."""
    backend = spec.partition("/")[0]
    if backend not in BACKENDS and not entry_points(group=ENTRY_POINTS, name=backend):
        raise UsageError(f"no model backend {backend!r} (in {spec!r}); there are {', '.join(backend_names())}")


def check_options(spec: str, config: RunConfig) -> None:
    """Refuse options that could have no effect: whoever gives them believes that they have. A plug-in may read them all."""
    backend, _, target = spec.partition("/")
    serverless = backend in BACKENDS and (backend not in STARTED or target.startswith(("http://", "https://")))
    if config.ray_address is not None and config.engine != "ray":
        raise UsageError("--ray-address is the cluster of --engine ray; give both, or neither")
    if config.server_arg and serverless:
        raise UsageError(f"--server-arg is for servers that are started here ({', '.join(STARTED)}), not for {backend}")
    if config.gpus_per_replica is not None and serverless and (config.engine != "ray" or backend in WITHOUT_GPU):
        raise UsageError(f"--gpus-per-replica has no effect on {backend}; leave it out")


def load_model(spec: str, config: RunConfig) -> Model:
    """The model a spec such as `openai/Qwen3-8B` or `solver` names."""
    from markscheme.models.secrets import check_key_variable

    check_key_variable(config)
    check_options(spec, config)
    backend, _, target = spec.partition("/")
    if config.engine == "ray":
        from markscheme.models.fleet.ray_model import create as place

        return place(spec, config)
    if config.replicas > 1 and backend not in STARTED:
        raise UsageError(f"--replicas {config.replicas} of {spec} need --engine ray, or a server that is started here")
    check_backend(spec)
    if backend in BACKENDS:
        module = import_module(f"markscheme.models.{backend}")
        model: Model = module.create(target, config)
        return model
    (point, *_) = entry_points(group=ENTRY_POINTS, name=backend)
    try:
        create = point.load()
    except (ImportError, AttributeError) as error:
        raise ModelError(f"the backend {backend!r} ({point.value}) cannot be loaded: {error}") from error
    plugin: Model = create(target, config)
    return plugin
