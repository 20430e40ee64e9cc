"""The doors beside their originals on the same answers: every difference, with what each side says.

    python perf/doors.py --matheval DIR --ai-benchmarks DIR --nanochat DIR --lm-eval-countdown DIR --inspect-evals DIR

Each option is a checkout of a public repository (`--lm-eval-countdown` the folder of its countdown task); nothing of them
is in this one (`--inspect-evals` may be its unpacked wheel). What is not given is left out. The answers are real ones where a checkout ships some, else written forms
of right and wrong answers. A difference that docs/doors.md does not explain is a defect: the exit code is then 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import sys
import types
from collections.abc import Callable, Iterable
from pathlib import Path

import doors_typed

import markscheme as ms
from markscheme.countdown.solver import solve
from markscheme.plugins.doors.evaluate_records import normalize_answer
from markscheme.plugins.lm_eval import compute_score, countdown_prompt

ROOT = Path(__file__).parents[1]
FORMS = {
    "boxed": r"So \boxed{%s}.", "spaces in the box": r"\boxed{ %s }", "space before the brace": r"\boxed {%s}",
    "fbox": r"\fbox{%s}", "no brace": r"\boxed %s", "unclosed": r"\boxed{%s", "bold in the box": r"\boxed{\textbf{%s}}",
    "two boxes": r"\boxed{999} no, \boxed{%s}", "box in thinking": r"<think>\boxed{%s}</think> Done.",
    "thinking, then a box": r"<think>\boxed{999}</think> \boxed{%s}", "dollars": r"$\boxed{%s}$",
    "stated": "The answer is %s.", "bare": "%s", "leading zero": r"\boxed{0%s}", "decimal": r"\boxed{%s.0}",
}  # fmt: skip
"""Ways to write an answer, by name; a difference is counted by form."""


def module(name: str, file: Path, **stubs: types.ModuleType) -> types.ModuleType:
    """A file of a checkout as a module, with what it imports from its own repository given."""
    sys.modules.update(stubs)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


class Table:
    """Agreements and differences of one door, by the name of a form."""

    def __init__(self, door: str, explained: Iterable[str]) -> None:
        self.door, self.explained = door, set(explained)
        self.same = 0
        self.differences: dict[str, list[str]] = {}

    def add(self, form: str, original: object, ours: object, text: str) -> None:
        """Compare one pair."""
        if original == ours:
            self.same += 1
        else:
            self.differences.setdefault(form, []).append(f"{original!r} → {ours!r}: {text[:70]!r}")

    def show(self) -> bool:
        """Print it; whether every difference is explained."""
        total = sum(map(len, self.differences.values()))
        print(f"\n{self.door}: {self.same + total} compared, {self.same} the same, {total} different")
        for form, cases in self.differences.items():
            known = "" if form in self.explained else "  UNEXPLAINED"
            print(f"  {form}: {len(cases)}, such as {cases[0]}{known}")
        return set(self.differences) <= self.explained


def evaluate_py(checkout: Path) -> list[Table]:
    """`normalize_answer` of `evaluate.py` and of the door, on golds of MATH-500 (or the packaged ones) in every form."""
    original: Callable[[object], str] = module("matheval_original", checkout / "evaluate.py").normalize_answer
    # Its document says "the last \\boxed{…}", its code finds none with a brace in it: only such rows may differ.
    table = Table("evaluate.py, normalize_answer(response) == normalize_answer(gold)", ["a brace within the last box"])
    for gold in golds("math500"):
        for form, words in FORMS.items():
            if "zero" in form or "decimal" in form:
                continue
            text = words % gold
            braced = "{" in gold and form not in ("fbox", "no brace", "unclosed", "stated", "bare")
            kind = "a brace within the last box" if braced or form == "bold in the box" else form
            table.add(kind, original(text) == original(gold), normalize_answer(text) == normalize_answer(gold), text)
    typed = Table("evaluate.py, its documented commands typed", doors_typed.SENT.values())
    doors_typed.evaluate_py(checkout, typed.add)
    return [table, typed]


def gsm8k_benchmark(checkout: Path) -> list[Table]:
    """`GSM8KBenchmark` on the real answers that its repository ships."""
    sys.path.insert(0, str(checkout))
    original = module("gsm8k_original", checkout / "benchmarks" / "gsm8k" / "gsm8k_benchmark.py").GSM8KBenchmark(
        checkout / "benchmarks" / "gsm8k" / "data"
    )
    from markscheme.plugins.doors.gsm8k import GSM8KBenchmark

    folder = checkout / "benchmarks" / "gsm8k" / "data"
    door, table = GSM8KBenchmark(folder), Table("GSM8KBenchmark, its documented rule (gsm8k-benchmark)", [])
    for line in (folder / "gsm8k_gpt-4.1_answers.jsonl").read_text().splitlines():
        row = json.loads(line)
        expected = original.evaluate(row["question_id"], row["answer"]).score
        table.add("score", expected, door.evaluate(row["question_id"], row["answer"]).score, row["answer"][-70:])
    tests = Table("GSM8KBenchmark, the original's own tests", [])
    doors_typed.gsm8k_tests(checkout, tests.add)
    return [table, tests]


def nanochat_aime(checkout: Path) -> list[Table]:
    """The AIME tasks of a checkout that has them: `evaluate` on every form, and the unbiased pass@k."""
    common = module("tasks.common", checkout / "tasks" / "common.py")
    package = types.ModuleType("tasks")
    original = module(
        "tasks.aime_2024_original", checkout / "tasks" / "aime_2024.py", tasks=package, **{"tasks.common": common}
    )
    evaluate = original.AIME2024.evaluate
    table = Table("nanochat's AIME tasks, their documented rule (nanochat-aime)", [])
    chance = random.Random(0)
    for gold in (str(chance.randrange(1000)) for _ in range(64)):
        for form, words in FORMS.items():
            for said in (gold, str((int(gold) + 1) % 1000)):
                text = words % said
                expected = bool(evaluate(None, {"answer": gold}, text))
                table.add(form, expected, ms.mark(text, gold=gold, protocol="nanochat-aime").correct, text)
    return [table]


def lm_eval_countdown(folder: Path) -> list[Table]:
    """The published scorer on right and wrong equations in the forms that models write, and its prompt."""
    original = module("countdown_original", folder / "utils.py")
    wordings = {
        "plain": "%s", "with the result": "%s = %d", "tags": "<answer>%s</answer>", "prefix": "Answer: %s",
        "sentence": "Therefore, %s = %d.", "reasoning, then the equation": "Let me see: 1 + 1 = 2.\n%s = %d",
        "bold": "**%s = %d**", "latex": r"\[%s = %d\]", "times": None, "cut in two": "%s\nThis uses every number.",
    }  # fmt: skip
    newest = "<think>" in original.doc_to_text({"nums": [1, 2], "target": 3})  # reads nothing but tags
    known = [form for form in wordings if form != "tags"] if newest else ["times", "bold"]
    table = Table(f"lm_eval's countdown, {'newest' if newest else 'first'} commit, 1.0 or 0.0", known)
    original.random = types.SimpleNamespace(randint=lambda *_: 0)  # it prints one in 64
    for problem in ms.benchmark("countdown-sample").problems:
        nums, target = list(problem.gold.nums), problem.gold.target
        table.add(
            "prompt",
            original.doc_to_text({"nums": nums, "target": target}),
            countdown_prompt({"nums": nums, "target": target, "wording": "conversation" if newest else "documented"}),
            "",
        )
        solution = solve(nums, target)
        assert solution is not None
        right = solution.expression
        for equation in (right, right.replace(str(nums[0]), str(nums[0] + 1), 1), " + ".join(map(str, nums))):
            for form, words in wordings.items():
                if words is None:
                    text = equation.replace("*", "×").replace("/", "÷")
                else:
                    text = words % ((equation, target) if words.count("%") == 2 else equation)
                expected = original.compute_score(text, {"numbers": nums, "target": target})
                table.add(form, float(expected == 1.0), compute_score(text, nums, target), text)
    return [table]


def inspect_gsm8k(checkout: Path) -> list[Table]:
    """The published task of Inspect and ours, in five settings of few-shot and seed."""
    table = Table("Inspect's gsm8k", [])
    doors_typed.inspect_gsm8k(checkout, table.add)
    return [table]


def golds(benchmark: str) -> list[str]:
    """The golds of the official data if they are there, else of the packaged problems."""
    try:
        problems = ms.benchmark(benchmark).problems
    except ms.MarkschemeError:
        problems = ms.benchmark("math-sample").problems
    return [str(problem.gold) for problem in problems]


DOORS = {
    "matheval": evaluate_py,
    "ai_benchmarks": gsm8k_benchmark,
    "nanochat": nanochat_aime,
    "lm_eval_countdown": lm_eval_countdown,
    "inspect_evals": inspect_gsm8k,
}


def main() -> int:
    """Compare what is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in DOORS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path, metavar="DIR")
    args = parser.parse_args()
    given = {name: getattr(args, name) for name in DOORS if getattr(args, name)}
    if not given:
        parser.error("give at least one checkout, for example --matheval DIR")
    tables = [table for name, folder in given.items() for table in DOORS[name](folder)]
    explained = [table.show() for table in tables]
    return 0 if all(explained) else 1


if __name__ == "__main__":
    raise SystemExit(main())
