"""`load_model(source, device, phase, model_tag, step)`, with nanochat's folders and its way to guess tag and step."""

import json
import re
from pathlib import Path

from nanochat.common import get_base_dir
from nanochat.tokenizer import get_tokenizer

FOLDERS = {
    "base": "base_checkpoints",
    "mid": "mid_checkpoints",
    "sft": "chatsft_checkpoints",
    "rl": "chatrl_checkpoints",
}


class Scripted:
    """What a checkpoint holds here: right answers by question, and how many of ten samples get them right."""

    def __init__(self, checkpoint, device):
        self.answers, self.luck = checkpoint["answers"], checkpoint["luck"]
        self._device = device

    def get_device(self):
        return self._device


def load_model(source, device, phase, model_tag=None, step=None):
    assert phase in ("train", "eval")
    folder = Path(get_base_dir()) / FOLDERS[source]
    tag = model_tag or max((path.name for path in folder.iterdir()), key=lambda name: int(name.removeprefix("d")))
    steps = [int(re.match(r"model_(\d+)", path.name)[1]) for path in (folder / tag).iterdir()]
    step = step if step is not None else max(steps)
    checkpoint = json.loads((folder / tag / f"model_{step:06d}.pt").read_text())
    assert checkpoint["luck"] >= 0, "Tokenizer vocab size does not match model config vocab size"
    return Scripted(checkpoint, device), get_tokenizer(), {"step": step}
