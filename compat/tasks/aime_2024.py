"""`from tasks.aime_2024 import AIME2024I, AIME2024II, AIME2024`: AIME 2024 as tasks of nanochat."""

from pathlib import Path

from markscheme.plugins.doors.nanochat_tasks import AIMETask

DATA = Path(__file__).parents[1] / "dev-aime" / "data"


class AIME2024I(AIMETask):
    """The fifteen problems of the first contest."""

    file, folder = "aime_2024_I", DATA


class AIME2024II(AIMETask):
    """The fifteen problems of the second contest."""

    file, folder = "aime_2024_II", DATA


class AIME2024(AIMETask):
    """Both contests."""

    file, folder = "aime_2024", DATA
