"""The page of a training run: score over steps with its band, the best step, what was learned and forgotten."""

from __future__ import annotations

from collections.abc import Mapping

from markscheme.errors import MarkschemeError
from markscheme.reporting.estimates import bare
from markscheme.reporting.series import OverSteps, series_of, series_rows
from markscheme.runs.folder import Run
from markscheme.view import plots
from markscheme.view.site import NotThereError, Page, Site

MOST_MOVED = 60


def series_page(site: Site, query: Mapping[str, str]) -> Page:
    """Show the series in one folder of runs, one section per benchmark."""
    folder = query.get("experiment", "")
    mine = [entry for entry in site.library.entries() if entry.manifest and entry.name.rpartition("/")[0] == folder]
    runs = [Run(entry.path, entry.manifest) for entry in mine if entry.manifest]
    if not any(run.manifest.config.step is not None for run in runs):
        raise NotThereError(f"{folder or 'This folder'} does not contain runs with a training step.")
    between = tuple(int(word) for word in query.get("between", "").split(",") if word.isdecimal() and len(word) < 12)
    stamp = tuple((entry.path, *entry.file_states().values()) for entry in mine)

    def work(_: object) -> list[OverSteps] | str:
        try:
            return series_of(runs, between=between if len(between) == 2 else ())
        except MarkschemeError as trouble:
            return str(trouble)

    made = site.background.get((site.library.root, "series", folder, between), stamp, work, site.left)
    slugs = {str(entry.path): entry.slug for entry in mine}
    parts = []
    for each in made.value if isinstance(made.value, list) else []:
        points = [(point.step, bare(point.score)) for point in each.series.points]
        home = slugs[each.runs[str(each.between[1])]]
        parts.append(
            {
                "made": each,
                "rows": list(zip(series_rows(each), (slugs[run] for run in each.runs.values()), strict=True)),
                "chart": plots.pass_curve(points, f"{each.series.metric} at step {{}}", "training step", log=False),
                "home": home,
                "numbers": site.open(home).snapshot.numbers,
            }
        )
    trouble = made.value if isinstance(made.value, str) else ""
    running = any(entry.running for entry in mine)
    context = {"folder": folder, "parts": parts, "trouble": trouble, "most": MOST_MOVED}
    return Page("series.html", f"{folder} over steps", context, again=0.7 if not made.fresh else 5.0 if running else 0)
