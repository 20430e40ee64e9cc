"""`from tasks.aime_2025 import AIME2025`: AIME 2025 as a task of nanochat."""

from pathlib import Path

from markscheme.plugins.doors.nanochat_tasks import AIMETask


class AIME2025(AIMETask):
    """Both contests, thirty problems."""

    file, folder = "aime_2025", Path(__file__).parents[1] / "dev-aime" / "data"
