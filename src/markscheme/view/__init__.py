"""The browser app: looks at run folders, finished, running or crashed, and never writes to them.

`library` finds the runs and keeps an index of each (columns and byte offsets, never texts); `pages` turn that into
HTML; `server` answers on loopback and `export` writes the same pages as files. Nothing here asks a model, and no
request leaves the machine.
"""
