"""A model's verdict on existing responses: the question (`templates`), the asking and the votes."""

from markscheme.running.judges.judging import Judged, JudgeOptions, judge_file, judge_run

__all__ = ["JudgeOptions", "Judged", "judge_file", "judge_run"]
