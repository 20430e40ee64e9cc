"""The table of pages and their addresses: with queries on a server, as relative files in an exported site."""

from __future__ import annotations

import posixpath
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from markscheme.view.filters import Filter

if TYPE_CHECKING:
    from markscheme.view.site import Page, Site


class Place(NamedTuple):
    """A page: its address on a server, its file in an exported site, and the function in `pages/` that makes it.

    A file that names a run is written for every run, one that names a problem for every problem, and so on.
    """

    address: str
    file: str
    maker: str

    def at(self, slug: str = "", problem: int = 0, sample: int = 0) -> tuple[str, str]:
        """Return the address and the file of one such page, in which problems count from 1."""
        parts = {"slug": slug, "problem": problem + 1, "sample": sample}
        return self.address.format(**parts), self.file.format(**parts)

    def make(self, site: Site, *parts: Any) -> Page:
        """Make the page; `parts` are what its address names (problems count from 0 here), and the query."""
        module, _, function = self.maker.partition(":")
        page: Page = getattr(import_module(f"markscheme.view.pages.{module}"), function)(site, *parts)
        return page


# Every page about one folder, run, problem or response. The server, the links and the export are made from this table.
PAGES = {
    "runs": Place("/", "index.html", "runs:runs_page"),
    "run": Place("/run/{slug}", "run/{slug}/index.html", "run:run_page"),
    "audit": Place("/run/{slug}/audit", "run/{slug}/audit.html", "audit:audit_page"),
    "responses": Place("/run/{slug}/responses", "run/{slug}/responses.html", "responses:responses_page"),
    "across": Place(
        "/run/{slug}/problem/{problem}/runs", "run/{slug}/problem/{problem}-runs.html", "problem:across_page"
    ),
    "problem": Place("/run/{slug}/problem/{problem}", "run/{slug}/problem/{problem}.html", "problem:problem_page"),
    "response": Place(
        "/run/{slug}/response/{problem}/{sample}",
        "run/{slug}/response/{problem}-{sample}.html",
        "response:response_page",
    ),
}


class Links:
    """Addresses of pages. Problems count from 1 in them, samples from 0 as in the files.

    With a `page`, addresses are files relative to it, so that an exported site works from a disk and below any path.
    They have no queries then: sorting and filtering happen in the page.
    """

    def __init__(self, version: str = "", page: str | None = None) -> None:
        self._version = version  # of the assets, so that a browser does not use outdated ones from its cache
        self._page = page
        self.static = page is not None

    def _to(self, address: str, file: str, query: str = "") -> str:
        if self._page is not None:
            return quote(posixpath.relpath(file, posixpath.dirname(self._page) or "."))
        return f"{quote(address)}?{query}" if query else quote(address)

    def asset(self, name: str) -> str:
        return self._to(f"/assets/{name}", f"assets/{name}", self._version)

    def page(self, name: str, slug: str = "", problem: int = 0, sample: int = 0, query: str = "") -> str:
        """Return the address of a page of the table."""
        return self._to(*PAGES[name].at(slug, problem, sample), query)

    def runs(self, query: str = "") -> str:
        return self.page("runs", query=query)

    def run(self, slug: str, query: str = "") -> str:
        return self.page("run", slug, query=query)

    def problem(self, slug: str, problem: int) -> str:
        return self.page("problem", slug, problem)

    def response(self, slug: str, problem: int, sample: int, filter: Filter | None = None) -> str:
        """Return the address of a response; with a filter, next and previous stay within it."""
        return self.page("response", slug, problem, sample, filter.query() if filter else "")

    def responses(self, slug: str, filter: Filter | None = None) -> str:
        """Return the address of the list of responses; in an exported file the filter follows `#`, where a script reads
        it.
        """
        query = filter.query(page=filter.page) if filter else ""
        address = self.page("responses", slug, query=query)
        return f"{address}#{query}" if self.static and query else address

    def csv(self, slug: str, filter: Filter) -> str:
        return self._to(f"/run/{slug}/responses.csv", f"run/{slug}/responses.csv", filter.query())

    def compare(self, slugs: list[str], query: str = "") -> str:
        """Return the address of a comparison; an exported site has only comparisons of two runs."""
        asked = "&".join([urlencode([("run", slug) for slug in slugs]), *([query] if query else [])])
        return self._to("/compare", f"compare/{'--'.join(slugs[:2])}.html", asked)

    def compare_problem(self, slugs: list[str], problem: int) -> str:
        """Return the address of two runs' responses to a problem of the first, side by side."""
        query = f"{urlencode([('run', slug) for slug in slugs])}&problem={problem + 1}"
        return self._to("/compare/problem", f"compare/{'--'.join(slugs[:2])}/{problem + 1}.html", query)
