"""The page on which people judge: by keyboard in a real browser, blind, durable, and closed to everybody else."""

import json
import re
import signal
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
import run_folders as folders
from axe_playwright_python.sync_playwright import Axe
from page_server import Server
from test_view_server import Inert

from markscheme.runs import Run
from markscheme.runs.adjudications import Adjudication, read_labels
from markscheme.view.adjudicating import LARGEST, AdjudicationPage

TOKEN = "a-token-of-the-test"


@pytest.fixture
def folder(tmp_path):
    folders.finished(tmp_path / "run", problems=12, samples=8, seed=3)
    return tmp_path / "run"


@pytest.fixture
def site(folder):
    server = Server(AdjudicationPage(Adjudication(Run.open(folder).snapshot()), "ann").app(TOKEN))
    yield server
    server.close()


def labels(folder, who="ann"):
    file = folder / "adjudications" / f"labels.{who}.jsonl"
    return [json.loads(line) for line in file.open()] if file.exists() else []


def send(url, path="/show", body=None, method="POST", **changed):
    """A request as the page makes it; `changed` are headers put in or, with None, left out."""
    place = urlsplit(url)
    headers = {
        "Host": place.netloc, "Origin": url, "Content-Type": "application/json", "X-Markscheme-Token": TOKEN,
        "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors",
    } | {name.replace("_", "-"): value for name, value in changed.items()}  # fmt: skip
    connection = HTTPConnection(place.hostname, place.port, timeout=60)
    content = body if isinstance(body, bytes) else json.dumps({"who": "ann"} if body is None else body)
    connection.request(method, path, content, {name: value for name, value in headers.items() if value is not None})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers


def test_responses_are_judged_with_the_keyboard_and_kept(page, site, folder):
    """Each key is a label of what was shown, in the order of the terminal mode; the figure's worth is said on the way."""
    run = Run.open(folder)
    order = Adjudication(run.snapshot())
    page.goto(f"{site.url}/#{TOKEN}")
    for number in range(12):
        page.get_by_text(f"{number} of 95 judged by ann").wait_for()
        assert page.locator("#shown article").inner_text()
        assert TOKEN not in page.url
        page.keyboard.press("ynu"[number % 3])
    page.get_by_text("12 of 95 judged by ann").wait_for()
    page.get_by_text(re.compile(r"with \d+ more labels the interval goes from ±\d")).wait_for()
    said = [(each["key"], each["sample"], each["label"]) for each in labels(folder)]
    wanted = [("right", "wrong", "unsure")[number % 3] for number in range(12)]
    assert said == [(e.key, e.sample, w) for e, w in zip(order.order, wanted, strict=False)]
    assert len(read_labels(run.snapshot())) == 12


def test_page_shows_formulas_and_nothing_of_the_verdict(page, site, folder):
    """Blind: a verdict, a protocol or a highlighted answer would lead the person; what the problem and text say is set."""
    page.goto(f"{site.url}/#{TOKEN}")
    page.locator("#shown math").first.wait_for()
    for number in range(4):
        page.get_by_text(f"{number} of 95 judged").wait_for()
        _, text, _ = send(site.url)
        shown = json.loads(text)
        assert set(shown) == {"at", "done", "of", "html", "content", "before"}
        assert not re.search(r"<mark|badge|v-correct|v-wrong|truncated|unmarkable|math@|normalized", shown["html"])
        page.keyboard.press("u")
    assert Axe().run(page).violations_count == 0


def test_back_changes_a_label_and_a_second_person_is_compared_with_the_first(page, site, folder):
    page.goto(f"{site.url}/#{TOKEN}")
    for number, key in enumerate("yy"):
        page.get_by_text(f"{number} of 95 judged by ann").wait_for()
        page.keyboard.press(key)
    page.get_by_text("2 of 95 judged by ann").wait_for()
    page.keyboard.press("b")
    page.get_by_text("You said: right.").wait_for()
    page.keyboard.press("n")
    page.get_by_text("You said: right.").wait_for(state="hidden")
    first = Adjudication(Run.open(folder).snapshot())
    assert first.opinions_of("ann") == {0: "right", 1: "wrong"}
    page.locator("[name=who]").fill("bob")
    page.keyboard.press("Enter")
    for number in range(10):
        page.get_by_text(f"{number} of 95 judged by bob").wait_for()
        page.keyboard.press("y")
    page.get_by_text("pairs of the 2 people agree on 50 %").wait_for()
    page.reload()
    page.get_by_text("10 of 95 judged by bob").wait_for()


def test_hostile_response_runs_nothing_and_loads_nothing(page, tmp_path):
    """A response full of scripts, tags and attributes is text; the page fixture fails on any dialog or request."""
    folders.hostile(tmp_path / "hostile", long_line=30_000)
    adjudication = Adjudication(Run.open(tmp_path / "hostile").snapshot())
    server = Server(AdjudicationPage(adjudication, "ann").app(TOKEN))
    try:
        for at in range(len(adjudication.order)):
            for whole in (False, True):
                Inert().feed(json.loads(send(server.url, body={"who": "ann", "at": at, "whole": whole})[1])["html"])
        page.goto(f"{server.url}/#{TOKEN}")
        for number in range(len(adjudication.order)):
            page.get_by_text(f"{number} of {len(adjudication.order)} judged").wait_for()
            for key in "mu":
                page.locator("#shown[aria-busy=false]").wait_for()
                page.keyboard.press(key)
        page.get_by_text("All are judged. Thank you.").wait_for()
        page.get_by_text(f"{len(adjudication.order)} labels, all of them unsure").wait_for()
    finally:
        server.close()


FORGED = {
    "no token": {"X_Markscheme_Token": None},
    "another token": {"X_Markscheme_Token": "guess"},
    "a token that is no text": {"X_Markscheme_Token": "ümlaut"},
    "another site": {"Origin": "https://evil.example"},
    "another port": {"Origin": "http://127.0.0.1:1"},
    "no origin": {"Origin": None},
    "an origin that is none": {"Origin": "null"},
    "a name that was rebound": {"Host": "evil.example", "Origin": "http://evil.example"},
    "a form": {"Content_Type": "application/x-www-form-urlencoded"},
    "plain text": {"Content_Type": "text/plain"},
    "an upload": {"Content_Type": "multipart/form-data; boundary=x"},
    "a fetch from elsewhere": {"Sec_Fetch_Site": "cross-site"},
    "a sister site": {"Sec_Fetch_Site": "same-site"},
    "a form of another page": {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
}


@pytest.mark.parametrize("path", ["/show", "/label", "/worth"])
@pytest.mark.parametrize("forged", FORGED)
def test_forged_request_is_refused_and_nothing_is_kept(site, folder, path, forged):
    """Each of these alone is reason enough; with all as the page sends them the same request is answered."""
    order = Adjudication(Run.open(folder).snapshot())
    content = json.loads(send(site.url)[1])["content"]
    body = {"who": "ann", "at": 0, "content": content, "label": "right"} if path == "/label" else {"who": "ann"}
    status, text, headers = send(site.url, path, body, **FORGED[forged])
    assert status == 403
    assert content not in text
    assert headers["Content-Security-Policy"]
    assert labels(folder) == []
    assert send(site.url, path, body)[0] == 200
    assert len(labels(folder)) == (path == "/label")
    assert order.order


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_label_by_another_method_is_refused(site, folder, method):
    """An address alone, as a picture or a link asks for it, changes nothing; a preflight gets no leave."""
    status, _, headers = send(site.url, "/label", method=method)
    assert status in (404, 405)
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert send(site.url, "/", method="POST")[0] == 405
    assert labels(folder) == []


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[", b"[]", b"x" * (LARGEST + 1), {"who": "ann"}, {"who": "ann", "at": 0, "content": "x", "label": "right"},
        {"who": "ann", "at": -1, "content": "x", "label": "right"}, {"who": "ann", "at": 10**9, "content": "", "label": "wrong"},
        {"who": "ann", "at": 0, "content": "", "label": "correct"}, {"who": "ann", "at": "0", "content": "", "label": "right"},
        {"who": "ann", "at": 0, "content": "", "label": "right", "extra": 1},
    ],
)  # fmt: skip
def test_label_that_is_no_label_is_refused_in_a_sentence(site, folder, body):
    """Half, too long, another text than the one shown, a place that is none, a word that is none."""
    status, text, _ = send(site.url, "/label", body)
    assert status in (400, 413)
    assert text.strip()
    assert labels(folder) == []


@pytest.mark.parametrize("who", ["", "../x", "a/b", ".hidden", "x" * 60, "a\nb", "ann\u0000"])
def test_name_that_is_no_name_is_refused(site, folder, who):
    content = json.loads(send(site.url)[1])["content"]
    assert send(site.url, "/label", {"who": who, "at": 0, "content": content, "label": "right"})[0] == 400
    assert [file.name for file in (folder / "adjudications").iterdir()] == ["order.jsonl"]


def test_page_of_another_site_can_neither_read_nor_write(new_context, site, folder, serve, tmp_path):
    """In a real browser: a fetch with and without leave, a form, a picture, a frame."""
    content = json.loads(send(site.url)[1])["content"]
    (tmp_path / "empty").mkdir()
    other = serve(tmp_path / "empty")
    tab = new_context(bypass_csp=True).new_page()
    tab.goto(other.url)
    read = tab.evaluate(
        """async ([to, token, content]) => {
          const body = JSON.stringify({ who: "eve", at: 0, content, label: "right" });
          const seen = [];
          for (const mode of ["cors", "no-cors"]) for (const type of ["application/json", "text/plain"])
            for (const headers of [{ "Content-Type": type }, { "Content-Type": type, "X-Markscheme-Token": token }])
              try { seen.push(await (await fetch(to + "/label", { method: "POST", mode, headers, body })).text()); } catch { seen.push(""); }
          return seen;
        }""",
        [site.url, TOKEN, content],
    )
    assert set(read) == {""}
    tab.set_content(f'<form method="post" enctype="text/plain" action="{site.url}/label"><input name="x"></form>')
    tab.evaluate("() => document.forms[0].submit()")
    tab.get_by_text("does not answer requests from other sites").wait_for()
    assert [file.name for file in (folder / "adjudications").iterdir()] == ["order.jsonl"]


def test_page_without_its_token_shows_nothing_of_the_run_and_sets_no_cookie(site, folder):
    """The shell can be had by every user of the machine; what is in the run cannot."""
    status, text, headers = send(site.url, "/", method="GET")
    assert status == 200
    assert "Set-Cookie" not in headers
    assert headers["Cache-Control"] == "no-store"
    question, response = Adjudication(Run.open(folder).snapshot()).shown(0)
    assert question.problem.statement[:30] not in text
    assert response.text[:30] not in text
    assert TOKEN not in text
    Inert().feed(text)


def start(folder, launch):
    server = launch("adjudicate", folder, "--page", "--no-browser", "--port", "0", "--who", "ann")
    said = server.stdout.readline()
    url, token = re.search(r"(http://127\.0\.0\.1:\d+)/#(\S+)", said).groups()
    return server, url, token


def test_killed_in_the_middle_it_loses_no_label_and_goes_on(folder, launch):
    """The command as people start it, killed -9 three times between labels: whatever was answered is kept."""
    done = 0
    for stop in (3, 7, 9):
        server, url, token = start(folder, launch)
        try:
            shown = json.loads(send(url, X_Markscheme_Token=token)[1])
            assert (shown["done"], shown["at"]) == (done, done)
            while done < stop:
                body = {"who": "ann", "at": shown["at"], "content": shown["content"], "label": "right"}
                status, text, _ = send(url, "/label", body, X_Markscheme_Token=token)
                assert status == 200
                shown, done = json.loads(text), done + 1
        finally:
            server.send_signal(signal.SIGKILL)
            server.communicate()
        assert len(labels(folder)) == stop
    assert len(read_labels(Run.open(folder).snapshot())) == 9


def test_command_says_what_the_labels_are_worth_when_it_ends_and_never_shows_the_token_elsewhere(folder, launch):
    server, url, token = start(folder, launch)
    shown = json.loads(send(url, X_Markscheme_Token=token)[1])
    body = {"who": "ann", "at": 0, "content": shown["content"], "label": "right"}
    assert send(url, "/label", body, X_Markscheme_Token=token)[0] == 200
    assert send(url, "/show", X_Markscheme_Token="wrong")[0] == 403
    server.send_signal(signal.SIGINT)
    out, errors = server.communicate(timeout=200)
    assert server.returncode == 0
    assert "1 judged: of those marked correct" in out
    assert token not in out + errors


def test_run_that_has_no_mark_is_refused_before_a_page_is_opened(tmp_path, capsys):
    from markscheme.cli import main

    folders.crashed(tmp_path / "crashed")
    for file in (tmp_path / "crashed").glob("marks/*"):
        file.unlink()
    assert main(["adjudicate", str(tmp_path / "crashed"), "--page", "--no-browser"]) == 2
    assert "no marked response" in capsys.readouterr().err
