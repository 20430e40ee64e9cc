"""`--model markscheme` in lm_eval: the answers of its own `hf`, from our engine."""

import os
import subprocess

import pytest

pytestmark = [pytest.mark.needs("torch", "transformers", "lm_eval"), pytest.mark.timeout(400)]

SCRIPT = """
import sys
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from markscheme.plugins.lm_eval_model import MarkschemeLM
import markscheme.plugins.lm_eval_model as ours

def instances(kind, *arguments):
    return [Instance(request_type=kind, doc={}, arguments=one, idx=place) for place, one in enumerate(arguments)]

greedy = {"until": ["x", "<|user|>"], "do_sample": False, "max_gen_toks": 40}
drawn = {"until": [], "do_sample": True, "temperature": 1.0, "max_gen_toks": 40}
prompts = ["2+2?", "a much longer question, so that rows of one batch would be padded", "?", "x" * 5000]
texts = instances("generate_until", *((prompt, greedy) for prompt in prompts))
pairs = instances("loglikelihood", ("2+2=", "4"), ("a b c", " d"))
theirs, mine = HFLM(pretrained=sys.argv[1], device="cpu", batch_size=2), MarkschemeLM(pretrained=sys.argv[1], device="cpu")
assert mine.generate_until(texts) == theirs.generate_until(texts)
assert mine.loglikelihood(pairs) == theirs.loglikelihood(pairs)  # its own attention is back in its place
repeated = instances("generate_until", *(("2+2?", drawn) for _ in range(6)))
first, again = mine.generate_until(repeated), mine.generate_until(repeated)
assert first == again and len(set(first)) == 6, first
made = []
ours.make_engine, former = (lambda *given, **more: made.append(1) or former(*given, **more)), ours.make_engine
mine.generate_until(texts)
assert made, "the engine had no part in it"
"""


def test_model_when_it_is_asked_then_the_texts_of_lm_evals_own_and_the_same_likelihoods(lm_eval_programs, tiny_llama):
    done = subprocess.run(
        [lm_eval_programs / "python", "-c", SCRIPT, tiny_llama],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=350,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_command_when_the_model_is_markscheme_then_a_task_runs_on_it(lm_eval_programs, tiny_llama, tmp_path):
    command = [
        *(lm_eval_programs / "markscheme", "lm-eval", "--model", "markscheme", "--tasks", "countdown", "--limit", "2"),
        *("--model_args", f"pretrained={tiny_llama}", "--gen_kwargs", "max_gen_toks=8", "--device", "cpu"),
        *("--metadata", '{"sample": true}'),
    ]
    done = subprocess.run(
        command, env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}, cwd=tmp_path,
        capture_output=True, text=True, timeout=350,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "|countdown|" in done.stdout
