import csv
import io
import json
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
import run_folders as folders

from markscheme.runs import Run
from markscheme.view.guard import Guard, is_loopback
from markscheme.view.library import Library
from markscheme.view.server import safe_cell

PAGES = [
    "/",
    "/?sort=accuracy&down=1&q=first",
    "/run/first",
    "/run/first?order=hard&grid=1",
    "/run/first/responses",
    "/run/first/responses?verdict=wrong&q=vieta&min_tokens=1&group=level:3&sort=tokens&down=1",
    "/run/first/audit",
    "/run/first/audit?a=math&b=normalized",
    "/run/first/problem/1",
    "/run/first/response/1/0",
    "/run/first/response/1/0/others",
    "/run/first/response/1/0/record",
    "/run/first/problem/1/runs",
    "/run/hostile/problem/1/runs",
    "/run/hostile/response/1/0/record",
    "/run/first/responses?where=%3Cscript%3Ealert(1)%3C/script%3E",
    "/compare?run=first&run=second",
    "/compare?run=first&run=second&only=better",
    "/compare?run=first&run=second&run=future",
    "/compare",
    "/compare/problem?run=first&run=second&problem=2&left=3&right=1",
    "/run/crashed",
    "/run/future",
    "/run/future/response/1/0",
    "/run/future/responses?sort=latency",
    "/run/hostile",
    "/run/hostile/problem/1",
    "/run/broken",
    "/runs.csv",
    "/run/first/responses.csv",
    "/compare.csv?run=first&run=second",
]


class Inert(HTMLParser):
    """Fails on anything in a page that could run or load something that is not ours."""

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        assert tag not in ("iframe", "object", "embed", "img", "base", "style", "h7", "u")
        assert not [name for name in found if name.startswith("on") or name == "style"]
        if tag == "script":
            assert found["src"].startswith("/assets/")
        for name in ("href", "src", "action"):
            assert found.get(name, "/").startswith(("/", "#")), found


def get(url: str, method: str = "GET", **headers: str):
    """Status, headers and text; `headers` may replace Host and Origin."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname, parts.port, timeout=30)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


@pytest.mark.parametrize("path", PAGES)
def test_page_of_any_run_answers_with_the_policy_that_forbids_inline_scripts(server, path):
    status, headers, body = get(server.url + path)
    assert status == 200, body
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Type"].endswith("charset=utf-8")
    if headers["Content-Type"].startswith("text/html"):
        Inert().feed(body)


@pytest.mark.parametrize(
    "path",
    [
        "/nothing", "/run/nothing", "/run/..%2f..%2fetc", "/run/%2e%2e", "/run/first/problem/99", "/run/first/problem/0",
        "/run/first/response/1/999", "/run/first/response/99/0", "/run/first/response/1/0/piece", "/assets/../server.py",
        "/assets/%2e%2e/server.py", "/assets/app.css/../../server.py", "/run/first/../../../etc/passwd",
        "/compare?run=nothing", "/compare/problem?run=first&run=second&problem=99", "/compare/problem?run=first",
        "/compare.csv?run=first", "/run//first", "/run/first%00",
    ],
)  # fmt: skip
def test_address_of_what_is_not_there_is_a_404_that_says_so(server, path):
    status, headers, body = get(server.url + path)
    assert status == 404
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "<h1>Not found</h1>" in body
    assert "root:" not in body


def test_files_beside_the_runs_cannot_be_reached(tmp_path, serve):
    folders.finished(tmp_path / "runs" / "one", problems=2, samples=1)
    folders.finished(tmp_path / "secret", problems=2, samples=1)
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "note").write_text("a private note")
    for name in ("linked", "pipe"):
        (tmp_path / "runs" / name).mkdir()
    (tmp_path / "runs" / "linked" / "manifest.json").symlink_to(tmp_path / "note")
    os.mkfifo(tmp_path / "runs" / "pipe" / "manifest.json")
    (tmp_path / "runs" / "one" / "responses.more.jsonl").symlink_to(tmp_path / "secret" / "responses.jsonl")
    served = serve(tmp_path / "runs")
    page = get(served.url + "/run/one")[2]
    assert "responses.more.jsonl is not read: it is a link" in page
    for name in ("linked", "pipe"):
        status, _, body = get(served.url + f"/run/{name}")
        assert status == 200
        assert "the manifest cannot be read" in body
        assert "private" not in body
    for path in ("/run/secret", "/run/..~secret", "/run/link", "/run/..%2Fsecret"):
        assert get(served.url + path)[0] == 404


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1:8000.evil.example", "localhost:80@evil.example",
        "evil.example@localhost", "localhost/evil.example", "localhost#x", "", "[", "192.0.2.7",
    ],
)  # fmt: skip
def test_request_under_another_host_name_is_refused(server, host):
    status, _, body = get(server.url + "/", Host=host)
    assert status in (400, 403)
    assert "first" not in body


@pytest.mark.parametrize("host", ["localhost", "localhost:9", "127.0.0.1", "[::1]:80"])
def test_request_under_a_name_of_this_machine_is_answered(server, host):
    assert get(server.url + "/", Host=host)[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://localhost:1"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors"},
    ],
)
def test_request_from_another_sites_page_is_refused(server, headers):
    status, _, body = get(server.url + "/run/first/responses", **headers)
    assert status == 403
    assert "p000" not in body


def test_request_from_its_own_page_or_a_link_is_answered(server):
    assert get(server.url + "/", Origin=server.url)[0] == 200
    assert get(server.url + "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    assert get(server.url + "/", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors")[0] == 200


@pytest.mark.parametrize(
    "sent", [b"\x00\x01\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"GET /" + b"a" * 100_000]
)
def test_request_that_is_no_http_is_refused_and_the_terminal_sees_no_traceback(server, caplog, sent):
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(sent)
        assert connection.recv(100).startswith(b"HTTP/1.0 400")
    assert not caplog.records


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_request_that_would_change_something_is_refused(server, method):
    assert get(server.url + "/run/first", method=method)[0] == 405


def test_guard_of_a_server_on_all_addresses_takes_numbers_and_its_own_name_but_no_other():
    guard = Guard("0.0.0.0")
    assert guard._known("192.0.2.7:7777")
    assert guard._known(socket.gethostname())
    assert not guard._known("evil.example")
    assert not Guard("127.0.0.1")._known("192.0.2.7")


def test_loopback_is_known_from_other_addresses():
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.0.2.7", "example.org"))


def test_looking_at_runs_changes_nothing_in_their_folder(tmp_path, serve):
    root = tmp_path / "runs"
    path = folders.finished(root / "first", problems=3, samples=2)
    folders.crashed(root / "crashed")
    before = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in root.rglob("*") if file.is_file()}
    for file in (path, path / "marks"):
        file.chmod(stat.S_IRUSR | stat.S_IXUSR)
    served = serve(root)
    for address in PAGES:
        if "second" not in address and "future" not in address:
            get(served.url + address)
    after = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in root.rglob("*") if file.is_file()}
    for file in (path, path / "marks"):
        file.chmod(stat.S_IRWXU)
    assert after == before


def test_page_asked_for_again_unchanged_is_a_304(server):
    url = server.url + "/run/first/problem/2"
    status, headers, _ = get(url)
    assert status == 200
    assert get(url, If_None_Match=headers["ETag"])[0] == 304


def test_csv_of_a_filtered_list_has_exactly_the_rows_of_the_filter(server, runs):
    _, headers, everything = get(server.url + "/run/first/responses.csv")
    _, _, some = get(server.url + "/run/first/responses.csv?verdict=wrong")
    rows = list(csv.DictReader(io.StringIO(everything)))
    assert headers["Content-Disposition"].startswith("attachment")
    assert len(rows) == 96
    wrong = list(csv.DictReader(io.StringIO(some)))
    assert wrong == [row for row in rows if row["verdict"] == "wrong"]
    assert 0 < len(wrong) < 96


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\n=1", "'\n=1"),
        ("＝1", "'＝1"),
        ("-5", "-5"),
        ("+1.5e3", "+1.5e3"),
        ("-x", "'-x"),
        ("7", "7"),
        (3, 3),
    ],
)
def test_csv_cell_that_a_spreadsheet_would_run_is_made_text(value, kept):
    assert safe_cell(value) == kept


def test_list_when_a_condition_is_typed_then_it_is_narrowed_or_the_mistake_is_said(server):
    page = get(server.url + "/run/first/responses?where=sample+%3D+0+and+verdict+%3D+correct")[2]
    kept = re.search(r"(\d+) of 96 responses", page)[1]
    rows = list(csv.DictReader(io.StringIO(get(server.url + "/run/first/responses.csv?where=sample+%3D+0")[2])))
    assert len(rows) == 12
    assert int(kept) == sum(row["verdict"] == "correct" for row in rows)
    assert (
        "The condition cannot be read: &#39;colour&#39; is not a field"
        in get(server.url + "/run/first/responses?where=colour+%3D+1")[2]
    )
    assert get(server.url + "/run/first/responses.csv?where=colour+%3D+1")[0] == 404


def test_record_of_a_response_holds_the_prompt_the_response_and_every_mark(server, runs):
    record = json.loads(get(server.url + "/run/first/response/2/3/record")[2])
    stored = Run.open(runs / "first").snapshot()
    row = stored.row(1, 3)
    assert record["response"]["text"] == stored.response(row).text
    assert record["question"]["problem"]["id"] == stored.ids[1]
    assert record["marks"].keys() == set(stored.protocols)


def test_problem_in_every_run_shows_who_solved_it(server, runs):
    page = get(server.url + "/run/first/problem/2/runs")[2]
    for name in ("first", "second"):
        stored = Run.open(runs / name).snapshot()
        right = int((stored.verdict("math")[stored.problem == 1] == 0).sum())
        assert f"{right} of 8" in page
    assert "/run/second/response/2/0" in page


def test_text_search_finds_words_in_text_and_not_in_ids(server):
    _, _, body = get(server.url + "/run/first/responses.csv?q=VIETA")
    assert len(body.splitlines()) > 80
    _, _, body = get(server.url + "/run/first/responses.csv?q=VIETA&case=1")
    assert len(body.splitlines()) == 1
    _, _, body = get(server.url + "/run/first/responses.csv?q=p00")
    assert len(body.splitlines()) == 1
    _, _, body = get(server.url + "/run/first/responses.csv?q=" + "%5Cboxed%7B")
    assert len(body.splitlines()) > 80
    assert "By <mark>Vieta</mark>, $r_1" in get(server.url + "/run/first/responses?q=vieta")[2]


def test_long_text_comes_in_pieces_that_make_up_the_whole(server):
    _, _, body = get(server.url + "/run/hostile/response/1/10")
    assert len(body) < 1_000_000
    assert 'class="b later"' in body
    _, _, piece = get(server.url + "/run/hostile/response/1/10/piece?from=100000&to=116000&part=text")
    assert piece == "y" * 16_000
    _, headers, text = get(server.url + "/run/hostile/response/1/10/text")
    assert text.endswith("y" * 10_000_000)
    assert headers["Content-Type"].startswith("text/plain")


def test_what_a_response_holds_beside_its_text_is_shown_as_text(tmp_path, serve):
    path = folders.finished(tmp_path / "runs" / "one", problems=1, samples=1)
    run = Run.open(path)
    [response] = run.responses()
    said = {"tool_calls": [{"function": {"name": "python", "arguments": "<script>print(1)</script>"}}]}
    (path / "responses.jsonl").write_bytes(
        msgspec.json.encode(msgspec.structs.replace(response, text="", metadata=said)) + b"\n"
    )
    _, _, body = get(serve(tmp_path / "runs").url + "/run/one/response/1/0")
    assert "tool_calls" in body
    assert "&lt;script&gt;print(1)" in body


def test_page_of_a_response_shows_how_it_was_read_where_its_protocol_reads_sentences(tmp_path, serve):
    path = folders.finished(tmp_path / "runs" / "one", problems=1, samples=1)
    run = Run.open(path)
    [response] = run.responses()
    text = "The answer is 8. Wait, it is <b>7</b>."
    (path / "responses.jsonl").write_bytes(msgspec.json.encode(msgspec.structs.replace(response, text=text)) + b"\n")
    _, _, body = get(serve(tmp_path / "runs").url + "/run/one/response/1/0")
    assert "How it was read" in body
    assert "the answer is       retracted    8" in body
    assert "<b>7" not in body.partition("How it was read")[2]


def test_run_that_is_still_growing_shows_more_at_the_next_look(tmp_path, serve):
    path = folders.running(tmp_path / "live", done=5)
    served = serve(tmp_path)
    assert "5 of 5 responses" in get(served.url + "/run/live/responses")[2]
    folders.go_on(path, 5, 9)
    assert "9 of 9 responses" in get(served.url + "/run/live/responses")[2]
    assert 'data-again="2.0"' in get(served.url + "/run/live/responses")[2]


def test_run_that_appears_later_is_found(tmp_path, serve, monkeypatch):
    monkeypatch.setattr("markscheme.view.library.RESCAN", 0.0)
    served = serve(tmp_path)
    assert "No runs found yet" in get(served.url + "/")[2]
    folders.finished(tmp_path / "deep" / "down" / "one", problems=2, samples=1)
    deadline = time.monotonic() + 200
    while "deep/down/one" not in get(served.url + "/")[2]:
        assert time.monotonic() < deadline
    assert get(served.url + "/run/deep~down~one")[0] == 200


def test_folder_that_is_itself_a_run_is_shown(tmp_path, serve):
    folders.finished(tmp_path / "one", problems=2, samples=1)
    served = serve(tmp_path / "one")
    assert get(served.url + "/run/one")[0] == 200


def test_runs_whose_names_look_alike_in_an_address_stay_apart(tmp_path):
    for name in ("a b", "a+b", "a/b"):
        folders.finished(tmp_path / name, problems=1, samples=1)
    entries = Library(tmp_path).entries()
    assert len({entry.slug for entry in entries}) == 3
    assert {entry.path for entry in entries} == {tmp_path / "a b", tmp_path / "a+b", tmp_path / "a" / "b"}


def test_protocols_that_the_run_was_not_marked_with_are_judged_on_the_spot(server):
    _, _, body = get(server.url + "/run/first/response/1/0/others")
    assert "aime@" in body
    assert "math@" not in body
    assert "countdown@" not in body  # judges another kind of gold


def test_audit_under_every_protocol_is_made_in_memory_and_agrees_with_the_marker(tmp_path, serve):
    from markscheme.marking import mark
    from markscheme.runs.folder import Run

    path = folders.finished(tmp_path / "one", problems=3, samples=2)
    before = sorted(path.rglob("*"))
    served = serve(tmp_path)
    assert "Mark with all" in get(served.url + "/run/one/audit")[2]
    deadline = time.monotonic() + 200
    while "marked now" not in get(served.url + "/run/one/audit?judge=1")[2]:
        assert time.monotonic() < deadline
    assert sorted(path.rglob("*")) == before
    run = Run.open(path)
    problems = {question.problem.key: question.problem for question in run.questions()}
    expected = {
        (problems[one.key].id, str(one.sample)): str(mark(one, problems[one.key], protocol="aime").verdict)
        for one in run.responses()
    }
    rows = csv.DictReader(io.StringIO(get(served.url + "/run/one/responses.csv")[2]))
    assert {(row["problem_id"], row["sample"]): row["verdict aime"] for row in rows} == expected
    assert get(served.url + "/run/one/response/1/0")[0] == 200


def test_command_to_judge_again_judges_this_very_response(server, runs, tmp_path, monkeypatch, capsys):
    from markscheme.cli import main
    from markscheme.marking import mark
    from markscheme.runs.folder import Run

    # The shell is real; the command it finds keeps its arguments, which then go to ours without another start of Python.
    (tmp_path / "markscheme").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\" > arguments\n")
    (tmp_path / "markscheme").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for name, number in (("first", 0), ("hostile", 4), ("hostile", 10)):  # the last is too long for a command line
        run = Run.open(runs / name)
        response = next(one for one in run.responses() if one.sample == number)
        expected = mark(response, run.questions()[0].problem, protocol="math").verdict
        _, _, body = get(f"{server.url}/run/{name}/response/1/{number}")
        command = unescape(re.search(r'id="command"[^>]*>(.*?)</pre>', body, re.DOTALL).group(1))
        assert command.isascii()
        subprocess.run(["bash", "-c", command], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True)
        assert main([*Path("arguments").read_text().splitlines(), "--json"]) == 0
        verdicts = json.loads(capsys.readouterr().out)["protocols"][0]["verdicts"]
        assert verdicts == {str(expected): 1}


def test_comparison_of_two_runs_is_that_of_the_statistics_on_their_marks(server, runs):
    from markscheme.runs.folder import Run
    from markscheme.statistics import compare, tally

    marks = [Run.open(runs / name).marks("math") for name in ("first", "second")]
    expected = compare("accuracy", *(tally((mark.key, mark.verdict) for mark in each) for each in marks))
    rows = list(csv.DictReader(io.StringIO(get(server.url + "/compare.csv?run=first&run=second")[2])))
    shown = [(int(row["correct"]), int(row["correct_other"]), float(row["p_value"])) for row in rows]
    assert shown == [(moved.a[0], moved.b[0], moved.p_value) for moved in expected.moved]
    deadline = time.monotonic() + 200
    while "being worked out" in (body := get(server.url + "/compare?run=first&run=second")[2].lower()):
        assert time.monotonic() < deadline
    assert f"{100 * expected.difference.estimate:+.1f} points" in body


def test_complete_run_with_other_numbers_of_samples_lacks_nothing(tmp_path, serve):
    path = folders.finished(tmp_path / "one", problems=6, samples=8)
    for file in (path / "responses.jsonl", path / "marks" / "math.jsonl", path / "marks" / "normalized.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        easy = {line["key"] for line in lines[:6:2]}
        kept = [line for line in lines if line["key"] not in easy or line.get("sample", 0) < 3]
        file.write_text("".join(json.dumps(line) + "\n" for line in kept))
    rounds = [{"size": 3, "asked": [3] * 6}, {"size": 2, "asked": [0, 5] * 3}]
    (path / "rounds.json").write_text(json.dumps(rounds))
    body = get(serve(tmp_path).url + "/run/one")[2]
    assert "6 problems × 3 to 8 samples" in body
    assert "responses are missing" not in body
    assert "to come" not in body


def test_run_that_nobody_writes_to_any_more_is_called_silent(tmp_path, serve):
    path = folders.running(tmp_path / "live", done=5)
    for file in path.rglob("*"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    body = get(serve(tmp_path).url + "/")[2]
    assert ">silent</span>" in body


def test_report_of_the_run_gives_the_figures_unless_its_marks_are_newer(tmp_path):
    from markscheme.reporting.summary import finish
    from markscheme.runs.folder import Run
    from markscheme.view.links import Links
    from markscheme.view.overview import overview
    from markscheme.view.site import Site

    path = folders.finished(tmp_path / "one", problems=5, samples=4)
    site = Site(Library(tmp_path), Links(""), patience=60)
    entry = site.library.entries()[0]
    from_marks = overview(site.begin(), entry).value
    run = Run.open(path)
    run.save_manifest(msgspec.structs.replace(run.manifest, counts=finish(run).verdicts))
    entry = site.library.entry(entry.slug)
    from_report = overview(site.begin(), entry).value
    assert from_report.accuracy == from_marks.accuracy
    assert from_report.verdicts == from_marks.verdicts
    assert from_report.responses == from_marks.responses
    report = json.loads((path / "report.json").read_text())
    report["accuracy"]["value"] = 0.125  # as nothing but the report says
    (path / "report.json").write_text(json.dumps(report))
    assert overview(site.begin(), entry).value.accuracy.value == 0.125
    run.save_marks("math", [mark for mark in run.marks("math") if mark.sample == 0])
    assert overview(site.begin(), entry).value.verdicts["correct"] < from_marks.verdicts["correct"]
    site.close()


def test_command_without_a_folder_says_what_to_do(tmp_path, capsys):
    from markscheme.cli import main

    assert main(["view", str(tmp_path / "nothing")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_command_serves_until_it_is_interrupted(tmp_path, launch):
    folders.finished(tmp_path / "one", problems=2, samples=1)
    process = launch("view", tmp_path, "--no-browser", "--port", "0")
    line = process.stdout.readline()
    url = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
    with urllib.request.urlopen(url) as answer:
        assert b"one" in answer.read()
    process.send_signal(signal.SIGINT)
    assert process.wait(200) == 0


def test_port_that_is_taken_is_an_error_that_says_so(tmp_path, capsys):
    from markscheme.cli import main

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with ThreadPoolExecutor(1) as elsewhere:  # the browser of other tests has an event loop in this thread
            assert elsewhere.submit(main, ["view", str(tmp_path), "--no-browser", "--port", port]).result(60) == 2
    assert "choose another --host or --port" in capsys.readouterr().err


def test_nothing_of_the_viewer_is_loaded_by_the_command_line_itself():
    code = "import sys, markscheme.cli as c; c.build_parser('view'); print([m for m in sys.modules if m.startswith(('aiohttp', 'jinja2', 'numpy'))])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_folder_of_the_package_has_every_asset():
    from markscheme.view.server import ASSETS, asset

    assert all(asset(name) for name in (*ASSETS, "static.js"))


def test_csv_when_its_reader_goes_away_then_nothing_is_complained_about(server, caplog):
    host, port = server.url.removeprefix("http://").split(":")
    for _ in range(5):
        with socket.create_connection((host, int(port))) as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closes with a reset
            reader.sendall(f"GET /run/hostile/responses.csv HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            reader.recv(100)
    assert get(server.url + "/run/first/responses.csv")[0] == 200  # the others have been dealt with by then
    assert not [record for record in caplog.records if record.exc_info]


def test_conversation_when_shown_then_turns_calls_and_errors_are_folded_and_inert(serve, tmp_path):
    from markscheme.runs.journal import Journal
    from markscheme.runs.turns import TurnLine
    from markscheme.types import ToolCall, Turn

    path = folders.running(tmp_path / "live", done=6)
    lines = (path / "responses.jsonl").read_text().splitlines(keepends=True)
    first = json.loads(lines[0])
    hostile = "<script>alert(1)</script>"
    turns = (
        Turn(
            role="assistant",
            text=hostile,
            tool_calls=(ToolCall(id="c", name="python", arguments=json.dumps({"code": f"x = 1 # {hostile}"})),),
        ),
        Turn(role="tool", call_id="c", text=f"NameError {hostile}", failed=True, latency=0.25),
    )
    with Journal(path / "turns.jsonl") as journal:
        cell = {"key": first["key"], "sample": first.get("sample", 0)}
        journal.write([TurnLine(**cell, number=number, turn=turn) for number, turn in enumerate(turns)])
    url = serve(tmp_path).url + "/run/live/response/1/0"
    (path / "responses.jsonl").write_text("".join(lines[1:]))
    _, _, going_on = get(url)
    last = Turn(role="assistant", text=first["text"])
    whole = {**first, "turns": msgspec.to_builtins((*turns, last))}
    (path / "responses.jsonl").write_text("".join([json.dumps(whole) + "\n", *lines[1:]]))
    _, _, done = get(url)
    for text in (going_on, done):
        Inert().feed(text)
        shown = unescape(text)
        assert "Turn 1: model" in shown
        assert "x = 1 # " in shown
        assert 'class="pill">error' in text
        assert hostile not in text
    assert "The conversation so far" in going_on
    assert "Failed calls" in done


def test_runs_when_they_are_of_an_experiment_then_grouped_with_their_settings_as_columns(serve, tmp_path):
    import markscheme as ms
    from markscheme.view.export import export

    options = {"model": ["solver"], "benchmark": ["countdown-sample"], "limit": 2, "progress": False}
    ms.experiment(**options, temperature=[0.2, 0.8], out=tmp_path / "runs" / "sweep")
    address = serve(tmp_path / "runs").url
    page = get(address + "/")[2]
    assert '<tr class="group" data-experiment="sweep">' in page
    assert "2 runs" in page
    assert 'data-column="temperature"' in page
    chosen = get(address + "/?experiment=sweep&sort=temperature")[2]
    assert chosen.count('data-experiment="sweep"') == 2
    export(tmp_path / "runs", tmp_path / "site", lambda _: None)
    page = (tmp_path / "site" / "index.html").read_text()
    assert page.index('<tr class="group" data-experiment="sweep">') < page.index("run/sweep~")
    assert "/series?" not in page


def test_series_when_runs_have_steps_then_a_page_over_them(serve, tmp_path):
    import markscheme as ms

    for step in (10, 20):
        out = tmp_path / "runs" / "training" / str(step)
        ms.run("countdown-sample", model="solver", limit=3, step=step, out=out, progress=False)
    address = serve(tmp_path / "runs").url
    assert "/series?experiment=training" in get(address + "/")[2]
    page = get(address + "/series?experiment=training")[2]
    assert "step 10 has the highest accuracy of 2 steps" in page or "Being worked out" in page
    assert get(address + "/series?experiment=none")[0] == 404
