"""Stored outputs of Countdown puzzles, as files to mark in bulk, and the marks read back."""

import json


def puzzles(count):
    """Puzzles with an answer each, every third wrong; 40 puzzles in all."""
    for number in range(count):
        nums = [number % 40 + 1, 2, 3]
        right = number % 3 > 0
        yield {
            "nums": nums,
            "target": sum(nums),
            "text": f"<answer>{nums[0]} + 2 {'+' if right else '-'} 3</answer>",
            "note": "not read",
        }


def write_parquet(file, items, group=50):
    """A Parquet file of small row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(items)), file, row_group_size=group)
    return file


def write_lines(file, items):
    """A file of JSON lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(item) + "\n" for item in items))
    return file


def marks_in(folder):
    """Every mark of a folder's parts, in order."""
    import pyarrow.parquet as pq

    def marks(part):
        if part.suffix == ".jsonl":
            return [json.loads(line) for line in part.read_text().splitlines()]
        return pq.read_table(part).to_pylist()

    return [row for part in sorted(folder.glob("part-*")) for row in marks(part)]
