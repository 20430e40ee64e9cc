import json
import time

import msgspec
import numpy as np
import pytest
import run_folders as folders
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.runs.folder import Run
from markscheme.types import Response
from markscheme.view.background import Background
from markscheme.view.filters import Filter
from markscheme.view.search import SearchResult, search


def snapshot_of(path):
    return Run.open(path).snapshot()


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A run whose texts hold what is hard to find: escapes, other scripts, other cases, several files."""
    path = folders.running(tmp_path_factory.mktemp("search") / "run", problems=3, samples=9, done=0)
    key = folders.problem(0).key
    found = {
        0: 'He said "so" and\nleft \\frac{1}{2}.',
        1: "Die Größe ist 5 µm; ΣΦΑΛΜΑ",
        2: "THEREFORE it holds",
        3: "therefore it holds",
        4: "",
        5: "emoji 🎲 dice",
        6: "a tab\tand a slash / here",
    }
    lines = [Response(key=key, sample=n, text=text, problem_id="needle-in-the-id") for n, text in found.items()]
    folders.append(path / "responses.jsonl", lines[:4])
    folders.append(path / "responses.other.jsonl", lines[4:])
    with (path / "responses.ascii.jsonl").open("w") as out:  # a writer that escapes everything beyond ASCII
        line = {"key": key, "sample": 7, "text": "Größe 🎲", "reasoning": "secret thought"}
        out.write(json.dumps(line) + "\n")
    return found, snapshot_of(path)


@pytest.mark.parametrize(
    ("words", "case", "samples"),
    [
        ('"so" and\nleft', True, [0]),
        ("\\frac{1}", True, [0]),
        ("Größe", True, [1, 7]),
        ("GRößE", False, [1, 7]),
        ("🎲", True, [5, 7]),
        ("therefore", True, [3]),
        ("therefore", False, [2, 3]),
        ("slash / here", True, [6]),
        ("secret thought", True, [7]),
        ("needle-in-the-id", True, []),
        ("nothing of the kind", False, []),
    ],
)
def test_search_finds_exactly_the_texts_that_hold_the_words(texts, words, case, samples):
    _, snapshot = texts
    found = search(snapshot, np.arange(len(snapshot)), words, case=case)
    assert found.complete
    assert snapshot.sample[found.rows].tolist() == samples


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 6), st.data())
def test_search_for_any_piece_of_a_text_finds_that_text(texts, sample, data):
    found, snapshot = texts
    text = found[sample]
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    words = text[start : start + data.draw(st.integers(1, 12))]
    if words:
        rows = search(snapshot, np.arange(len(snapshot)), words, case=True).rows
        assert sample in snapshot.sample[rows]


def test_search_among_some_rows_looks_at_no_other(texts):
    _, snapshot = texts
    rows = np.flatnonzero(snapshot.sample == 2)
    assert search(snapshot, rows, "therefore").rows.tolist() == rows.tolist()


def test_search_that_is_told_to_stop_says_how_far_it_came(tmp_path, monkeypatch):
    monkeypatch.setattr("markscheme.view.search.PIECE", 2000)
    snapshot = snapshot_of(folders.finished(tmp_path / "run", problems=10, samples=10))
    found = search(snapshot, np.arange(len(snapshot)), "vieta", report=lambda _: False)
    assert not found.complete
    assert 0 < found.searched < len(snapshot)
    whole = search(snapshot, np.arange(len(snapshot)), "vieta")
    assert whole.complete
    assert len(whole.rows) > 80


def test_search_that_takes_long_shows_what_it_has_and_ends_later():
    rows = np.arange(10)

    def slow(report):
        report(SearchResult(rows[:3], 3, 10))
        time.sleep(0.4)
        return SearchResult(rows, 10, 10)

    searches = Background()
    first = searches.get("key", 1, slow, wait=0.1)
    assert (first.fresh, len(first.value.rows)) == (False, 3)
    assert searches.get("key", 1, slow, wait=60) == (SearchResult(rows, 10, 10), True)
    searches.close()


def test_search_that_nobody_asks_about_any_more_is_given_up_and_made_anew(monkeypatch):
    monkeypatch.setattr("markscheme.view.background.ABANDONED", 0.0)
    searches, ends = Background(), []

    def endless(report):
        while report(len(ends)):
            time.sleep(0.01)
        ends.append("given up")
        return "half"

    assert not searches.get("key", 1, endless, wait=0).fresh
    while not ends:
        time.sleep(0.01)
    assert searches.known("key", 1) is None
    assert searches.get("key", 2, lambda report: "whole", wait=60) == ("whole", True)
    searches.close()


@settings(max_examples=40, deadline=None)
@given(
    st.builds(
        Filter,
        verdict=st.sampled_from(["", "wrong", "unmarked"]),
        q=st.text(max_size=20).map(str.strip),
        min_tokens=st.none() | st.integers(0, 10**9),
        truncated=st.booleans(),
        sort=st.sampled_from(["", "tokens"]),
        down=st.booleans(),
        page=st.integers(1, 9),
    )
)
def test_filter_written_to_an_address_is_read_back_the_same(filter):
    from urllib.parse import parse_qs

    query = {name: values[0] for name, values in parse_qs(filter.query(page=filter.page)).items()}
    assert Filter.parse(query) == filter


@pytest.mark.parametrize(
    "query", [{"verdict": "x"}, {"min_tokens": "-1"}, {"page": "0"}, {"page": "9" * 400}, {"sort": "x"}, {"q": ""}]
)
def test_filter_with_nonsense_in_the_address_leaves_it_out(query):
    assert Filter.parse(query) == Filter()


def test_filter_keeps_exactly_what_it_says(tmp_path):
    snapshot = snapshot_of(folders.finished(tmp_path / "run", problems=10, samples=6))
    tokens = snapshot.rows["tokens"]
    mask = Filter(min_tokens=500, max_tokens=900, group="level:2").mask(snapshot, "math")
    level = np.array([label == "2" for label in snapshot.groups["level"]])[snapshot.problem]
    assert mask.tolist() == ((tokens >= 500) & (tokens <= 900) & level).tolist()
    rows = Filter(sort="tokens", down=True).order(snapshot, np.flatnonzero(mask))
    assert tokens[rows].tolist() == sorted(tokens[mask].tolist(), reverse=True)
    cut = Filter(truncated=True).mask(snapshot, "math")
    assert 0 < cut.sum() < len(snapshot)
    assert msgspec.to_builtins(Filter()) == {}
