"""Where checkpoints are."""

import os


def get_base_dir():
    return os.environ["NANOCHAT_BASE_DIR"]
