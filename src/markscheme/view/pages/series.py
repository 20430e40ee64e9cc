"""A series over training: score over steps with its band, the best step, what was learnt and forgotten."""

from __future__ import annotations

from collections.abc import Mapping

from markscheme.errors import MarkschemeError
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.series import OverSteps, series_of, series_rows
from markscheme.runs.folder import Run
from markscheme.view import plots
from markscheme.view.site import NotThereError, Page, Site

MOST_MOVED = 60


def series_page(site: Site, query: Mapping[str, str]) -> Page:
    """The series in one folder of runs; of several benchmarks one below the other."""
    folder = query.get("experiment", "")
    mine = [entry for entry in site.library.entries() if entry.manifest and entry.name.rpartition("/")[0] == folder]
    if not any(entry.manifest and entry.manifest.config.step is not None for entry in mine):
        raise NotThereError(f"There is no series over training in {folder or 'this folder'}.")
    runs = [Run(entry.path, entry.manifest) for entry in mine if entry.manifest]
    between = tuple(int(word) for word in query.get("between", "").split(",") if word.isdecimal() and len(word) < 12)
    stamp = tuple((entry.path, *entry.file_states().values()) for entry in mine)

    def work(_: object) -> list[OverSteps] | str:
        try:
            return series_of(runs, between=between if len(between) == 2 else ())
        except MarkschemeError as trouble:
            return str(trouble)

    made = site.background.get((site.library.root, "series", folder, between), stamp, work, site.left)
    trouble = made.value if isinstance(made.value, str) else ""
    parts = made.value if isinstance(made.value, list) else []
    slugs = {str(entry.path): entry.slug for entry in mine}
    shown = []
    for each in parts:
        points = [
            (point.step, Estimate(point.score.estimate, point.score.low, point.score.high))
            for point in each.series.points
        ]
        home = slugs[each.runs[str(each.between[1])]]
        numbers = {key: at for at, key in enumerate(site.open(home).snapshot.keys)}
        shown.append(
            {
                "made": each,
                "rows": list(zip(series_rows(each), (slugs[run] for run in each.runs.values()), strict=True)),
                "chart": plots.pass_curve(points, f"{each.series.metric} at step {{}}", "training step", log=False),
                "home": home,
                "numbers": numbers,
            }
        )
    context = {"folder": folder, "parts": shown, "trouble": trouble, "fresh": made.fresh, "most": MOST_MOVED}
    running = any(entry.running for entry in mine)
    return Page("series.html", f"{folder} over steps", context, again=0.7 if not made.fresh else 5.0 if running else 0)
