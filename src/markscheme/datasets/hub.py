"""Downloads one file from the Hugging Face Hub with its own client, or says in one sentence why it cannot.

Downloads go to a folder of the caller, not to the shared Hub cache, so that nothing unchecked remains.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from markscheme.datasets.sources import Download, NotThereError
from markscheme.errors import DataError, needed

# Retries of a broken or stalled download. The client's own limit is five, each after a timeout.
_RETRIES = 2


class _GaveUpError(Exception):
    """The client wanted more than `_RETRIES` retries."""


def download(repo: str, revision: str, file: str, folder: Path) -> Download:
    """Download a file into `folder`; on a terminal the client shows its progress bar.

    `HF_ENDPOINT`, `HF_TOKEN`, `HF_HUB_DOWNLOAD_TIMEOUT` and the other settings of the client apply.
    """
    http_errors = _import_client()
    from huggingface_hub import hf_hub_download

    # ValueError wraps a failed first request of a forced download. RuntimeError comes from the Xet client.
    expected: tuple[type[BaseException], ...] = (*http_errors, OSError, ValueError, RuntimeError, _GaveUpError)

    try:
        with _bounded_retries():
            path = hf_hub_download(
                repo,
                file,
                repo_type="dataset",
                revision=revision,
                cache_dir=folder,
                # Without this the client retries a stalled connection for 60 seconds each time.
                force_download=True,
                endpoint=_server(),
            )
    except expected as problem:
        raise _explain(problem, repo, revision, file) from problem
    # The client's documented layout: …/snapshots/<commit>/<path in the repository>.
    parts = Path(path).parts
    return Download(Path(path), parts[parts.index("snapshots") + 1])


def _import_client() -> tuple[type[Exception], ...]:
    """Return the exceptions of the client's HTTP library, which depends on its major version."""
    needed("pyarrow.parquet", "data", DataError)  # fail before the download, not after it
    errors = needed("huggingface_hub.errors", "data", DataError)
    return tuple(base for base in errors.HfHubHTTPError.__mro__ if base.__name__ == "HTTPError")


def _server() -> str:
    # The client reads this only once, when it is imported.
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


@contextmanager
def _bounded_retries() -> Iterator[None]:
    """Limit the client's retries, which would otherwise go on as long as every attempt transfers some bytes."""
    thread, retries = threading.get_ident(), 0

    def count(record: logging.LogRecord) -> bool:
        # The client logs a warning for each retry: count them instead of printing them.
        nonlocal retries
        if record.thread != thread or record.levelno < logging.WARNING:
            return True
        retries += 1
        if retries > _RETRIES:
            raise _GaveUpError
        return False

    client = logging.getLogger("huggingface_hub.file_download")
    level = client.level
    client.addFilter(count)
    client.setLevel(logging.WARNING)  # with a quieter setting the retries could not be counted
    try:
        yield
    finally:
        client.setLevel(level)
        client.removeFilter(count)


def _explain(problem: BaseException, repo: str, revision: str, file: str) -> DataError:
    chain = list(_chain(problem))
    what = f"{file} of {repo}"
    for link in chain:
        status = getattr(getattr(link, "response", None), "status_code", None)
        if status is not None:
            return _explain_status(status, f"{what} at revision {revision}")
    names = " ".join(type(link).__name__ for link in chain)
    server = _server()
    if "OfflineMode" in names:
        return DataError(f"{what} was not fetched because HF_HUB_OFFLINE is set: unset it, or copy the file here.")
    if "Timeout" in names:
        return DataError(f"{what} was not fetched: {server} stopped answering; try again later.")
    if "RemoteProtocolError" in names or "ReadError" in names or "Consistency check" in str(chain[0]):
        return DataError(f"{what} was not fetched: the download from {server} broke off; try again.")
    if "ConnectError" in names or "ProxyError" in names:
        return DataError(f"{what} was not fetched: {server} cannot be reached ({_last_line(chain)}); are you offline?")
    return DataError(f"{what} was not fetched from {server}: {_last_line(chain)}.")


def _explain_status(status: int, where: str) -> DataError:
    if status == 404:
        return NotThereError(f"The Hub has no {where} (HTTP 404): check HF_ENDPOINT, or look for a newer markscheme.")
    if status in (401, 403):
        return NotThereError(f"The Hub does not give out {where} (HTTP {status}): log in with `hf auth login`.")
    return DataError(f"The Hub could not serve {where} (HTTP {status}): try again later.")


def _chain(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__ or problem.__context__


def _last_line(chain: list[BaseException]) -> str:
    """Return the last line of the innermost error that has a message."""
    said = [line for link in chain for line in str(link).splitlines() if line.strip()]
    return said[-1].strip().rstrip(".") if said else type(chain[-1]).__name__
