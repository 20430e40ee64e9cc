"""`Engine(model, tokenizer).generate(...)`: a column of tokens and of masks at each step, until all rows have ended."""

import os
import random
import signal
import time


class Engine:
    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer
        self._calls = 0

    def generate(self, tokens, num_samples=1, max_tokens=None, temperature=1.0, top_k=None, seed=42):
        assert isinstance(tokens, list)
        assert isinstance(tokens[0], int)
        self._calls += 1
        now = f"{os.environ.get('RANK', 0)}:{self._calls}"
        if now == os.environ.get("STAND_IN_DIES"):
            os.kill(os.getpid(), signal.SIGKILL)
        if now == os.environ.get("STAND_IN_INTERRUPTED"):  # Ctrl-C goes to everybody who was started from the terminal
            os.killpg(0, signal.SIGINT)
        # The real engine's calculator sets an alarm, which raises anywhere but in the main thread.
        signal.signal(signal.SIGALRM, signal.getsignal(signal.SIGALRM))
        prompt = self.tokenizer.decode(tokens)
        question, answer = max(
            ((asked, said) for asked, said in self.model.answers.items() if asked in prompt),
            key=lambda pair: len(pair[0]),
            default=("", "?"),
        )
        rng = random.Random(f"{seed} {question}" if temperature > 0 else question)
        draws = [rng.randrange(10) for _ in range(num_samples)]
        if temperature == 0:
            draws = [draws[0]] * num_samples
        end = self.tokenizer.encode_special("<|assistant_end|>")
        rows = []
        for draw in draws:
            text = (
                answer
                if draw < self.model.luck
                else "I would say \\boxed{1000}."
                if draw < 9
                else "Let me think. " * 99
            )
            rows.append([*self.tokenizer.encode(text), end])
        for step in range(max(map(len, rows)) if max_tokens is None else min(max_tokens, max(map(len, rows)))):
            time.sleep(float(os.environ.get("STAND_IN_PAUSE", 0)))
            # A row that has ended goes on with whatever comes, as in the real engine.
            yield [row[step] if step < len(row) else ord("x") for row in rows], [1] * num_samples
