"""Load a transformers model and test which way of generating reproduces its own logits."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from markscheme.errors import ModelError, UsageError, first_line, needed, option
from markscheme.models.local.attention import NAME, Part, current, register
from markscheme.models.local.cohorts import Cohort, Prefix
from markscheme.models.local.endings import Endings
from markscheme.models.local.engine import Engine, Forward

OPTIONS = ("adapter", "batch_size", "compile", "device", "device_map", "dtype", "engine", "logprobs")
# Rows in parallel if memory allows; more gain little (measured on a CPU; a GPU is saturated as well).
SLOTS = {"cpu": 64, "cuda": 256}
PLAIN_BATCH = 16
MEMORY = 0.6  # share of the free memory for keys and values
# Files in which a container states its memory limit (cgroup v2 and v1), and the names of the files with its usage.
CONTAINER = (
    (Path("/sys/fs/cgroup"), "memory.max", "anon"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "total_rss"),
)
# Difference of logits, relative to the largest, that rounding explains (a half-precision model is tested in its own
# precision).
CLOSE = 2e-3


@dataclass
class Loaded:
    """A model that is ready to generate."""

    model: Any
    tokenizer: Any
    endings: Endings
    context: int
    slots: int
    logprobs: bool
    forward: Forward | None  # `None` if only plain `generate` is correct
    said: str  # how it is computed, for the log

    def engine(self) -> Engine:
        """Return the generation loop for this model."""
        assert self.forward is not None
        return make_engine(self.model, self.forward, self.endings, slots=self.slots, logprobs=self.logprobs)


def make_engine(model: Any, forward: Forward, endings: Endings, *, slots: int | None = None, **more: Any) -> Engine:
    """Create an engine with as many slots as are useful, and the memory that is free."""
    slots = slots or SLOTS.get(model.device.type, 64)
    budget = int(MEMORY * free_memory(model.device))
    return Engine(forward, endings, slots=slots, budget=budget, stems=not _windows(model.config), **more)


def load(
    target: str,
    *,
    adapter: str | None = None,
    batch_size: int | None = None,
    compile: bool = False,
    device: str | None = None,
    device_map: str | None = None,
    dtype: str | None = None,
    engine: str = "auto",
    logprobs: bool = False,
) -> Loaded:
    """Load the model from a folder or the Hub."""
    hub = needed("transformers", "hf")  # typed in parts only
    if batch_size is not None and (type(batch_size) is not int or batch_size < 1):
        raise UsageError(f"{option('extra_field')} batch_size={batch_size} is not a positive whole number")
    if engine not in ("auto", "plain"):
        raise UsageError(f"{option('extra_field')} engine={engine} is neither auto nor plain")
    try:
        place = torch.device(device or default_device())
    except RuntimeError as error:
        raise UsageError(f"{option('extra_field')} device={device} is not a device: {first_line(error)}") from None
    if dtype is not None and not isinstance(getattr(torch, str(dtype), None), torch.dtype):
        raise UsageError(
            f"{option('extra_field')} dtype={dtype} is not a torch dtype; say bfloat16, float16 or float32"
        )
    # Half precision is slower than single on a CPU, so it is used there only on request.
    kind = dtype or ("float32" if place.type == "cpu" else "auto")
    path = str(Path(target).expanduser()) if Path(target).expanduser().exists() else target
    try:
        tokenizer = hub.AutoTokenizer.from_pretrained(path, padding_side="left")
        model = hub.AutoModelForCausalLM.from_pretrained(path, dtype=kind, device_map=device_map)
        if adapter:  # LoRA, merged into the weights
            peft = needed("peft", "lora").PeftModel
            model = peft.from_pretrained(model, str(Path(adapter).expanduser())).merge_and_unload()
        model = (model if device_map else model.to(place)).eval()
    except (OSError, ValueError, KeyError, RuntimeError, AssertionError) as error:
        raise ModelError(f"hf cannot load {target!r}: {first_line(error)}") from None
    ends = _ends(model, tokenizer, hub)
    forward, why = (None, "") if engine == "plain" else adopt(model, compile=compile)
    if forward is None and logprobs:
        raise UsageError(
            f"{option('extra_field')} logprobs needs the engine, and this model is left to plain `generate`"
        )
    slots = batch_size or (SLOTS.get(model.device.type, 64) if forward else PLAIN_BATCH)
    said = (
        f"hf/: {slots} slots, refilled at every step" if forward else f"hf/: plain `generate`, {slots} at a time{why}"
    )
    context = getattr(model.config, "max_position_embeddings", None) or 1 << 30
    return Loaded(model, tokenizer, Endings(tokenizer, ends, target), context, slots, logprobs, forward, said)


def _ends(model: Any, tokenizer: Any, hub: Any) -> Sequence[int]:
    """Return the tokens that end an answer, and remove the model's other defaults from `generate`."""
    own = model.generation_config.eos_token_id
    own = own if own is not None else tokenizer.eos_token_id
    ends = [own] if isinstance(own, int) else list(own or ())
    if tokenizer.pad_token_id is None:  # padding is masked out, so any token will do
        tokenizer.pad_token_id = ends[0] if ends else 0
    model.generation_config = hub.GenerationConfig(eos_token_id=ends or None, pad_token_id=tokenizer.pad_token_id)
    return ends


def adopt(model: Any, *, compile: bool = False) -> tuple[Forward | None, str]:
    """Return a forward pass with our attention if its logits match the model's own, and a sentence about it."""
    register()
    own = model.config._attn_implementation
    run = torch.compile(model, dynamic=True) if compile else model

    def forward(tokens: torch.Tensor, positions: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        device = model.device
        out = run(
            input_ids=tokens.to(device),
            position_ids=positions.to(device),
            use_cache=False,
            logits_to_keep=keep.to(device),
        )
        logits: torch.Tensor = out.logits[0]
        return logits

    probe = list(range(3, 3 + 11))
    current.windows = set()
    try:
        _check_kind(model.config)
        with torch.inference_mode():
            expected = model(torch.tensor([probe], device=model.device), use_cache=False).logits[0, -3:].float()
            model.set_attn_implementation(NAME)
            found = _probe(forward, probe, stems=not _windows(model.config)).float()
        if len(current.windows) < len(_windows(model.config)):  # its mask contains something that we do not support
            why = "its window does not reach our attention"
        elif (
            found.shape == expected.shape and (found - expected).abs().max() <= _tolerance(model) * expected.abs().max()
        ):
            return forward, ""
        else:
            why = "its logits differ when its attention is ours"
    except Exception as error:  # noqa: BLE001 - whatever a model makes of it, plain `generate` is left
        why = first_line(error)
    model.set_attn_implementation(own)
    return None, f": the engine does not suit this model ({why})"


def _tolerance(model: Any) -> float:
    return max(CLOSE, 8 * float(torch.finfo(model.dtype).eps))


def _probe(forward: Forward, tokens: Sequence[int], *, stems: bool) -> torch.Tensor:
    """Return logits of the last three tokens: of a prompt (after a stem), and two of a row."""

    def read(prefix: Prefix) -> torch.Tensor:
        current.parts = [Part(prefix, 0, prefix.left)]
        new = range(prefix.before, len(prefix.tokens))
        logits = forward(torch.tensor([[tokens[at] for at in new]]), torch.tensor([new]), torch.tensor([len(new) - 1]))
        prefix.done = len(new)
        return logits

    prompt = Prefix(tokens[:-2], Prefix(tokens[:4]) if stems else None)
    logits = [read(prefix) for prefix in (prompt.stem, prompt) if prefix][-1:]
    cohort: Cohort[int] = Cohort(1, prompt.done, prompt.stem)
    cohort.add(0, prompt)
    for at in (len(tokens) - 2, len(tokens) - 1):
        current.parts = [Part(cohort, 0, 1)]
        logits.append(forward(torch.tensor([[tokens[at]]]), torch.tensor([[at]]), torch.tensor([0])))
        cohort.advance()
    return torch.cat(logits)


def _check_kind(config: Any) -> None:
    """Refuse attention that depends on length in a special way, which a test with a few tokens would not reveal."""
    text = config.get_text_config()
    strange = {*(getattr(text, "layer_types", None) or ())} - {"full_attention", "sliding_attention"}
    if strange:
        raise ModelError(f"it has layers of {', '.join(sorted(strange))}")
    rotary = getattr(text, "rope_parameters", None) or {}
    kinds = {one.get("rope_type") for one in (rotary, *rotary.values()) if isinstance(one, dict)}
    if kinds & {"dynamic", "longrope"}:
        raise ModelError("the longest row of a step would stretch the positions of all")


def _windows(config: Any) -> list[int]:
    """Return the layers that see only the last tokens; after a stem, those would need a cut for each row."""
    text = config.get_text_config()
    kinds = getattr(text, "layer_types", None)
    if kinds is None:
        kinds = ["sliding_attention" if getattr(text, "sliding_window", None) else ""] * text.num_hidden_layers
    return [layer for layer, kind in enumerate(kinds) if kind == "sliding_attention"]


def free_memory(device: torch.device) -> int:
    """Return the free bytes of a device."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:  # the page cache counts as free: on a machine that has been up for a while it is most of the memory
        free = 1024 * _numbers(Path("/proc/meminfo"))["MemAvailable:"]
    except (OSError, KeyError):  # not every system reports it
        return 4 << 30
    for folder, limit, used in CONTAINER:
        with contextlib.suppress(OSError, KeyError, ValueError):  # no such container, or it has no limit
            free = min(free, int((folder / limit).read_text()) - _numbers(folder / "memory.stat")[used])
    return max(free, 0)


def _numbers(file: Path) -> dict[str, int]:
    """Return the first two words of each line: a name and its number."""
    return {words[0]: int(words[1]) for words in map(str.split, file.read_text().splitlines()) if words[1:]}


def default_device() -> str:
    """Return a GPU if there is one; under torchrun, the one of the local rank."""
    if torch.cuda.is_available():
        return f"cuda:{int(os.environ.get('LOCAL_RANK', 0)) % torch.cuda.device_count()}"
    return "mps" if torch.backends.mps.is_available() else "cpu"
