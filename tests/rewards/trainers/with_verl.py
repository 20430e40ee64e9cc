"""verl's own reward managers and validation metrics with our functions, on a batch of four."""

from functools import partial

import numpy as np
import torch
from tensordict import TensorDict
from verl import DataProto
from verl.trainer.ppo.metric_utils import process_validation_metrics
from verl.workers.reward_manager import get_reward_manager_cls

from markscheme import rewards


class Letters:
    """A tokenizer whose tokens are code points."""

    def decode(self, ids, skip_special_tokens=True):
        return "".join(chr(int(each)) for each in ids if int(each))


def batch(rows):
    texts = [text for text, _, _ in rows]
    width = max(map(len, texts))
    responses = torch.tensor([[*map(ord, text), *[0] * (width - len(text))] for text in texts])
    prompts = torch.full((len(texts), 3), ord("?"))
    mask = torch.cat([torch.ones_like(prompts), (responses != 0).long()], 1)
    tensors = TensorDict({"prompts": prompts, "responses": responses, "attention_mask": mask}, batch_size=len(texts))
    columns = {
        "reward_model": [{"ground_truth": gold} for _, gold, _ in rows],
        "data_source": [source for _, _, source in rows],
        "extra_info": [{"question": "?"} for _ in rows],
    }
    return DataProto(
        batch=tensors, non_tensor_batch={name: np.array(each, dtype=object) for name, each in columns.items()}
    )


ROWS = [
    ("\\boxed{7}", "7", "aime_2024"),
    ("ANSWER: 18", "18", "openai/gsm8k"),
    ("no", "3", "unknown"),
    ("\\boxed{5}", ["4", "5"], "MATH"),
]
for name, function in (("naive", rewards.compute_score), ("batch", rewards.compute_score_batch)):
    for extras in (False, True):
        manager = get_reward_manager_cls(name)(
            tokenizer=Letters(), num_examine=0, compute_score=partial(function, extras=extras)
        )
        made = manager(batch(ROWS), return_dict=True)
        assert made["reward_tensor"].sum(1).tolist() == [1.0, 1.0, 0.0, 1.0], name
info = made["reward_extra_info"]
assert info["pred"] == ["7", "18", "", "5"]
assert info["verdict"][2] == "no_answer"
given = (["s"] * 4, ["a", "a", "b", "b"], {"acc": info["acc"], "pred": info["pred"]})
theirs, ours = process_validation_metrics(*given)["s"]["acc"], rewards.validation_metrics(*given)["s"]["acc"]
assert theirs["mean@2"] == ours["mean@2"] == 0.75
assert {"best@2/mean", "maj@2/mean"} <= theirs.keys() & ours.keys()
