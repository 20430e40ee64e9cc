"""Every verdict has a look of its own that can be read, and its line in the documentation."""

import re
from pathlib import Path

import pytest

from markscheme.reporting.verdicts import LOOKS, look, style_sheet
from markscheme.runs.columns import UNMARKED, VERDICTS
from markscheme.types import Verdict
from markscheme.view.server import asset

DOCS = Path(__file__).parents[2] / "docs"


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_looks_when_there_is_a_verdict_then_it_has_one_of_its_own():
    assert set(LOOKS) == {*map(str, Verdict), "unmarked"}
    assert [look(code).name for code in range(len(VERDICTS))] == list(Verdict)
    assert look(UNMARKED).word == "not marked"
    for part in ("symbol", "meaning", "day", "night"):
        assert len({getattr(each, part) for each in LOOKS.values()}) == len(LOOKS), part
    assert len({LOOKS[verdict].plot for verdict in Verdict}) == len(Verdict)


@pytest.mark.parametrize("name", LOOKS)
def test_looks_when_they_stand_on_a_panel_then_they_can_be_read(name):
    light, dark = re.findall(r"--panel: (#\w{6})", asset("app.css").decode())[:2]
    assert contrast(LOOKS[name].day, light) >= 4.5
    assert contrast(LOOKS[name].night, dark) >= 4.5
    assert f".v-{name} {{ --v: var(--{name}); }}" in style_sheet()
    assert style_sheet().count(f"--{name}: ") == 3


@pytest.mark.parametrize("verdict", Verdict)
def test_verdicts_when_there_is_one_then_the_run_folder_page_explains_it(verdict):
    assert f"\n| `{verdict}` |" in (DOCS / "run-folder.md").read_text()
