"""Marking: read a response's answer and judge it under a named protocol."""

from markscheme.marking.marker import explain as explain
from markscheme.marking.marker import mark as mark
from markscheme.marking.marker import mark_many as mark_many
from markscheme.marking.protocol import Assessment as Assessment
from markscheme.marking.protocol import Protocol as Protocol
from markscheme.marking.protocol import get_protocol as get_protocol
from markscheme.marking.protocol import protocol_names as protocol_names
from markscheme.marking.reading.sections import ResponseSections as ResponseSections

__all__ = [
    "Assessment",
    "Protocol",
    "ResponseSections",
    "explain",
    "get_protocol",
    "mark",
    "mark_many",
    "protocol_names",
]
