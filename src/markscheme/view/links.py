"""Every address of the app in one place, for the server (`/run/…?…`) and for files that lie beside each other."""

from __future__ import annotations

import posixpath
from urllib.parse import quote, urlencode

from markscheme.view.filters import Filter


class Links:
    """Addresses below the server's root. Problems count from 1 in them, samples from 0 as in the files."""

    static = False

    def __init__(self, version: str) -> None:
        self._version = version  # of the assets, so that a browser's cache never shows old ones

    def asset(self, name: str) -> str:
        """A style sheet, script or picture of ours."""
        return f"/assets/{name}?{self._version}"

    def runs(self, query: str = "") -> str:
        """All runs."""
        return "/" + _asked(query)

    def run(self, slug: str, query: str = "") -> str:
        """One run."""
        return f"/run/{quote(slug)}{_asked(query)}"

    def problem(self, slug: str, problem: int) -> str:
        """One problem of a run."""
        return f"{self.run(slug)}/problem/{problem + 1}"

    def response(self, slug: str, problem: int, sample: int, filter: Filter | None = None) -> str:
        """One response; with a filter, next and previous stay inside it."""
        return f"{self.run(slug)}/response/{problem + 1}/{sample}{_asked(filter.query() if filter else '')}"

    def text(self, slug: str, problem: int, sample: int) -> str:
        """The text of a response as it is."""
        return f"{self.response(slug, problem, sample)}/text"

    def responses(self, slug: str, filter: Filter | None = None) -> str:
        """The list of responses."""
        return f"{self.run(slug)}/responses{_asked(filter.query(page=filter.page) if filter else '')}"

    def csv(self, slug: str, filter: Filter) -> str:
        """The same list as a file."""
        return f"{self.run(slug)}/responses.csv{_asked(filter.query())}"

    def audit(self, slug: str, query: str = "") -> str:
        """Where protocols disagree."""
        return f"{self.run(slug)}/audit{_asked(query)}"

    def compare(self, slugs: list[str], query: str = "") -> str:
        """Runs against each other."""
        runs = urlencode([("run", slug) for slug in slugs])
        return f"/compare?{runs}{'&' + query if query else ''}"

    def compare_problem(self, slugs: list[str], problem: int) -> str:
        """One problem of the first run, the two runs' responses side by side."""
        return f"/compare/problem?{urlencode([('run', slug) for slug in slugs])}&problem={problem + 1}"


class FileLinks(Links):
    """Addresses relative to the page they stand on, so that the site works from a disk and below any path."""

    static = True

    def __init__(self, page: str) -> None:
        super().__init__("")
        self._folder = posixpath.dirname(page)

    def _to(self, file: str) -> str:
        return quote(posixpath.relpath(file, self._folder or "."))

    def asset(self, name: str) -> str:
        """A style sheet, script or picture of ours."""
        return self._to(f"assets/{name}")

    def runs(self, query: str = "") -> str:  # noqa: ARG002 - sorting and filtering happen in the page
        """All runs."""
        return self._to("index.html")

    def run(self, slug: str, query: str = "") -> str:  # noqa: ARG002
        """One run."""
        return self._to(f"run/{slug}/index.html")

    def problem(self, slug: str, problem: int) -> str:
        """One problem of a run."""
        return self._to(f"run/{slug}/problem/{problem + 1}.html")

    def response(self, slug: str, problem: int, sample: int, filter: Filter | None = None) -> str:  # noqa: ARG002
        """One response."""
        return self._to(f"run/{slug}/response/{problem + 1}-{sample}.html")

    def responses(self, slug: str, filter: Filter | None = None) -> str:
        """The list of responses; the filter goes behind `#`, where the page's script reads it."""
        return self._to(f"run/{slug}/responses.html") + (f"#{filter.query()}" if filter and filter.query() else "")

    def audit(self, slug: str, query: str = "") -> str:  # noqa: ARG002
        """Where protocols disagree."""
        return self._to(f"run/{slug}/audit.html")

    def compare(self, slugs: list[str], query: str = "") -> str:  # noqa: ARG002
        """Two runs against each other."""
        return self._to(f"compare/{slugs[0]}--{slugs[1]}.html")


def _asked(query: str) -> str:
    return f"?{query}" if query else ""
