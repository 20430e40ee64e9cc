"""`inspect eval gsm8k/task.py [-T fewshot=5] [-T fewshot_seed=123]`: GSM8K for Inspect."""

from inspect_ai import Task, task

from markscheme.plugins.inspect_gsm8k import published_gsm8k


@task
def gsm8k(
    fewshot: int = 10,
    fewshot_seed: int = 42,
    shuffle_fewshot: bool = True,
    prompt: str | None = None,
    protocol: str | None = None,
    unanswered: str = "I",
    data_dir: str | None = None,
    sample: bool = False,
) -> Task:
    """The published task; `-T prompt=answer-line` has our words, `-T protocol=math` our marks, `-T sample=true` no official data."""
    return published_gsm8k(
        fewshot=fewshot,
        fewshot_seed=fewshot_seed,
        shuffle_fewshot=shuffle_fewshot,
        prompt=prompt,
        protocol=protocol,
        unanswered=unanswered,
        data_dir=data_dir,
        sample=sample,
    )
