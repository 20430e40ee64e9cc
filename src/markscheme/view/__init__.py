"""The browser app: shows run folders, finished, running or crashed, and never writes to them.

`library` finds the runs and keeps an index of each (columns and byte offsets, never texts), `pages` turn that into
HTML, `server` serves the pages on loopback, and `export` writes them as files. No request leaves the machine.
"""
