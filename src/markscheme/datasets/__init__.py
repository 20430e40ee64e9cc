"""Where problems come from: the data folder, the packaged samples, the Hugging Face Hub.

Rows leave this package as plain dicts in one documented form a data set, with a `DataFile` that says what was read.
It knows nothing of prompts, models or marks.
"""

from markscheme.datasets.files import DataFile, content_hash, read_rows
from markscheme.datasets.folder import locate, read_data_file
from markscheme.datasets.packaged import read_sample

__all__ = ["DataFile", "content_hash", "locate", "read_data_file", "read_rows", "read_sample"]
