"""The commands as functions, with the same names and options: `ms.run`, `ms.report`, `ms.compare`, `ms.audit`, `ms.plan` …

What a command prints, a function returns: an object with fields, a short repr, HTML for notebooks and data frames.
Everything works inside a running event loop; what asks a model has variants to be awaited. This package loads nothing by
itself: `markscheme/__init__.py` names each function's module.
"""
