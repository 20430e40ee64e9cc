"""What `mark`, `audit` and `reproduce` print: one page in every form, and nothing in it that a terminal obeys."""

import argparse

import pytest

from markscheme.cli.page import show
from markscheme.pages.frames import Printed
from markscheme.pages.parts import Part

ESCAPE = "\x1b]0;owned\x07\x1b[2J"
PARTS = [
    Part("title", f"title{ESCAPE}"),
    Part("text", ""),
    Part("items", [f"item{ESCAPE}"]),
    Part("quote", f"```quoted{ESCAPE}"),
    Part("table", [{"": f"cell|{ESCAPE}", "score": "50 %"}]),
    Part("table", []),
]


class Shown(Printed):
    def page(self):
        return PARTS

    def content(self):
        return {"made": 1}


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("table", ["title", "  item", "quoted", "50 %"]),
        ("markdown", ["## title", "- item", "'''quoted", "| cell\\|"]),
        ("latex", ["% title", "% item", "% columns: row, score", "50 \\% \\\\"]),
        ("json", ['"made": 1']),
    ],
)
def test_page_in_every_form_has_its_parts_and_no_control_characters(form, told, capsys):
    show(argparse.Namespace(json=False, format=form), Shown())
    shown = capsys.readouterr().out
    assert [each for each in told if each not in shown] == []
    assert all(character.isprintable() or character == "\n" for character in shown)
