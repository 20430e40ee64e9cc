"""Run folders for tests, made of plain JSON lines: finished, running, crashed, from another version, huge, hostile."""

import json
import random
from pathlib import Path

import msgspec

from markscheme.config import RunConfig
from markscheme.runs.folder import Manifest, Run
from markscheme.types import Mark, Message, Problem, Prompt, Question, Response, Verdict

SUBJECTS = ("Algebra", "Geometry", "Number Theory", "Probability")

# What comes in real outputs and must stay text.
HOSTILE = (
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 2'>",
    "<svg onload=\"window.pwned = 3\"><a href='javascript:window.pwned=4'>x</a></svg>",
    "[click](javascript:window.pwned=5) $\\href{javascript:window.pwned=6}{x}$",
    '$\\text{<img src=x onerror=window.pwned=7>}$ and $\\color{red" onload="window.pwned=8}x$',
    "broken $\\frac{1}{$ and $\\begin{matrix} 1 & 2$ and $" + "{" * 3000 + "$ and \\boxed{\\frac{1",
    "right to left \u202eevitcerroc\u202c and \u2066isolated\u2069, zero\u200bwidth, null \x00 and bell \x07",
    "</textarea></script></style></pre><h1>out</h1>{{ 7 * 7 }}{% raw %}",
    "$x$" * 2000,
    "\\" * 4000 + "$" * 4001,
)


def problem(number: int, **metadata: object) -> Problem:
    a, b = number + 2, 3 * number + 5
    return Problem(
        id=f"p{number:03d}",
        statement=(
            f"Let $f(x) = x^2 - {a + b}x + {a * b}$. Find the sum of the squares of the roots of $f$, "
            f"that is $\\sum_{{f(r)=0}} r^2$, for $\\frac{{{a}}}{{{b}}} < 1$."
        ),
        gold=str(a * a + b * b),
        protocol="math",
        metadata={"subject": SUBJECTS[number % len(SUBJECTS)], "level": number % 5 + 1, **metadata},
    )


def question(item: Problem) -> Question:
    return Question(problem=item, prompt=Prompt(messages=(Message(role="user", content=item.statement),)))


def manifest(problems: int, samples: int, **changes: object) -> Manifest:
    base = Manifest(
        config=RunConfig(benchmark="math-sample", model="openai/tiny-math", samples=samples),
        benchmark="math-sample",
        model="openai/tiny-math",
        protocol="math@1",
        samples=samples,
        problems=problems,
        started="2026-01-05T10:00:00+00:00",
        ended="2026-01-05T10:20:00+00:00",
        status="complete",
        packages={"markscheme": "0.1.0"},
        sampling={"temperature": 0.8, "max_tokens": 4096},
    )
    return msgspec.structs.replace(base, **changes)


def answer_text(item: Problem, answer: str, steps: int) -> str:
    lines = [
        f"Step {step + 1}. By Vieta, $r_1 + r_2 = s$ and $r_1 r_2 = p$, so $r_1^2 + r_2^2 = s^2 - 2p$."
        for step in range(steps)
    ]
    thinking = "<think>\nHmm, roots of a quadratic. $s^2-2p$ should do it.\nLet me check twice.\n</think>\n"
    return thinking + "\n\n".join(lines) + f"\n\nTherefore the sum is $\\boxed{{{answer}}}$."


def sample_of(item: Problem, sample: int, skill: float, seed: int = 0) -> tuple[Response, list[Mark]]:
    """A response and its marks under two protocols that sometimes disagree."""
    luck = random.Random(f"{seed}/{item.key}/{sample}")
    fate = luck.random()
    tokens = int(luck.lognormvariate(6.5, 0.6))
    common = {"key": item.key, "sample": sample}
    told = {"problem_id": item.id, "latency": tokens / 90, "seed": luck.randrange(10**6), "prompt_tokens": 120}
    if fate > 0.985:
        response = Response(**common, **told, error="the server answered 503 three times", error_kind="server")
        verdict = {"verdict": Verdict.ERROR, "why": response.error}
        return response, [Mark(**common, **verdict, protocol=name) for name in ("math@1", "normalized@4")]
    if fate > 0.95:
        text = answer_text(item, "0", 30).rpartition("Therefore")[0]
        response = Response(**common, **told, text=text, finish_reason="length", completion_tokens=4096)
        verdict = {"verdict": Verdict.TRUNCATED, "why": "cut off before an answer"}
        return response, [Mark(**common, **verdict, protocol=name) for name in ("math@1", "normalized@4")]
    right = fate < skill
    shown = item.gold if right else str(int(item.gold) + luck.choice([-1, 1, 2]))
    odd = luck.random() < 0.08 and right
    if odd:
        shown = f"{shown}.0"
    text = answer_text(item, shown, max(1, tokens // 60))
    start = text.rindex("\\boxed{") + len("\\boxed{")
    response = Response(**common, **told, text=text, finish_reason="stop", completion_tokens=tokens)
    found = {"answer": shown, "span": (start, start + len(shown))}
    why = "the same number" if right else f"gives {shown}, not {item.gold}"
    first = Mark(**common, **found, verdict=Verdict.CORRECT if right else Verdict.WRONG, why=why, protocol="math@1")
    strict = right and not odd
    why = "the same text" if strict else f"{shown!r} is not {item.gold!r}"
    second = Mark(
        **common, **found, verdict=Verdict.CORRECT if strict else Verdict.WRONG, why=why, protocol="normalized@4"
    )
    return response, [first, second]


def finished(path: Path, problems: int = 12, samples: int = 8, skill: float = 0.6, seed: int = 0, **changes) -> Path:
    """A complete run, marked under two protocols."""
    items = [problem(number) for number in range(problems)]
    run = Run.create(path, manifest(problems, samples, **changes), [question(item) for item in items])
    responses, first, second = [], [], []
    for sample in range(samples):
        for number, item in enumerate(items):
            ease = min(0.97, max(0.02, skill + 0.45 * (0.5 - number / max(1, problems - 1))))
            response, marks = sample_of(item, sample, ease, seed)
            responses.append(response)
            first.append(marks[0])
            second.append(marks[1])
    append(path / "responses.jsonl", responses)
    run.save_marks("math", first)
    run.save_marks("normalized", second)
    return path


def running(path: Path, problems: int = 6, samples: int = 4, done: int = 10) -> Path:
    """A run in the middle: some responses are there, the manifest says `running`."""
    items = [problem(number) for number in range(problems)]
    Run.create(path, manifest(problems, samples, status="running", ended=None), [question(item) for item in items])
    go_on(path, 0, done)
    return path


def go_on(path: Path, start: int, stop: int) -> None:
    """Let a running run get further: the answers number `start` to `stop`."""
    run = Run.open(path)
    items = [one.problem for one in run.questions()]
    for number in range(start, stop):
        response, marks = sample_of(items[number % len(items)], number // len(items), 0.7)
        append(path / "responses.jsonl", [response])
        append(path / "marks" / "math.jsonl", [marks[0]])


def crashed(path: Path) -> Path:
    """Killed in mid-write: the last line is torn, a line in the middle is damaged, no report."""
    running(path, done=9)
    with (path / "responses.jsonl").open("ab") as out:
        out.write(b'\x00\x00\xff garbage\n{"key": "abc", "sample": 0, "text": "\xff\xfe"}\n')
    go_on(path, 9, 11)
    with (path / "responses.jsonl").open("ab") as out:
        out.write(b'{"key": "0123", "sample": 3, "text": "the answer is $\\\\bo')
    return path


def from_the_future(path: Path) -> Path:
    """Unknown fields everywhere, a finish reason and a verdict that do not exist yet, a number beyond measure."""
    finished(path, problems=3, samples=2)
    for file in (path / "manifest.json", path / "problems.jsonl", path / "responses.jsonl", path / "marks/math.jsonl"):
        if file.suffix == ".json":
            file.write_text(json.dumps({**json.loads(file.read_text()), "quantum": {"x": [1]}}))
            continue
        lines = [{**json.loads(line), "quantum": {"x": [1]}} for line in file.read_text().splitlines()]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    lines = (path / "responses.jsonl").read_text().splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), "finish_reason": "collapsed", "latency": 1e300})
    (path / "responses.jsonl").write_text("\n".join(lines) + "\n")
    marks = (path / "marks/math.jsonl").read_text().splitlines()
    marks[1] = json.dumps({**json.loads(marks[1]), "verdict": "sublime"})
    (path / "marks/math.jsonl").write_text("\n".join(marks) + "\n")
    return path


def hostile(path: Path, long_line: int = 0) -> Path:
    """Texts that try to be more than text, in every field a model, a server or a data set can fill."""
    nasty = HOSTILE[0] + HOSTILE[6]
    item = Problem(
        id="<b>id</b>",
        statement=" ".join(HOSTILE),
        gold="<i>7</i>",
        protocol="math",
        solution=HOSTILE[1],
        metadata={"subject": "<script>window.pwned=9</script>", "level": 1},
    )
    other = Problem(id="b", statement="b", gold="7", metadata={"subject": "x", "level": 2})
    texts = [*HOSTILE, *(["y" * long_line] if long_line else [])]
    meta = manifest(2, len(texts), model=f"openai/{nasty}", benchmark="<u>bench</u>", status="complete")
    run = Run.create(path, meta, [question(item), question(other)])
    responses = [
        Response(
            key=item.key, sample=number, text=text, reasoning=text[:5000], finish_reason="stop", model=nasty,
            problem_id=item.id, completion_tokens=len(text),
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip
    append(path / "responses.jsonl", responses)
    run.save_marks(
        "math",
        [
            Mark(
                key=item.key, sample=number, verdict=Verdict.WRONG, protocol="math@1", answer=text[:200],
                why=f"{text[:80]} is not 7", span=(0, min(20, len(text))), flags=("<b>flag</b>",),
            )
            for number, text in enumerate(texts)
        ],
    )  # fmt: skip
    return path


def huge(path: Path, problems: int = 1000, samples: int = 100, text_bytes: int = 10_000) -> Path:
    """Many long responses, written with little memory; 1,000 × 100 × 10 kB is a gigabyte."""
    items = [problem(number) for number in range(problems)]
    run = Run.create(path, manifest(problems, samples), [question(item) for item in items])
    filler = "So $a_{n+1} = \\frac{a_n}{2} + 1$ and therefore $|a_n - 2| \\le 2^{-n}$.\n"
    encoder = msgspec.json.Encoder()
    files = (path / "responses.jsonl", run.marks_file("math"), run.marks_file("normalized"))
    with files[0].open("wb") as out, files[1].open("wb") as first, files[2].open("wb") as second:
        for sample in range(samples):
            for number, item in enumerate(items):
                response, marks = sample_of(item, sample, 0.9 - 0.8 * number / problems)
                padding = filler * ((text_bytes - len(response.text)) // len(filler))
                text = padding + response.text if not response.error else ""
                # The last response has a word that stands nowhere else, for the search.
                if sample == samples - 1 and number == problems - 1:
                    text = "xylophone " + text
                span = [None if m.span is None else (m.span[0] + len(padding), m.span[1] + len(padding)) for m in marks]
                out.write(encoder.encode(msgspec.structs.replace(response, text=text)) + b"\n")
                first.write(encoder.encode(msgspec.structs.replace(marks[0], span=span[0])) + b"\n")
                second.write(encoder.encode(msgspec.structs.replace(marks[1], span=span[1])) + b"\n")
    return path


def append(file: Path, items: list[msgspec.Struct]) -> None:
    with file.open("ab") as out:
        for item in items:
            out.write(msgspec.json.encode(item) + b"\n")
