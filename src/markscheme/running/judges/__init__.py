"""A model's opinion on responses that are there: how it is asked (`templates`), whom, and what is made of its replies."""

from markscheme.running.judges.judging import Judged, JudgeOptions, judge_file, judge_run

__all__ = ["JudgeOptions", "Judged", "judge_file", "judge_run"]
