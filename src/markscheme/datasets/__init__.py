"""Where problems come from: the data folder, the packaged samples, the Hugging Face Hub, a file of one's own.

Rows leave this package as plain dicts in one documented form a data set, with a `DataFile` that says what was read.
It knows nothing of prompts, models or marks.
"""

from markscheme.datasets.files import DataFile, content_hash, read_rows
from markscheme.datasets.folder import SourceRows, locate
from markscheme.datasets.sources import HubFile, Source

__all__ = ["DataFile", "HubFile", "Source", "SourceRows", "content_hash", "locate", "read_rows"]
