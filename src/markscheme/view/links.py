"""Addresses of pages: on a server with queries, in an exported site as relative files."""

from __future__ import annotations

import posixpath
from urllib.parse import quote, urlencode

from markscheme.view.filters import Filter


class Links:
    """Addresses below a server's root. Problems count from 1 in them, samples from 0 as in the files.

    With a `page`, addresses are files relative to it, so that the site works from a disk and below any path. Queries
    are left out then: sorting and filtering happen in the page.
    """

    def __init__(self, version: str = "", page: str | None = None) -> None:
        self._version = version  # of the assets, so that a browser's cache never shows old ones
        self._page = page

    @property
    def static(self) -> bool:
        """Whether pages are files."""
        return self._page is not None

    def _to(self, address: str, file: str, query: str = "") -> str:
        if self._page is not None:
            return quote(posixpath.relpath(file, posixpath.dirname(self._page) or "."))
        return f"{quote(address)}?{query}" if query else quote(address)

    def asset(self, name: str) -> str:
        """A style sheet, script or picture of ours."""
        return self._to(f"/assets/{name}", f"assets/{name}", self._version)

    def runs(self, query: str = "") -> str:
        """All runs."""
        return self._to("/", "index.html", query)

    def run(self, slug: str, query: str = "") -> str:
        """One run."""
        return self._to(f"/run/{slug}", f"run/{slug}/index.html", query)

    def problem(self, slug: str, problem: int) -> str:
        """One problem of a run."""
        return self._to(f"/run/{slug}/problem/{problem + 1}", f"run/{slug}/problem/{problem + 1}.html")

    def across(self, slug: str, problem: int) -> str:
        """One problem in every run that was asked it."""
        return self._to(f"/run/{slug}/problem/{problem + 1}/runs", f"run/{slug}/problem/{problem + 1}-runs.html")

    def response(self, slug: str, problem: int, sample: int, filter: Filter | None = None) -> str:
        """One response; with a filter, next and previous stay inside it."""
        file = f"run/{slug}/response/{problem + 1}-{sample}.html"
        query = filter.query() if filter else ""
        return self._to(f"/run/{slug}/response/{problem + 1}/{sample}", file, query)

    def responses(self, slug: str, filter: Filter | None = None) -> str:
        """The list of responses; in a file, the filter goes behind `#`, where the page's script reads it."""
        query = filter.query(page=filter.page) if filter else ""
        address = self._to(f"/run/{slug}/responses", f"run/{slug}/responses.html", query)
        return f"{address}#{query}" if self.static and query else address

    def csv(self, slug: str, filter: Filter) -> str:
        """The same list as a file."""
        return self._to(f"/run/{slug}/responses.csv", f"run/{slug}/responses.csv", filter.query())

    def audit(self, slug: str, query: str = "") -> str:
        """Where protocols disagree."""
        return self._to(f"/run/{slug}/audit", f"run/{slug}/audit.html", query)

    def compare(self, slugs: list[str], query: str = "") -> str:
        """Runs against each other; in a file, two."""
        asked = "&".join([urlencode([("run", slug) for slug in slugs]), *([query] if query else [])])
        return self._to("/compare", f"compare/{'--'.join(slugs[:2])}.html", asked)

    def compare_problem(self, slugs: list[str], problem: int) -> str:
        """One problem of the first run, the two runs' responses side by side."""
        query = f"{urlencode([('run', slug) for slug in slugs])}&problem={problem + 1}"
        return self._to("/compare/problem", f"compare/{'--'.join(slugs[:2])}/{problem + 1}.html", query)
