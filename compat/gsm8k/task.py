"""`inspect eval gsm8k/task.py [-T fewshot=5] [-T fewshot_seed=123]`: GSM8K for Inspect."""

from inspect_ai import Task, task

from markscheme.plugins.inspect_tasks import make_task


@task
def gsm8k(fewshot: int = 10, fewshot_seed: int = 42, data_dir: str | None = None, sample: bool = False) -> Task:
    """Worked examples from the train split; `-T sample=true` takes the packaged problems instead of the official."""
    return make_task("gsm8k", fewshot=fewshot, fewshot_seed=fewshot_seed, data_dir=data_dir, sample=sample)
