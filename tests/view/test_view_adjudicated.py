"""What people said of a run, in the viewer."""

import urllib.request

import run_folders as folders

from markscheme.runs import Run
from markscheme.runs.adjudications import Label, content_of, draw_order, labels_journal


def page(url):
    return urllib.request.urlopen(url, timeout=60).read().decode()


def test_run_page_shows_the_corrected_accuracy_as_soon_as_somebody_judged(tmp_path, serve):
    """The figure that people corrected stands beside the marker's, and a report from before does not hide it."""
    folders.finished(tmp_path / "run", problems=12, samples=4)
    run = Run.open(tmp_path / "run")
    from markscheme.reporting.summary import finish

    finish(run)
    server = serve(tmp_path)
    assert "Corrected accuracy" not in page(f"{server.url}/run/run")
    snapshot = run.snapshot()
    order = draw_order(snapshot)
    numbers = {key: number for number, key in enumerate(snapshot.keys)}
    with labels_journal(run.path, "ann") as journal:
        for each in order[:30]:
            response = snapshot.response(snapshot.row(numbers[each.key], each.sample))
            journal.write([Label(each.key, each.sample, content_of(response), "right", "ann", "now")])
    text = page(f"{server.url}/run/run")
    for _ in range(100):  # figures are worked out in the background
        if "Corrected accuracy" in text:
            break
        text = page(f"{server.url}/run/run")
    assert "Corrected accuracy" in text
    assert "1 person judged 30 responses" in text
