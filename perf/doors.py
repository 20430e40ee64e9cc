"""The doors beside their originals on the same answers: every difference, with what each side says.

    python perf/doors.py --matheval DIR --ai-benchmarks DIR --nanochat DIR --lm-eval-countdown DIR --inspect-evals DIR

Each option is a checkout of a public repository (`--lm-eval-countdown` the folder of its countdown task); nothing of them
is in this one (`--inspect-evals` may be its unpacked wheel). What is not given is left out. The answers are real ones where a checkout ships some, else written forms
of right and wrong answers. An explanation is a `Rule` that names the rows it covers; any
other difference is a defect, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import doors_typed

import markscheme as ms
from markscheme.countdown.solver import solve
from markscheme.plugins.doors.evaluate_records import normalize_answer
from markscheme.plugins.lm_eval import compute_score, countdown_prompt

ROOT = Path(__file__).parents[1]
# Ways to write an answer, by name.
FORMS = {
    "boxed": r"So \boxed{%s}.", "spaces in the box": r"\boxed{ %s }", "space before the brace": r"\boxed {%s}",
    "fbox": r"\fbox{%s}", "no brace": r"\boxed %s", "unclosed": r"\boxed{%s", "bold in the box": r"\boxed{\textbf{%s}}",
    "two boxes": r"\boxed{999} no, \boxed{%s}", "box in thinking": r"<think>\boxed{%s}</think> Done.",
    "thinking, then a box": r"<think>\boxed{999}</think> \boxed{%s}", "dollars": r"$\boxed{%s}$",
    "stated": "The answer is %s.", "bare": "%s", "leading zero": r"\boxed{0%s}", "decimal": r"\boxed{%s.0}",
}  # fmt: skip


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


class Rule(NamedTuple):
    """Why a door differs on purpose, and of which rows that is true: (the original's value, ours, the text)."""

    why: str
    covers: Callable[[Any, Any, str], bool]


class Table:
    """Agreements and differences of one door; a difference that no rule covers is a defect."""

    def __init__(self, door: str, *rules: Rule) -> None:
        self.door, self.rules = door, rules
        self.same = 0
        self.explained: dict[str, list[str]] = {}
        self.unexplained: dict[str, list[str]] = {}

    def add(self, form: str, original: object, ours: object, text: str) -> None:
        """Compare one pair."""
        if original == ours:
            self.same += 1
            return
        row = f"{original!r} → {ours!r}: {text[:70]!r}"
        rule = next((rule for rule in self.rules if rule.covers(original, ours, text)), None)
        (self.explained if rule else self.unexplained).setdefault(rule.why if rule else form, []).append(row)

    def show(self) -> bool:
        """Print it; whether every difference is explained."""
        total = sum(len(rows) for part in (self.explained, self.unexplained) for rows in part.values())
        print(f"\n{self.door}: {self.same + total} compared, {self.same} the same, {total} different")
        for why, rows in self.explained.items():
            print(f"  {len(rows)} rows: {why}; such as {rows[0]}")
        for form, rows in self.unexplained.items():
            print(f"  UNEXPLAINED, {form}: {len(rows)} rows", *rows[:10], sep="\n    ")
        return not self.unexplained


BRACED = Rule(
    "the document takes the last \\boxed{…}; the original's code finds none with a brace in it",
    lambda original, ours, text: (
        (original, ours) == (False, True) and re.search(r"\\boxed *\{[^}]*\{", text) is not None
    ),
)
SENT = Rule(
    "the same request, with numbers where the original sends their texts, and with a seed, a temperature and a wish for a stream",
    lambda original, ours, _: isinstance(ours, dict) and doors_typed.same_request(original, ours),
)
SIGNS = Rule(
    "`×`, `÷` and bold equations, which the original does not read",
    lambda original, ours, text: (original, ours) == (0.0, 1.0) and re.search(r"[×÷]|\*\*", text) is not None,
)
UNTAGGED = Rule(
    "an equation outside <answer>, which the document allows and the newest code does not read",
    lambda original, ours, text: (original, ours) == (0.0, 1.0) and "<answer>" not in text,
)


def evaluate_py(checkout: Path) -> list[Table]:
    """`normalize_answer` of `evaluate.py` and of the door, on golds of MATH-500 (or the packaged ones) in every form."""
    original: Callable[[object], str] = module("matheval_original", checkout / "evaluate.py").normalize_answer
    table = Table("evaluate.py, normalize_answer(response) == normalize_answer(gold)", BRACED)
    for gold in golds("math500"):
        for form, words in FORMS.items():
            if "zero" in form or "decimal" in form:
                continue
            text = words % gold
            table.add(form, original(text) == original(gold), normalize_answer(text) == normalize_answer(gold), text)
    typed = Table("evaluate.py, its documented commands typed", SENT)
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
    door, table = GSM8KBenchmark(folder), Table("GSM8KBenchmark, its documented rule (gsm8k-benchmark)")
    for line in (folder / "gsm8k_gpt-4.1_answers.jsonl").read_text().splitlines():
        row = json.loads(line)
        expected = original.evaluate(row["question_id"], row["answer"]).score
        table.add("score", expected, door.evaluate(row["question_id"], row["answer"]).score, row["answer"][-70:])
    tests = Table("GSM8KBenchmark, the original's own tests")
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
    table = Table("nanochat's AIME tasks, their documented rule (nanochat-aime)")
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
    table = Table(
        f"lm_eval's countdown, {'newest' if newest else 'first'} commit, 1.0 or 0.0", UNTAGGED if newest else SIGNS
    )
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
    table = Table("Inspect's gsm8k")
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
