"""The commands as functions, with the same names and options: `ms.run`, `ms.report`, `ms.compare`, `ms.audit`, `ms.plan` …

What a command prints, a function returns: an object with fields, a short repr, HTML for notebooks and data frames.
Everything works inside a running event loop; what asks a model has variants to be awaited. The functions here take what
the command line takes; reached as `ms.NAME` they also take numpy's numbers and speak of arguments, not of flags
(`python_words`). This package loads nothing by itself: `markscheme/__init__.py` names each function's module.
"""
