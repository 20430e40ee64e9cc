"""The trusted certificates are read at the first TLS connection."""

import ssl
import subprocess
import sys

from loopback import Loopback, Plan

from markscheme.models.certificates import certificates_when_used


def test_context_when_first_used_then_it_reads_the_certificates_once():
    with certificates_when_used():
        context = ssl.create_default_context()
    assert not context.get_ca_certs()
    assert not context.cert_store_stats()["x509_ca"]
    context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
    assert type(context) is ssl.SSLContext
    assert context.cert_store_stats() == ssl.create_default_context().cert_store_stats()
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


def test_context_when_made_afterwards_then_it_reads_them_at_once():
    with certificates_when_used():
        pass
    assert type(ssl.create_default_context()) is ssl.SSLContext
    assert "set_default_verify_paths" not in vars(ssl.SSLContext)


def test_run_when_the_server_has_no_tls_then_no_certificate_is_read(tmp_path):
    code = """
import ssl, sys
from markscheme.cli import main
status = main(sys.argv[1:])
from aiohttp.connector import _SSL_CONTEXT_VERIFIED as context
print([status, context.cert_store_stats()["x509"]], file=sys.stderr)
"""
    with Loopback(Plan(text="ANSWER: 18")) as server:
        model = ["--model", "openai/loopback", "--base-url", server.url, "--limit", "1"]
        command = [sys.executable, "-c", code, "run", "gsm8k-sample", *model, "--out", str(tmp_path / "run")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[0, 0]"
