"""The table of pages, and their addresses: on a server with queries, in an exported site as relative files."""

from __future__ import annotations

import posixpath
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from markscheme.view.filters import Filter

if TYPE_CHECKING:
    from markscheme.view.site import Page, Site


class Place(NamedTuple):
    """A page's address on a server, its file in an exported site, and the function in `pages/` that makes it.

    A file that names a run is written for every run, one that names a problem for every problem, and so on.
    """

    address: str
    file: str
    maker: str

    def at(self, slug: str = "", problem: int = 0, sample: int = 0) -> tuple[str, str]:
        """The address and the file of one such page; problems count from 1 in them."""
        parts = {"slug": slug, "problem": problem + 1, "sample": sample}
        return self.address.format(**parts), self.file.format(**parts)

    def make(self, site: Site, *parts: Any) -> Page:
        """The page: `parts` are what its address names (a problem counts from 0 here), and the query."""
        module, _, function = self.maker.partition(":")
        page: Page = getattr(import_module(f"markscheme.view.pages.{module}"), function)(site, *parts)
        return page


# Every page but the comparison, which is of several runs. The server, links and the export take it from here.
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

    def page(self, name: str, slug: str = "", problem: int = 0, sample: int = 0, query: str = "") -> str:
        """A page of the table."""
        return self._to(*PAGES[name].at(slug, problem, sample), query)

    def runs(self, query: str = "") -> str:
        """All runs."""
        return self.page("runs", query=query)

    def run(self, slug: str, query: str = "") -> str:
        """One run."""
        return self.page("run", slug, query=query)

    def problem(self, slug: str, problem: int) -> str:
        """One problem of a run."""
        return self.page("problem", slug, problem)

    def across(self, slug: str, problem: int) -> str:
        """One problem in every run that was asked it."""
        return self.page("across", slug, problem)

    def response(self, slug: str, problem: int, sample: int, filter: Filter | None = None) -> str:
        """One response; with a filter, next and previous stay inside it."""
        return self.page("response", slug, problem, sample, filter.query() if filter else "")

    def responses(self, slug: str, filter: Filter | None = None) -> str:
        """The list of responses; in a file, the filter goes after `#`, where the page's script reads it."""
        query = filter.query(page=filter.page) if filter else ""
        address = self.page("responses", slug, query=query)
        return f"{address}#{query}" if self.static and query else address

    def csv(self, slug: str, filter: Filter) -> str:
        """The same list as a file."""
        return self._to(f"/run/{slug}/responses.csv", f"run/{slug}/responses.csv", filter.query())

    def audit(self, slug: str, query: str = "") -> str:
        """Where protocols disagree."""
        return self.page("audit", slug, query=query)

    def compare(self, slugs: list[str], query: str = "") -> str:
        """Runs against each other; in a file, two."""
        asked = "&".join([urlencode([("run", slug) for slug in slugs]), *([query] if query else [])])
        return self._to("/compare", f"compare/{'--'.join(slugs[:2])}.html", asked)

    def compare_problem(self, slugs: list[str], problem: int) -> str:
        """One problem of the first run, the two runs' responses side by side."""
        query = f"{urlencode([('run', slug) for slug in slugs])}&problem={problem + 1}"
        return self._to("/compare/problem", f"compare/{'--'.join(slugs[:2])}/{problem + 1}.html", query)
