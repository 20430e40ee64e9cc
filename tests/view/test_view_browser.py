"""The pages as a person meets them: in a real browser, with keys and clicks."""

import csv
import re
import threading

import pytest
import run_folders as folders
from axe_playwright_python.sync_playwright import Axe

from markscheme.view.export import export

EVERY_PAGE = {
    "runs": "/",
    "run": "/run/first",
    "problem": "/run/first/problem/1",
    "response": "/run/first/response/1/0",
    "responses": "/run/first/responses?disagree=1",
    "audit": "/run/first/audit",
    "compare": "/compare?run=first&run=second",
    "every run": "/run/first/problem/1/runs",
    "side by side": "/compare/problem?run=first&run=second&problem=2",
}


def test_runs_page_leads_to_every_page_by_clicking(page, server):
    page.goto(server.url + "/")
    page.get_by_role("link", name="first", exact=True).click()
    page.wait_for_url("**/run/first")
    assert page.locator("h1").inner_text().startswith("math-sample")
    page.wait_for_function("() => document.querySelectorAll('svg.plot').length === 3")  # the band takes its time
    assert re.search(r"\d+\.\d %", page.locator(".card.main .big").inner_text())
    assert page.locator(".lines .c").count() == 96
    page.locator(".lines li > a").first.click()
    page.wait_for_url("**/problem/*")
    assert page.locator(".statement math").count() >= 3
    page.locator("#part-answers table").last.locator("tbody a").first.click()
    page.locator("article mark").first.wait_for()
    page.get_by_role("link", name="first", exact=True).click()
    page.wait_for_url("**/run/first")
    page.get_by_role("link", name="Audit").click()
    page.wait_for_url("**/audit")
    page.locator(".matrix").wait_for()
    assert re.search(r"Gold\s+Extracted", page.locator("#part-list thead").inner_text())
    page.get_by_role("link", name="Responses").click()
    page.get_by_text("96 of 96 responses").wait_for()


def test_two_runs_ticked_are_compared_down_to_both_responses(page, server):
    page.goto(server.url + "/")
    assert page.locator("#compare-button").is_disabled()
    page.get_by_label("Compare first").check()
    page.get_by_label("Compare second").check()
    page.locator("#compare-button").click()
    page.get_by_text("paired on 12 problems").wait_for()
    assert re.search(r"[+-]\d+\.\d points", page.locator(".card.main .big").inner_text())
    page.get_by_role("link", name="side by side").first.click()
    page.wait_for_url("**/compare/problem?*")
    assert page.locator(".sides section").count() == 2
    assert page.locator(".sides article math").count() > 2
    assert page.locator(".sides details:not([open])").count() == 2  # the thinking is folded here too
    assert {"✓", "✗"} & set("".join(page.locator("select[name=left] option").all_inner_texts()))
    here = page.url
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url != here)
    assert "in two runs" in page.locator("h1").inner_text()
    page.locator("select[name=left]").select_option("3")
    page.wait_for_url(re.compile(r"left=3"))


def test_sort_and_filter_of_runs_are_in_the_address(page, server):
    page.goto(server.url + "/")
    page.get_by_role("link", name="Accuracy").click()
    page.wait_for_url("**/?*sort=accuracy*")
    names = page.locator("#runs tbody th a").all_inner_texts()
    page.get_by_label("Find").fill("second")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q=second"))
    assert "sort=accuracy" in page.url
    assert len(names) > page.locator("#runs tbody tr").count() == 1


def test_filter_of_responses_is_in_the_address_and_kept_by_next(page, server):
    page.goto(server.url + "/run/first/responses")
    page.get_by_label("Verdict").select_option("wrong")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(re.compile(r"responses\?verdict=wrong$"))
    rows = page.locator("#responses tbody tr")
    assert rows.count() > 1
    assert all("wrong" in text for text in rows.all_inner_texts())
    second = rows.nth(1).locator("td a").first.get_attribute("href")
    rows.nth(0).locator("td a").first.click()
    page.wait_for_url(re.compile("/response/"))
    page.keyboard.press("j")
    page.wait_for_url(server.url + second)
    assert "verdict=wrong" in page.url


def test_keys_lead_on_to_the_next_wrong_one_and_the_next_disagreement(page, server):
    page.goto(server.url + "/run/first/response/1/0")
    page.keyboard.press("w")
    page.wait_for_url(lambda url: not url.endswith("/1/0"))
    assert "correct" not in page.locator("main .title .badge").inner_text()
    here = page.url
    page.keyboard.press("d")
    page.wait_for_url(lambda url: url != here)
    verdicts = page.locator("#judgements tr.stored .badge").all_inner_texts()
    assert len({("correct" in text) for text in verdicts}) == 2
    here = page.url
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url != here)  # until it is loaded: only then the page listens to keys
    page.keyboard.press("k")
    page.wait_for_url(here)
    page.keyboard.press("u")
    page.wait_for_url(re.compile("/problem/"))
    page.keyboard.press("?")
    page.locator("#keys").wait_for()
    page.keyboard.press("?")
    page.locator("#keys").wait_for(state="hidden")


def test_raw_text_shows_the_source_and_the_answer_in_both(page, server):
    page.goto(server.url + "/run/first/response/1/0")
    page.locator("article math").first.wait_for()
    page.locator("article .src").first.wait_for(state="hidden")
    page.keyboard.press("r")
    page.locator("article math").first.wait_for(state="hidden")
    page.locator("article .src").first.wait_for()
    answer = page.locator("article .src mark").last
    answer.wait_for()
    assert answer.inner_text() == page.locator("#judgements tr").first.locator("code").inner_text()
    page.keyboard.press("j")
    page.wait_for_url(lambda url: not url.endswith("/1/0"))
    assert page.locator("#raw").is_checked()


def test_reasoning_is_folded_until_asked_for(page, server):
    page.goto(server.url + "/run/first/response/1/0")
    thought = page.locator("details .text").get_by_text("Let me check twice.")
    thought.wait_for(state="hidden")
    page.keyboard.press("t")
    thought.wait_for()


def test_other_protocols_join_the_stored_marks(page, server):
    page.goto(server.url + "/run/first/response/1/0")
    page.locator("#judgements tr:not(.stored)").first.wait_for()
    assert page.locator("#judgements tr.stored").count() == 2
    assert page.locator("#judgements tr:not(.stored)").count() >= 3


SAID_BY_THE_BUTTON = """() => {
    const button = document.querySelector("[data-copy]");
    window.said = new Promise((resolve) =>
        new MutationObserver(() => resolve(button.textContent)).observe(button, { childList: true }));
}"""  # which it says for a second and a half only


def test_command_to_judge_again_is_copied(page, server, runs):
    page.goto(server.url + "/run/first/response/1/0")
    page.evaluate(SAID_BY_THE_BUTTON)
    page.get_by_role("button", name="Copy").click()
    assert page.evaluate("() => window.said") == "Copied"
    command = page.locator("#command").inner_text()
    page.goto(server.url + "/")
    page.keyboard.press("/")
    page.keyboard.press("Control+V")
    page.wait_for_function("() => document.querySelector('[data-search]').value")
    assert page.get_by_label("Find").input_value() == command
    assert "markscheme mark response.jsonl -p math" in command


def test_page_of_a_running_run_updates_by_itself(serve, page, tmp_path):
    path = folders.running(tmp_path / "live", done=6)
    served = serve(tmp_path)
    page.goto(served.url + "/run/live")
    assert page.locator(".lines a.c").count() == 6
    folders.go_on(path, 6, 11)
    page.wait_for_function("() => document.querySelectorAll('.lines a.c').length === 11")
    page.goto(served.url + "/")
    page.locator(".pill.running").wait_for()
    folders.go_on(path, 11, 14)
    page.locator("td", has_text=re.compile(r"^\s*14 of 24")).wait_for()


def test_page_of_a_response_that_is_not_there_yet_shows_it_when_it_comes(serve, page, tmp_path):
    path = folders.running(tmp_path / "live", done=6)
    lines = (path / "responses.jsonl").read_text().splitlines(keepends=True)
    (path / "responses.jsonl").write_text("".join(lines[1:]))
    page.goto(serve(tmp_path).url + "/run/live/response/1/0")
    page.get_by_text("The response is not complete yet").wait_for()
    with (path / "responses.jsonl").open("a") as out:
        out.write(lines[0])
    page.locator("article math").first.wait_for()


def test_run_that_starts_while_the_empty_page_is_open_appears_on_it(serve, page, tmp_path):
    served = serve(tmp_path)
    page.goto(served.url + "/")
    page.get_by_text("No runs found yet").wait_for()
    folders.finished(tmp_path / "one", problems=2, samples=2)
    page.get_by_role("link", name="one", exact=True).wait_for()
    page.get_by_label("Compare one").check()
    page.get_by_text("1 selected").wait_for()


def test_comparison_that_takes_its_time_appears_by_itself(serve, page, tmp_path, monkeypatch):
    import markscheme.view.pages.compare as comparing

    original, seen = comparing.pair, threading.Event()
    monkeypatch.setattr(comparing, "pair", lambda *runs: seen.wait(120) and original(*runs))
    folders.finished(tmp_path / "one", problems=3, samples=2, seed=1)
    folders.finished(tmp_path / "two", problems=3, samples=2, seed=2)
    page.goto(serve(tmp_path).url + "/compare?run=one&run=two")
    page.get_by_text("Computing").wait_for()
    seen.set()
    page.get_by_text("paired on 3 problems").wait_for()


def test_hostile_text_is_shown_and_nothing_runs(page, server):
    for sample, text in enumerate(folders.HOSTILE):
        page.goto(f"{server.url}/run/hostile/response/1/{sample}")
        page.keyboard.press("t")
        assert page.evaluate("window.pwned") is None, text
        assert page.locator("article script, article img, article svg, article a, article h1").count() == 0, text
        shown = page.locator("article").text_content()
        for word in ("window.pwned", "evitcerroc", "7 * 7"):
            assert (word in text) == (word in shown)


def test_hostile_names_and_labels_are_shown_and_nothing_runs(page, server):
    for path in ("/", "/run/hostile", "/run/hostile/problem/1", "/run/hostile/responses"):
        page.goto(server.url + path)
        assert page.evaluate("window.pwned") is None, path
        assert page.locator("main img, main b > b, main u, main iframe").count() == 0, path


def test_direction_tricks_are_visible_in_text_and_names(page, server):
    page.goto(server.url + "/run/hostile/response/1/6")
    assert page.locator("article .ctl").all_inner_texts()[:2] == ["⟨202E⟩", "⟨202C⟩"]
    assert "\u202e" not in page.content()


def test_line_of_ten_megabytes_opens_and_scrolls_smoothly(page, server):
    opened = page.goto(server.url + "/run/hostile/response/1/10")
    page.locator("article .b").first.wait_for()
    assert len(opened.body()) < 500_000  # of ten million
    places = page.locator("article .later")
    assert places.count() > 500
    middle = places.nth(300)
    middle.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelectorAll('article .later')[300].classList.contains('here')")
    assert middle.text_content() == "y" * 16_000
    brought = page.locator("article .later.here").count()
    assert 1 <= brought < 60  # what is far from the window is not fetched


def test_trace_of_a_megabyte_lays_out_only_what_is_in_view(serve, page, tmp_path):
    from markscheme.types import Mark, Response, Verdict

    path = folders.running(tmp_path / "long", done=0)
    item = folders.problem(0)
    text = "".join(f"Step {n}: $a_{{{n}}} = \\frac{{{n}}}{{2}} + \\sqrt{{{n}}}$.\n\n" for n in range(24_000))
    text += "\\boxed{7}"
    folders.append(path / "responses.jsonl", [Response(key=item.key, sample=0, text=text, finish_reason="stop")])
    place = (len(text) - 2, len(text) - 1)
    folders.append(path / "marks" / "math.jsonl", [Mark(key=item.key, verdict=Verdict.WRONG, answer="7", span=place)])
    assert len(text) > 1_000_000
    served = serve(tmp_path)
    page.goto(served.url + "/run/long/response/1/0")
    page.keyboard.press("a")
    page.locator("article mark").first.wait_for(state="visible")
    # How long a frame takes is measured in perf/view.py; what it depends on is how many formulas are laid out.
    most = page.evaluate(
        """async () => {
            let most = 0;
            for (let i = 0; i < 20; i++) {
                window.scrollBy(0, 4000 * (i % 2 ? 1 : -1.5));
                await new Promise(requestAnimationFrame);
                const formulas = [...document.querySelectorAll("article math")];
                most = Math.max(most, formulas.filter((one) => one.checkVisibility({ contentVisibilityAuto: true })).length);
            }
            return most;
        }"""
    )
    assert 0 < most < 2_400  # of 24,000


def test_page_at_phone_width_does_not_scroll_sideways(new_context, server):
    page = new_context(viewport={"width": 360, "height": 740}).new_page()
    widths = {}
    for name, address in EVERY_PAGE.items():
        page.goto(server.url + address)
        widths[name] = page.evaluate("document.documentElement.scrollWidth")
    assert widths == dict.fromkeys(EVERY_PAGE, 360)


def test_page_breaks_no_rule_of_accessibility_in_light_or_dark(new_context, serve, tmp_path):
    # A few rows of each kind: every element is looked at by every rule.
    folders.finished(tmp_path / "first", problems=4, samples=3, skill=0.6, seed=1)
    folders.finished(tmp_path / "second", problems=4, samples=3, skill=0.8, seed=2, model="openai/larger")
    folders.crashed(tmp_path / "crashed")
    folders.from_the_future(tmp_path / "future")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{ not JSON")
    server = serve(tmp_path)
    page = new_context(bypass_csp=True).new_page()  # for the checker's own script
    ours = {"exclude": [["math"]]}  # thousands of elements that no rule speaks of
    broken = []
    for name, address in EVERY_PAGE.items():
        page.emulate_media(color_scheme="light")
        page.goto(server.url + address)
        page.wait_for_function("() => document.body.dataset.again !== '0.7'")  # what is worked out later is there
        found = Axe().run(page, context=ours, options={"resultTypes": ["violations"]}).response["violations"]
        page.emulate_media(color_scheme="dark")
        again = "ours => axe.run(ours, { runOnly: ['color-contrast'], resultTypes: ['violations'] }).then((found) => found.violations)"
        found += page.evaluate(again, ours)
        broken += [(name, one["id"], one["nodes"][0]["html"][:200]) for one in found]
    assert broken == []


def test_light_and_dark_follow_the_system_until_the_reader_chooses(new_context, server):
    page = new_context(color_scheme="dark").new_page()
    page.goto(server.url + "/")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(background)
    page.locator("#theme-button").click()
    light = page.evaluate(background)
    assert dark != light
    page.goto(server.url + "/run/first")
    assert page.evaluate(background) == light


def test_tooltip_of_a_plot_says_what_the_mark_stands_for(page, server):
    page.goto(server.url + "/run/first")
    page.wait_for_function("() => document.body.dataset.again !== '0.7'")
    page.locator("svg.plot circle.dot").first.hover()
    page.locator("#tip", has_text=re.compile(r"^pass@1 \d+\.\d % \(")).wait_for()


def test_page_works_without_scripts(new_context, server):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(server.url + "/")
    page.get_by_label("Compare first").check()
    page.get_by_label("Compare second").check()
    page.get_by_role("button", name="Compare the selected runs").click()
    page.wait_for_url("**/compare?run=*")
    page.goto(server.url + "/run/first/response/1/0")
    page.locator("article math").first.wait_for()
    page.locator("#raw").check()
    page.locator("article .src").first.wait_for()


@pytest.fixture(scope="module")
def site(runs, tmp_path_factory):
    """An export of a small folder."""
    root = tmp_path_factory.mktemp("few")
    folders.finished(root / "first", problems=4, samples=3, seed=1)
    folders.finished(root / "second", problems=4, samples=3, seed=2, skill=0.9)
    folders.hostile(root / "hostile")
    target = tmp_path_factory.mktemp("out") / "site"
    count = export(root, target, lambda _: None)
    assert count == len(list(target.rglob("*.html")))
    return target


def test_exported_site_works_from_the_disk(page, site):
    page.goto(f"file://{site}/index.html")
    page.get_by_role("link", name="Accuracy").click()
    page.get_by_role("link", name="Accuracy").click()
    assert page.locator("#runs tbody th a").first.inner_text() == "second"
    page.get_by_label("Find").fill("first")
    assert page.locator("#runs tbody tr:visible").count() == 1
    page.get_by_role("link", name="first", exact=True).click()
    page.wait_for_url("**/run/first/*")
    page.locator(".legend a").nth(1).click()
    page.get_by_text(re.compile(r"^\d+ of 12 responses$")).wait_for()
    shown = page.locator("#static-list tbody tr")
    assert 0 < shown.count() < 12
    page.get_by_label("Words").fill("nowhere to be found")
    page.get_by_text("0 of 12 responses").wait_for()
    page.get_by_label("Words").fill("by vieta")
    page.wait_for_function("() => document.querySelectorAll('#static-list tbody tr').length > 0")
    page.locator("#static-list tbody td a").first.click()
    page.locator("article math").first.wait_for()
    page.goto(f"file://{site}/index.html")
    page.get_by_role("link", name="second against first").click()
    page.get_by_text("paired on 4 problems").wait_for()
    page.get_by_role("link", name="side by side").first.click()
    page.locator(".sides article").nth(1).wait_for()
    rows = list(csv.DictReader((site / "run" / "first" / "responses.csv").open()))
    assert len(rows) == 12
    assert {"problem_id", "verdict", "answer"} <= rows[0].keys()


def test_list_when_a_column_is_put_away_then_it_stays_away(page, server):
    page.goto(server.url + "/run/first/responses")
    assert page.locator("td.c-question").first.is_visible()
    page.locator("#chooser summary").click()
    page.get_by_label("question", exact=True).uncheck()
    assert page.locator("td.c-question").first.is_hidden()
    page.get_by_label("Condition").fill("sample = 0")
    page.keyboard.press("Enter")
    page.get_by_text("12 of 96 responses").wait_for()
    page.wait_for_load_state()
    assert page.locator("td.c-question").first.is_hidden()
    assert page.locator("td.c-gold").first.inner_text() != ""


def test_response_when_opened_then_the_question_and_the_gold_are_there(page, server):
    page.goto(server.url + "/run/first/response/1/0")
    assert page.locator("#problem .text").is_visible()
    assert page.locator("#problem math").count() > 0
    page.locator("#problem summary").click()
    page.wait_for_function("() => sessionStorage.getItem('markscheme-problem') === '0'")
    page.reload()
    assert page.locator("#problem .text").is_hidden()  # as it was left


def test_exported_hostile_run_runs_nothing(page, site):
    for file in [*site.glob("run/hostile/response/*.html"), *site.glob("run/hostile/*.html"), site / "index.html"]:
        page.goto(f"file://{file}")
        assert page.evaluate("window.pwned") is None
    page.goto(f"file://{site}/run/hostile/responses.html")
    page.locator("#static-list tbody tr").first.wait_for()
    assert page.locator("#static-list img, #static-list svg, #static-list script").count() == 0


def test_exported_site_has_no_dead_link(site):
    for file in site.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"]+)"', file.read_text()):
            path, _, _ = target.partition("#")
            assert not target.startswith(("/", "http"))
            assert not path or (file.parent / path.replace("%20", " ")).resolve().exists(), f"{file}: {target}"


def test_export_into_a_folder_with_other_files_or_into_a_run_is_refused(tmp_path):
    from markscheme.errors import UsageError

    run = folders.finished(tmp_path / "runs" / "one", problems=1, samples=1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="neither empty"):
        export(tmp_path / "runs", tmp_path / "mine", lambda _: None)
    with pytest.raises(UsageError, match="inside a run folder"):
        export(tmp_path / "runs", run / "site", lambda _: None)
    export(tmp_path / "runs", tmp_path / "site", lambda _: None)
    export(tmp_path / "runs", tmp_path / "site", lambda _: None)  # over itself
