"""Where requests go: the variables of other clients, proxies, and that the user is told before the first one."""

import asyncio
import json
import os
import ssl
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.config import make_config
from markscheme.errors import UsageError
from markscheme.models import load_model
from markscheme.models.addresses import proxy_of, with_environment

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def config(model="openai/m", **options):
    return make_config(benchmark="b", model=model, **options)


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_run_when_openais_variable_names_a_server_then_that_is_asked_and_told_and_kept(
    variable, monkeypatch, tmp_path, capsys
):
    from markscheme.cli import main

    monkeypatch.chdir(tmp_path)
    with Loopback() as server:
        monkeypatch.setenv(variable, server.url)
        main(["run", "gsm8k-sample", "--model", "openai/m", "--limit", "2", "--out", "run"])
        assert server.requests == 2
        first = capsys.readouterr().err.splitlines()[0]
        assert f"asking {server.url}/chat/completions (from {variable})" in first
        kept = json.loads((tmp_path / "run" / "manifest.json").read_text())["config"]["base_url"]
        assert kept == [server.url]


def test_address_when_given_then_no_variable_counts(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    given = config(base_url=("http://here/v1",))
    assert with_environment(given) == given


def test_address_when_both_variables_are_set_then_the_newer_one(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://new/v1")
    monkeypatch.setenv("OPENAI_API_BASE", "http://old/v1")
    assert with_environment(config()).base_url == ("http://new/v1",)


@pytest.mark.parametrize("address", ["", "  ", "https://api.openai.com/v1", "https://api.openai.com/v1/"])
def test_address_when_the_variable_says_nothing_new_then_it_is_openai_itself(address, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    assert with_environment(config()) == config()


def test_address_when_it_is_another_backends_variable_then_it_does_not_count(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://h/v1")
    assert with_environment(config("anthropic/m")) == config("anthropic/m")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://gateway")
    assert with_environment(config("anthropic/m")).base_url == ("http://gateway",)
    assert (
        "http://gateway/v1/messages (from ANTHROPIC_BASE_URL)"
        in load_model("anthropic/m", config("anthropic/m")).route()
    )


def test_key_when_the_server_is_hugging_faces_then_its_token_and_never_openais(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-them")
    monkeypatch.setenv("HF_TOKEN", "hf_for_them")
    theirs = load_model("openai/m", config(base_url=("https://router.huggingface.co/v1",)))
    assert theirs.route().endswith("key from HF_TOKEN")
    assert "sk-not-for-them" not in str(theirs._transport._headers)
    assert load_model("openai/m", config(base_url=("http://h/v1",))).route().endswith("key from OPENAI_API_KEY")


def test_route_when_shown_then_without_passwords(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://me:proxysecret@proxy:3128")
    route = load_model("openai/m", config(base_url=("http://bob:hunter2@h/v1", "http://i/v1"))).route()
    assert route == "http://***@h/v1/chat/completions and 1 more, proxy http://***@proxy:3128"


@pytest.mark.parametrize(
    ("no_proxy", "used"),
    [
        ("", True),
        ("other", True),
        ("node7.cluster", False),
        (".cluster", False),
        ("cluster", False),
        ("node7.cluster:8000", False),
        ("node7.cluster:9000", True),
        ("*", False),
    ],
)
def test_proxy_when_no_proxy_names_the_host_then_it_is_asked_directly(no_proxy, used, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "proxy.local:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert proxy_of("http://node7.cluster:8000/v1") == ("http://proxy.local:3128" if used else None)


@pytest.mark.parametrize(("network", "used"), [("10.0.0.0/8", False), ("192.168.0.0/16", True), ("10/8/x", True)])
def test_proxy_when_no_proxy_names_a_network_then_its_hosts_are_asked_directly(network, used, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", network)
    assert (proxy_of("https://10.1.2.3:8000/v1") is not None) == used


def test_proxy_when_it_is_of_a_kind_that_does_not_work_then_says_which_variable_to_set(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://user:geheim@proxy:1080")
    with pytest.raises(UsageError, match=r"HTTPS_PROXY to one, or NO_PROXY=api\.example") as refused:
        proxy_of("https://api.example/v1")
    assert "geheim" not in str(refused.value)


@pytest.mark.parametrize("proxy", ["http://[bad", "http://h:99999", "http://..", "ftp://h", "http://", "://"])
def test_proxy_when_it_is_no_address_then_one_sentence(proxy, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(UsageError, match=r"set HTTP_PROXY to one, or NO_PROXY=api\.example"):
        load_model("openai/m", config(base_url=("http://api.example/v1",)))


@pytest.mark.parametrize("url", ["http://a..b/v1", "http://.../v1", f"http://{'a' * 64}/v1", "http://h:99999/v1"])
def test_address_when_no_host_can_be_called_so_then_one_sentence(url):
    with pytest.raises(UsageError, match="is not the address of a server"):
        load_model("openai/m", config(base_url=(url,)))


def test_run_when_a_proxy_is_named_then_requests_go_through_it(monkeypatch, tmp_path):
    with Loopback(Plan(text="ANSWER: 1")) as proxy:  # a proxy gets the whole address, and may answer itself
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        run = ms.run(
            "gsm8k-sample", model="openai/m", base_url="http://model.example/v1", limit=3, out=tmp_path / "run"
        )
        assert run.manifest.status == "complete"
        assert proxy.requests == 3


def test_run_when_the_proxy_wants_a_password_then_the_run_stops_and_says_so(monkeypatch, tmp_path):
    async def refuse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async def asking():
        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        options = {"base_url": "https://model.example/v1", "limit": 2, "out": tmp_path / "run"}
        with pytest.raises(ms.MarkschemeError, match="the proxy refuses to connect") as stopped:
            await asyncio.to_thread(ms.run, "gsm8k-sample", model="openai/m", **options)
        server.close()
        return str(stopped.value)

    assert "407" in asyncio.run(asking())


@pytest.fixture
def tls_server(tmp_path):
    """A server with a certificate of its own, which nobody has vouched for, and the certificate's file."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        key,
        "-out",
        certificate,
    ]
    subprocess.run([*made, *names], check=True, capture_output=True)

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"choices": [{"message": {"content": "ANSWER: 14"}, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://localhost:{server.server_port}/v1", certificate
    server.shutdown()
    server.server_close()


@pytest.mark.needs_program("openssl")
def test_run_when_the_certificate_is_not_trusted_then_the_advice_that_is_given_works(tls_server, tmp_path):
    address, certificate = tls_server

    def run(**variables):
        what = [
            "run",
            "gsm8k-sample",
            "--limit",
            "1",
            "--model",
            "openai/m",
            "--base-url",
            address,
            "--out",
            tmp_path / "r",
        ]
        env = {**os.environ, "OPENAI_API_KEY": "none", **variables}  # in a new interpreter: OpenSSL reads it once
        command = [sys.executable, "-m", "markscheme", *what]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)

    refused = run(SSL_CERT_FILE=os.devnull)
    assert refused.returncode == 1
    assert "has a certificate that is not trusted (self-signed certificate)" in refused.stderr
    assert refused.stderr.rstrip().endswith("trust it with SSL_CERT_FILE=FILE.pem")
    assert run(SSL_CERT_FILE=str(certificate)).returncode == 0
