"""Audit a training run while it runs: a wrapper around a TRL reward function, and a callback that can stop the
training.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from markscheme.rewards.gaming import Alarm, Monitor, Step
from markscheme.rewards.rollouts import Rollout
from markscheme.rewards.scoring import statement_of, text_of
from markscheme.rewards.trl import gold_column


class Watch:
    """A reward function that returns the rewards of `reward` and logs what an honest protocol would have paid.

    Its metrics go to TRL's trackers (`report_to`): `gaming/honest`, `gaming/overpaid`, `gaming/truncated`,
    `gaming/alarm`.
    """

    def __init__(self, reward: Callable[..., Any], protocol: Any = None, strict: str = "tricks") -> None:
        self._reward, self._monitor = reward, Monitor(protocol, strict)
        self.__name__ = getattr(reward, "__name__", "reward")
        self._calls = 0
        self._told = False
        self.latest: Step | None = None

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Any] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        paid = list(self._reward(prompts=prompts, completions=completions, completion_ids=completion_ids, **columns))
        state = columns.get("trainer_state")
        step = getattr(state, "global_step", self._calls)
        self._calls += 1
        golds = gold_column(columns, len(completions))
        rows = [
            Rollout(step, statement_of(prompt), text_of(completion), gold, reward, place=f"step {step}")
            for prompt, completion, gold, reward in zip(prompts, completions, golds, paid, strict=True)
            if gold is not None
        ]
        if rows:
            self._tell(self._monitor.add(step, rows), columns.get("log_metric"))
        return paid

    @property
    def alarm(self) -> Alarm | None:
        """Return the first alarm, if any."""
        return self._monitor.alarms[0] if self._monitor.alarms else None

    def _tell(self, latest: Step, log_metric: Callable[[str, float], Any] | None) -> None:
        self.latest = latest
        if self.alarm is not None and not self._told:
            self._told = True
            print(
                f"markscheme: step {self.alarm.step}: {self.alarm.signal} rises; the reward is being gamed",
                file=sys.stderr,
            )
        if log_metric is not None:
            figures = {"honest": latest.honest.value, "overpaid": latest.overpaid.value, "truncated": latest.truncated}
            for name, value in {**figures, "alarm": float(self.alarm is not None)}.items():
                log_metric(f"gaming/{name}", value)

    def callback(self, stop: bool = False) -> Any:
        """Return a callback for a trainer that logs the alarm and, with `stop`, ends the training."""
        from transformers import TrainerCallback

        watched = self

        class GamingCallback(TrainerCallback):
            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ARG002
                if stop and watched.alarm is not None:
                    control.should_training_stop = True
                return control

        return GamingCallback()
