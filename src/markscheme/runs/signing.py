"""Signatures of a run's manifest, and so of every file whose digest it holds, made by `ssh-keygen -Y` or `minisign`.

Only the kind of a key is read here. The tools read the key itself and ask for its passphrase.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from markscheme.datasets.small_texts import read_plain
from markscheme.errors import JournalError, UsageError, os_reason
from markscheme.runs.files import read_inside
from markscheme.runs.folder import LARGEST_MANIFEST, write_atomically

NAMESPACE = "markscheme"
FILES = {"ssh": "manifest.json.sig", "minisign": "manifest.json.minisig"}
LARGEST = 1 << 20
SECONDS = 60.0


def sign(folder: Path, key: Path) -> Path:
    """Sign the manifest of a run folder with a private key and return the signature file."""
    kind = _kind(key)
    with tempfile.TemporaryDirectory() as scratch:
        made, message = Path(scratch) / "signature", Path(scratch) / "manifest.json"
        message.write_bytes(_manifest(folder))
        secret = str(key.absolute())
        if kind == "ssh":
            _run(["ssh-keygen", "-Y", "sign", "-q", "-f", secret, "-n", NAMESPACE, str(message)], asks=True)
            made = message.with_name("manifest.json.sig")
        else:
            _run(["minisign", "-S", "-s", secret, "-m", str(message), "-x", str(made)], asks=True)
        write_atomically(folder / FILES[kind], made.read_bytes(), gate=False)
    return folder / FILES[kind]


def signatures(folder: Path) -> list[str]:
    """Return the kinds of signature that a run has."""
    return [kind for kind, name in FILES.items() if (folder / name).exists()]


def signer(folder: Path, keys: Path) -> str:
    """Return the signer of the manifest, by a public key or a file of allowed signers. `JournalError` if it is not
    signed.
    """
    kind = _kind(keys)
    try:
        signature = read_inside(folder / FILES[kind], folder.resolve(), LARGEST)
    except OSError as error:
        raise JournalError(f"there is no {kind} signature: {FILES[kind]}: {os_reason(error)}") from None
    with tempfile.TemporaryDirectory() as scratch:
        stored, message = Path(scratch) / "signature", Path(scratch) / "manifest.json"
        stored.write_bytes(signature)
        message.write_bytes(_manifest(folder))
        if kind == "minisign":
            public = str(keys.absolute())
            return _run(["minisign", "-V", "-p", public, "-m", str(message), "-x", str(stored)]).partition("\n")[0]
        allowed = Path(scratch) / "allowed"
        allowed.write_bytes(_allowed(keys))
        given = ["-f", str(allowed), "-s", str(stored)]
        names = _run(["ssh-keygen", "-Y", "find-principals", *given])
        who = names.partition("\n")[0]
        return _run(["ssh-keygen", "-Y", "verify", *given, "-I", who, "-n", NAMESPACE], message.read_bytes())


def _allowed(keys: Path) -> bytes:
    """Return a file of allowed signers; a public key becomes one with a single entry."""
    text = read_plain(keys, LARGEST, "more than public keys are").decode("utf-8", "replace").strip()
    if re.match(r"(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-\S+ \S+", text):
        kind, key, *comment = text.split("\n")[0].split(" ", 2)
        name = re.sub(r"[^\w.@+-]", "-", comment[0]) if comment else "signer"
        text = f"{name} {kind} {key}"
    return text.encode() + b"\n"


def _kind(key: Path) -> str:
    try:
        content = read_plain(key, LARGEST, "more than a key is")
    except OSError as error:
        raise UsageError(f"the key {key} cannot be read: {os_reason(error)}") from None
    return "minisign" if content.startswith(b"untrusted comment:") else "ssh"


def _manifest(folder: Path) -> bytes:
    try:
        return read_inside(folder / "manifest.json", folder.resolve(), LARGEST_MANIFEST)
    except OSError as error:
        raise JournalError(f"cannot read {folder / 'manifest.json'}: {os_reason(error)}") from None


def _run(command: list[str], message: bytes = b"", *, asks: bool = False) -> str:
    """Run a tool and return its output. `JournalError` with its output if it fails."""
    try:
        done = subprocess.run(
            command,
            input=None if asks else message,
            stdout=subprocess.PIPE,
            stderr=None if asks else subprocess.STDOUT,
            timeout=None if asks else SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError(f"{command[0]} is not installed, and this key needs it") from None
    except subprocess.TimeoutExpired:
        raise JournalError(f"{command[0]} did not end within {SECONDS:g} s") from None
    said = " ".join(done.stdout.decode("utf-8", "replace").split())[:300]
    if done.returncode:
        raise JournalError(f"{command[0]} refused: {said or 'see above'}")
    return said
