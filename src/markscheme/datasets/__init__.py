"""Sources of problems: the data folder, packaged samples, the Hugging Face Hub, and the user's own files.

Rows leave this package as plain dicts in a documented form, with a `DataFile` that says what was read.
"""

from markscheme.datasets.files import DataFile, content_hash, read_rows
from markscheme.datasets.folder import SourceRows, locate
from markscheme.datasets.sources import HubFile, Source

__all__ = ["DataFile", "HubFile", "Source", "SourceRows", "content_hash", "locate", "read_rows"]
