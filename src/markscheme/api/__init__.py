"""The commands as functions, with the same names and options: `ms.run`, `ms.report`, `ms.compare`, `ms.audit`,
`ms.plan` …

A function returns what its command prints: an object with fields, a short repr, HTML for notebooks and data frames.
Everything works inside a running event loop; functions that ask a model have async variants. This package loads nothing by
itself: `markscheme/__init__.py` names each function's module.
"""
