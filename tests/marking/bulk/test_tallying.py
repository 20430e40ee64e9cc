"""Verdicts by problem from the parts of a marking: the same counts, however they were cut and however few at a time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.errors import JournalError
from markscheme.marking.bulk import tallying
from markscheme.statistics import tally
from markscheme.statistics.counts import VERDICTS

pytestmark = pytest.mark.needs("pyarrow")


def test_tally_when_the_disk_is_full_then_one_sentence_and_the_marks_stay(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    part = tmp_path / "part-00000.parquet"
    pq.write_table(pa.table({"key": ["a", "b"], "verdict": ["correct", "wrong"]}), part)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tallying, "AT_ONCE", 1)
    monkeypatch.setattr("tempfile.mkdtemp", full)
    with pytest.raises(JournalError, match=r"cannot be counted \(.*No space left on device\); all marks are kept"):
        tallying.tally_parts([part], 2)
    assert list(tmp_path.iterdir()) == [part]


pairs = st.tuples(st.integers(0, 30).map("problem {}".format), st.sampled_from(VERDICTS))


@settings(max_examples=40, deadline=None)
@given(parts=st.lists(st.lists(pairs, max_size=40), min_size=1, max_size=5), at_once=st.integers(1, 200))
def test_tally_when_counted_in_any_number_of_pieces_then_as_if_all_were_in_memory(tmp_path_factory, parts, at_once):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("parts")
    files = [folder / f"part-{number:05d}.parquet" for number in range(len(parts))]
    schema = pa.schema([("key", pa.string()), ("verdict", pa.string())])
    for file, rows in zip(files, parts, strict=True):
        columns = [[key for key, _ in rows], [str(verdict) for _, verdict in rows]]
        pq.write_table(pa.table(columns, schema=schema), file)
    everything = [pair for rows in parts for pair in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tallying, "AT_ONCE", at_once)
        counts, times = tallying.tally_parts(files, len(everything))
    found = sorted(
        row for row, number in zip(counts.table.tolist(), times.tolist(), strict=True) for _ in range(number)
    )
    assert found == sorted(tally(everything).table.tolist())
    assert sorted(folder.iterdir()) == files  # nothing is left beside the parts
