"""`python -m markscheme` is the `markscheme` command."""

import sys

from markscheme.cli import main

sys.exit(main())
