import re
import time
from html.parser import HTMLParser

import pytest
import run_folders as folders
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.view.formulas import formulas
from markscheme.view.markdown import edits
from markscheme.view.mathml import to_mathml
from markscheme.view.text import blocks, clock, render
from markscheme.view.visible import one_line, plain_visible, visible

TAGS = re.compile(
    "span|code|mark|i|b|math|mrow|mi|mo|mn|mtext|mspace|msup|msub|msubsup|mfrac|msqrt|mroot|mover|munder|munderover"
    "|mtable|mtr|mtd|mstyle|mpadded|mphantom|mmultiscripts|mprescripts|none"
)
ATTRIBUTES = re.compile(
    "class|display|stretchy|fence|separator|accent|accentunder|largeop|movablelimits|symmetric|displaystyle|width"
    "|height|depth|lspace|rspace|minsize|maxsize|linethickness|voffset|scriptlevel|form|mathvariant"
)


class Checker(HTMLParser):
    """Fails on any tag or attribute that rendering is not supposed to make; collects the text outside `math`."""

    def __init__(self):
        super().__init__()
        self.text, self.depth, self.open = "", 0, []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        assert TAGS.fullmatch(tag), tag
        assert all(ATTRIBUTES.fullmatch(name) for name, _ in attrs), attrs
        self.depth += tag == "math"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.depth -= tag == "math"

    def handle_data(self, data):
        if not self.depth:
            self.text += data

    def handle_comment(self, data):
        raise AssertionError("a comment")

    handle_decl = handle_pi = unknown_decl = handle_comment


def source_of(html: str) -> str:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    return checker.text


MATHEMATICS = st.text(alphabet=st.sampled_from(list("$\\{}[]()<>&\"'`^_ \nab1*#|-\u202e\x00")), max_size=60)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.one_of(
            MATHEMATICS,
            st.sampled_from([*folders.HOSTILE[:8], r"\frac{1}{2}", r"\text{<b>}", r"\boxed{", "$$", r"\begin{align}", r"\["]),
            st.sampled_from(["\n## a **b** $x$\n", "\n| a | $|x|$ |\n|---|:-:|\n| **1** | `|` |\n", "\n```py\n**x**\n```\n", "**", "\n```\n```\n", "\n|-|\n"]),
        ),
        max_size=6,
    ).map("".join)
)  # fmt: skip
def test_render_of_any_text_makes_only_known_tags_and_keeps_every_character(text):
    assert _spelt_out(source_of(str(render(text, (2, 9))))) == _spelt_out(plain_visible(text))


def _spelt_out(text: str) -> str:
    """Runs of a hidden character one by one: the highlight may cut through one."""
    return re.sub("⟨([0-9A-F]+)×([0-9]+)⟩", lambda run: f"⟨{run[1]}⟩" * int(run[2]), text)


def seen(text: str) -> str:
    """Rendered, without what only the raw view shows."""
    return re.sub('<code class="src">.*?</code>', "", str(render(text)), flags=re.DOTALL)


def test_markdown_of_headings_bold_code_and_tables_is_shown_as_such():
    assert seen("## Step **1**\nso `a*b`") == '<b class="h">Step <b>1</b></b>\nso <code>a*b</code>'
    assert seen("a\n```python\nx = '**'\n```\nb") == 'a\n<code class="fence">x = &#39;**&#39;</code>b'
    row = '<span class="tr"><span class="td"> {} </span><span class="td"> {} </span></span>'
    table = seen("| n | b |\n|---|--:|\n| 1 | **2** |\n\nend")
    assert table == f'<span class="table">{row.format("n", "b")}{row.format("1", "<b>2</b>")}</span>\nend'


@pytest.mark.parametrize(
    "text",
    ["2**3 + 4**2", "(3)*5*(2)", "a * b * c", "#5 and # ", "| no | table |", "x ** y ** z", "```open\nx", "[a](b)"],
)
def test_markdown_leaves_alone_what_could_be_arithmetic_or_is_not_closed(text):
    assert str(render(text)) == text


def test_display_formula_takes_the_line_end_behind_it():
    html = seen("a\n$$x$$\nb")
    assert re.fullmatch("a\n<span.*</span>b", html)


@pytest.mark.parametrize("text", folders.HOSTILE)
def test_render_of_hostile_text_is_text_and_quick(text):
    start = time.process_time()
    html = str(render(text))
    assert time.process_time() - start < 5
    assert source_of(html) == plain_visible(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("so $x+1$ is", ["x+1"]),
        ("pays $5 and $6 for it", []),
        ("pays $5, then $x$ is", ["x"]),
        ("\\(a\\) and \\[b\\] and $$c$$", ["a", "b", "c"]),
        ("$a\n\nb$", []),
        ("\\begin{align*}a&=b\\end{align*}", ["\\begin{align*}a&=b\\end{align*}"]),
        ("so \\boxed{\\frac{1}{2}} is it", ["\\boxed{\\frac{1}{2}}"]),
        ("$\\boxed{3}$", ["\\boxed{3}"]),
        ("`$x$` is code, $y$ is not", ["y"]),
        ("costs \\$5 or $x$", ["x"]),
        ("\\boxed{unclosed", []),
        ("open \\( only", []),
    ],
)
def test_formulas_are_found_where_they_stand_and_money_is_not_one(text, found):
    assert [text[f.inner_start : f.inner_end] for f in formulas(text)] == found


@pytest.mark.parametrize(
    "text", ["$a " * 20_000, "\\boxed{" * 20_000, "\\begin{align}" * 5_000, "`" * 50_001, "{" * 60_000, "\\[" * 40_000,
             "**a" * 20_000, "```a\n" * 10_000, "|a\n|-|\n" * 8_000, "|-|-" * 20_000 + "\n" + "|-" * 20_000, "# " * 30_000],
)  # fmt: skip
def test_marks_in_text_full_of_openers_are_found_in_linear_time(text):
    start = time.process_time()
    edits(text, [(one.start, one.end) for one in formulas(text)])
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "latex",
    [
        "{" * 1000 + "}" * 1000, r"\frac{1}{" * 400 + "}" * 400, "x" + "^{x" * 400 + "}" * 400, r"\left(" * 200,
        r"\def\a{\a\a}\a", r"\frac" * 500, r"\sqrt " * 90, "^" * 1000, "_" * 999, "x" * 3001, "", "  ",
    ],
)  # fmt: skip
def test_mathml_of_what_is_too_deep_too_long_or_empty_is_none(latex):
    assert to_mathml(latex) is None


def test_mathml_leaves_out_what_a_formula_has_no_business_with():
    for latex in (r"\href{javascript:alert(1)}{x}", r"\style{position:fixed}{x}", r"\class{evil}{x}", r"\color{red}x"):
        html = to_mathml(latex)
        assert html is not None
        for word in ("href", " style", "evil", "javascript", "color"):
            assert word not in html
    assert "1000" not in to_mathml(r"\rule{1000em}{1000em}x")
    assert "&lt;img" in to_mathml(r"\text{<img src=x>}")


def test_mathml_of_ordinary_formulas_has_their_structure():
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in to_mathml(r"\frac12")
    assert 'class="boxed"' in to_mathml(r"\boxed{7}")
    assert 'display="block"' in to_mathml("x", display=True)
    assert '<mi mathvariant="normal">d</mi>' in to_mathml(r"\mathrm{d}x")


@pytest.mark.parametrize("name", ["aligned", "align", "gather*", "split", "eqnarray", "alignedat"])
def test_mathml_of_lines_has_a_row_for_each(name):
    argument = "{2}" if name == "alignedat" else ""
    html = to_mathml(rf"\begin{{{name}}}{argument} a &= 7 \notag \\ b &= 3 \end{{{name}}}")
    assert html.count("<mtr>") == 2
    assert not any(word in html for word in ("&amp;", "notag", "(1)"))


def test_mathml_of_a_function_is_set_apart_from_letters_but_not_from_its_parenthesis():
    assert to_mathml(r"b\cos C").count("mspace width") == 2
    assert "mspace" not in to_mathml(r"\cos(C)")


def test_mathml_of_a_sign_is_not_spaced_like_a_difference():
    assert to_mathml("-1").count('form="prefix"') == 1
    assert to_mathml("x=-1").count('form="prefix"') == 1
    assert to_mathml("(-1)").count('form="prefix"') == 1
    assert to_mathml("(a)-1").count('form="prefix"') == 0
    assert to_mathml("a-1").count('form="prefix"') == 0


def test_render_highlights_the_answer_in_text_and_in_the_source_of_a_formula():
    html = str(render("so 42 it is", (3, 5)))
    assert html == "so <mark>42</mark> it is"
    text = r"so $\boxed{42}$."
    start = text.index("42")
    html = str(render(text, (start, start + 2)))
    assert html.count("<mark>") == 2
    assert r"\boxed{<mark>42</mark>}" in html


def test_render_without_time_shows_the_source():
    assert str(render("so **$x$**.", until=clock() - 1)) == "so **$x$**."


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab \n", max_size=300), st.integers(8, 40))
def test_blocks_cover_the_text_without_gap_or_overlap(text, size):
    cuts = blocks(text, 0, len(text), size)
    assert "".join(text[a:b] for a, b in cuts) == text
    assert all(0 < b - a <= size for a, b in cuts)


def test_visible_shows_what_hides_or_turns_text():
    html = str(visible("a\u202eb<\u200b\u200b\u200b\x00\n\t"))
    assert html == ('a<i class="ctl">⟨202E⟩</i>b&lt;<i class="ctl">⟨200B×3⟩</i><i class="ctl">⟨0000⟩</i>\n\t')


def test_one_line_of_a_long_text_is_short():
    assert one_line("a  b\nc") == "a b c"
    assert len(one_line("x" * 10_000_000, 50)) == 50
    assert one_line("x" * 50, 50) == "x" * 50
