"""Property tests on random examples, round after round; whatever fails is printed as a case to add to its test.

`make fuzz` goes on until it is stopped; `make fuzz FUZZ_SECONDS=600` ends after the round in which the time is over.
"""

import argparse
import random
import re
import subprocess
import sys
import time

FAILED = re.compile(r"^FAILED (\S+)", re.MULTILINE)
FALSIFIED = re.compile(r"^E +(?:Falsifying example|Failing test case): (\w+)\(\n(.*?)^E +\)$", re.DOTALL | re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0, help="0: until stopped")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("paths", nargs="*", default=["tests"])
    options = parser.parse_args()
    started, seen, rounds = time.monotonic(), set[str](), 0
    try:
        while not rounds or not options.seconds or time.monotonic() - started < options.seconds:
            rounds += 1
            seen |= one_round(random.SystemRandom().randrange(2**32), options.workers, options.paths)
            print(f"{rounds} rounds, {time.monotonic() - started:.0f} s, failing: {len(seen)}", flush=True)
    except KeyboardInterrupt:
        print()
    for test in sorted(seen):
        print(f"failed: {test}")
    return int(bool(seen))


def one_round(seed: int, workers: int, paths: list[str]) -> set[str]:
    """Every property test once, with examples drawn from `seed`; the tests that failed."""
    command = f"-m pytest -q -m hypothesis --hypothesis-profile fuzz --hypothesis-seed {seed} -n {workers}"
    done = subprocess.run([sys.executable, *command.split(), *paths], capture_output=True, text=True, check=False)
    if done.returncode > 1:  # not a failed test: pytest itself could not do its work
        sys.exit(done.stdout + done.stderr)
    for case in cases(done.stdout):
        print(case)
    return set(FAILED.findall(done.stdout))


def cases(output: str) -> list[str]:
    """What pytest printed of failing examples, as decorators to put above their tests."""
    return [
        f"above {test}:\n@example(\n{re.sub('^E +', '    ', arguments, flags=re.MULTILINE)})"
        for test, arguments in FALSIFIED.findall(output)
    ]


if __name__ == "__main__":
    sys.exit(main())
