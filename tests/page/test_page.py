# SPDX-License-Identifier: Apache-2.0
"""The page, driven as a person would: by pointer and keys, in a real browser."""
import json
import pathlib
import re
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from conftest import PROGRAM, free_port, serving

CONTRASTS = (pathlib.Path(__file__).parent / "checks.js").read_text()
FILMS = ["eclipse", "dockside", "paradox"]


def take(page, words):
    """Searches by the keyboard and takes the first film found."""
    page.locator("#query").press_sequentially(words)
    page.locator("#found:not([aria-busy]) [role=option]").first.wait_for()
    page.keyboard.press("ArrowDown")
    title = page.locator("#found [aria-selected=true] .cut").inner_text()
    page.keyboard.press("Enter")
    page.locator("#taken li", has_text=title).wait_for()
    return title


def settle(page):
    """Until all requests are answered, those that follow an answer too, and nothing moves."""
    quiet = 0
    for _ in range(1000):
        page.wait_for_timeout(10)
        quiet = 0 if page.pending else quiet + 1
        if quiet == 3:
            break
    assert quiet == 3, f"not answered: {[sent.url for sent in page.pending]}"
    page.evaluate("Promise.allSettled(document.getAnimations().map((one) => one.finished))")


def titles(page, within="#content .answers"):
    settle(page)
    return page.locator(f"{within} .title").all_inner_texts()


def likes(*films):
    return "/#" + "&".join(f"like={urllib.parse.quote(film)}" for film in films)


def some_films(address, n):
    with urllib.request.urlopen(f"{address}/v1/items?n={n}") as answer:
        return [entry["item"] for entry in json.load(answer)["items"]]


def paths(address):
    with urllib.request.urlopen(f"{address}/openapi.json") as answer:
        return json.load(answer)["paths"]


def test_a_visitor_takes_three_films_and_walks(cinema, open_page, picture):
    page = open_page(cinema)
    page.get_by_role("heading", name="What do you like?").wait_for()
    assert page.locator(".starters button").count() == 24
    picture(page, "start")
    taken = [take(page, FILMS[0])]
    first = titles(page)
    assert len(first) == 10
    taken += [take(page, words) for words in FILMS[1:]]
    assert len(set(taken)) == 3
    listed = titles(page)
    assert listed != first and not set(listed) & set(taken)
    reasons = page.locator(".reasons li").all_inner_texts()
    assert reasons
    for reason in reasons:
        title, share = re.fullmatch(r"(.*)\s<?(\d+) %", reason).groups()
        assert title in taken and 0 < int(share) <= 100
    picture(page, "lists")

    page.get_by_role("button", name=f"Take: {listed[1]}").click()
    page.locator("#taken li", has_text=listed[1]).wait_for()
    assert listed[1] not in titles(page)
    assert page.locator("#taken-count").inner_text() == "4"

    start = titles(page)[0]
    page.locator("#content .title").first.click()
    page.get_by_role("heading", level=1, name=start).wait_for()
    assert len(titles(page)) == 12 and start not in titles(page)
    neighbour = titles(page)[2]
    page.locator("#content .title").nth(2).click()
    page.get_by_role("heading", level=1, name=neighbour).wait_for()
    assert page.locator(".trail li").all_inner_texts() == ["Recommendations", start, neighbour]
    settle(page)
    picture(page, "near")
    assert page.locator(".map .dot").count() == 12
    page.locator(".map .dot").nth(4).click()
    page.locator(".trail li").nth(3).wait_for()
    page.go_back()
    page.get_by_role("heading", level=1, name=neighbour).wait_for()
    page.locator(".trail a", has_text=start).click()
    page.get_by_role("heading", level=1, name=start).wait_for()
    assert page.locator(".trail li").count() == 2
    page.locator(".trail a").first.click()
    page.get_by_role("heading", name="You might also like").wait_for()

    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    picture(page, "dark")
    before = titles(page)
    page.reload()
    assert titles(page) == before
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    assert page.locator("#taken .title").all_inner_texts() == [*taken, listed[1]]
    page.locator("#clear").click()
    page.get_by_role("heading", name="What do you like?").wait_for()


def test_all_by_the_keyboard(cinema, open_page):
    page = open_page(cinema)
    page.locator(".starters button").first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#content .take").first.wait_for()
    assert page.evaluate("document.activeElement.id") == "content"
    page.locator("#query").focus()
    page.keyboard.type("the")
    page.locator("#found:not([aria-busy]) [role=option]").first.wait_for()
    field = page.locator("#query")
    assert field.get_attribute("aria-expanded") == "true" and field.get_attribute("aria-activedescendant") is None
    page.keyboard.press("ArrowUp")
    assert field.get_attribute("aria-activedescendant") == "found-7"
    page.keyboard.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant") is None
    page.keyboard.press("Escape")
    assert field.get_attribute("aria-expanded") == "false" and field.input_value() == "the"
    page.keyboard.press("Escape")
    assert field.input_value() == ""
    page.keyboard.type("no film is called so")
    page.get_by_text("No title holds “no film is called so”.").first.wait_for()
    settle(page)
    # The film that moves up gets the focus of the one that was taken.
    page.locator("#content .take").nth(2).focus()
    page.keyboard.press("Enter")
    page.locator("#taken li").nth(1).wait_for()
    settle(page)
    assert page.evaluate("document.activeElement.className") == "take"
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"
    assert "First:" in page.locator("#status").inner_text()


def test_a_known_user(cinema, open_page, picture):
    page = open_page(cinema, failures=True)
    page.get_by_label("A known user").first.check()
    page.get_by_role("heading", name="Whose list?").wait_for()
    page.keyboard.type("Ada Abara")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="For user Ada Abara").wait_for()
    listed = titles(page)
    history = page.locator("#history .title").all_inner_texts()
    assert len(listed) == 10 and not set(listed) & set(history)
    if "/v1/users/{user}" in paths(cinema):
        assert len(history) == 18
    picture(page, "user")
    page.locator("#user").fill("Nobody at all")
    page.keyboard.press("Enter")
    page.locator(".trouble").wait_for()
    assert "Nobody at all" in page.locator(".trouble").inner_text()
    assert page.locator("#history-part").is_hidden()
    picture(page, "nobody")
    page.go_back()
    page.get_by_role("heading", name="For user Ada Abara").wait_for()
    assert titles(page) == listed


def test_two_models_side_by_side(two_models, open_page, picture):
    page = open_page(two_models + likes(*some_films(two_models, 3)))
    page.locator(".columns.of-2 .answer").first.wait_for()
    settle(page)
    columns = [titles(page, f".column:nth-child({at})") for at in (1, 2)]
    assert page.locator(".column h2").all_inner_texts() == ["als", "knn"]
    assert [len(column) for column in columns] == [10, 10] and columns[0] != columns[1]
    both = set(columns[0]) & set(columns[1])
    assert f"{len(both)} of 10 titles are in both lists." in page.locator(".lead").inner_text()
    assert page.locator(".column .tag").count() == 2 * len(both)
    picture(page, "both")
    page.locator(".models a", has_text="knn").click()
    page.locator(".columns.of-1 .answer").first.wait_for()
    assert titles(page) == columns[1]
    page.locator("#to-model").click()
    page.get_by_role("heading", name="Served models").wait_for()
    picture(page, "model")


def test_stars_change_the_list(rated, open_page, picture):
    page = open_page(rated + likes("film2", "film3", "film7"))
    before = titles(page)
    assert page.locator(".stars").count() == 3
    assert page.locator("#taken li").first.locator(".on").count() == 5
    settle(page)
    picture(page, "stars")
    page.locator("#taken li").first.get_by_label("1 of 5").check(force=True)
    page.wait_for_url("**value=1**")
    page.locator("#taken li").first.locator(".on").nth(1).wait_for(state="detached")
    assert page.evaluate("document.activeElement.value") == "1"
    scores = page.locator(".score span:first-child").all_inner_texts()
    settle(page)
    assert titles(page) != before or page.locator(".score span:first-child").all_inner_texts() != scores
    assert "value=1&value=5&value=5" in page.url


def test_only_the_last_of_several_answers_counts(cinema, open_page):
    films = some_films(cinema, 2)
    expected = titles(open_page(cinema + likes(films[1])))
    page = open_page(cinema + likes(*films))
    settle(page)
    held = []
    page.route("**/v1/recommend", lambda route: route.continue_() if held else held.append(route))
    drop = page.locator("#taken .drop")
    drop.nth(1).click()
    page.locator("#taken li").nth(1).wait_for(state="detached")
    page.evaluate("address => history.pushState(null, '', address)", likes(films[1]))
    page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    assert titles(page) == expected
    assert "ABORTED" in held[0].request.failure


def test_a_server_that_goes_and_comes(models, open_page):
    port = free_port()
    with serving(models, "model.safetensors", port=port) as address:
        page = open_page(address, failures=True)
        page.locator(".starters button").first.wait_for()
    page.locator(".starters button").first.click()
    page.get_by_text("The server cannot be reached.").first.wait_for()
    with serving(models, "model.safetensors", port=port):
        page.get_by_role("button", name="Try again").click()
        page.locator(".answer").first.wait_for()


def addresses(server):
    films = some_films(server, 4)
    return {"start": "/", "lists": likes(*films[:3]), "model": "/#show=model",
            "near": f"{likes(films[0])}&item={urllib.parse.quote(films[3])}&via={urllib.parse.quote(films[1])}"}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("server, views", [("cinema", ["start", "lists", "near", "model"]), ("two_models", ["lists", "model"]),
                                           ("rated", ["lists"])])
def test_every_view_is_readable_at_every_width(server, views, dark, request, open_page, picture):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    address = request.getfixturevalue(server)
    page = open_page(address, dark=dark, reduced_motion="reduce")
    for name in views:
        page.goto(address + addresses(address)[name])
        page.locator("#content h1").wait_for()
        settle(page)
        for width in (1280, 768, 375):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} at {width}"
            picture(page, f"{server}-{name}-{width}-{'dark' if dark else 'light'}")
        assert page.evaluate(CONTRASTS) == [], name
        if not dark:  # colours are all that differs
            found = axe.run(page)
            assert found.violations_count == 0, f"{name}: {found.generate_report()}"


def test_what_a_model_cannot_do_is_not_offered(models, open_page):
    with serving(models, "popular.safetensors") as address:
        page = open_page(address + likes(*some_films(address, 2)))
        page.locator(".answer").first.wait_for()
        settle(page)
        assert "This kind of model gives no reasons." in page.locator(".lead").inner_text()
        assert page.locator(".reasons, a.title").count() == 0
    with serving(models, "means.safetensors") as address:
        page = open_page(address)
        page.get_by_role("heading", name="No recommendations").wait_for()


def test_a_server_with_tokens_asks_for_one(models, open_page, picture):
    (models / "tokens.txt").write_text("read secret-of-readers-0123456789\n")
    with serving(models, "model.safetensors", "--tokens", "tokens.txt") as address:
        page = open_page(address, failures=True)
        page.get_by_label("Token of this server").fill("wrong")
        page.keyboard.press("Enter")
        settle(page)
        picture(page, "token")
        page.get_by_label("Token of this server").fill("secret-of-readers-0123456789")
        page.keyboard.press("Enter")
        page.locator(".starters button").first.wait_for()


def test_a_token_that_no_header_can_hold(models, open_page):
    (models / "tokens.txt").write_text("read secret-of-readers-0123456789\n")
    with serving(models, "model.safetensors", "--tokens", "tokens.txt") as address:
        page = open_page(address, failures=True)
        field = page.get_by_label("Token of this server")
        field.fill("secret\u2011of\u2011readers")
        page.keyboard.press("Enter")
        page.locator("#content .note", has_text="A token has no blanks").wait_for()
        assert page.evaluate("sessionStorage.getItem('token')") is None
        page.evaluate("sessionStorage.setItem('token', 'secret\u2011of\u2011readers')")
        page.reload()
        field.fill("secret-of-readers-0123456789")
        page.keyboard.press("Enter")
        page.locator(".starters button").first.wait_for()
        with urllib.request.urlopen(f"{address}/{page.get_by_role('link', name='HTTP interface').get_attribute('href')}") as answer:
            assert json.load(answer)["openapi"]


def test_a_server_with_low_limits(models, open_page):
    with serving(models, "model.safetensors", "--max-n", "5", "--max-batch", "5") as address:
        page = open_page(address)
        page.locator(".starters button").first.wait_for()
        assert page.locator(".starters button").count() == 5
        take(page, FILMS[0])
        assert len(titles(page)) == 5 and page.locator(".more button").count() == 0
        page.locator("#content .title").first.click()
        page.locator(".trail").wait_for()
        assert len(titles(page)) == 5 and page.locator(".map .dot").count() == 5
    with serving(models, "model.safetensors", "--max-batch", "5") as address:
        page = open_page(address + "/#item=" + urllib.parse.quote(some_films(address, 1)[0]))
        page.locator(".map .dot").first.wait_for()
        assert len(titles(page)) == page.locator(".map .dot").count() == 12


def test_keys_before_the_titles_of_what_was_typed(cinema, open_page):
    page = open_page(cinema)
    page.locator("#query").press_sequentially(FILMS[0][0])
    page.locator("#found:not([aria-busy]) [role=option]").nth(1).wait_for()
    page.locator("#query").press_sequentially(FILMS[0][1:])
    page.keyboard.press("Enter")  # before the pause after a key is over
    page.locator("#taken li", has_text=re.compile(FILMS[0], re.IGNORECASE)).wait_for()

    page.locator("#query").press_sequentially(FILMS[1][:-2])
    page.locator("#found:not([aria-busy]) [role=option]").first.wait_for()
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#found [aria-selected=true]").inner_text()
    page.locator("#query").press_sequentially(FILMS[1][-2:])
    page.locator("#found:not([aria-busy]) [role=option]").first.wait_for()
    assert page.locator("#found [aria-selected=true]").inner_text() == chosen


def test_an_address_is_held_to_what_the_page_has(rated, open_page):
    page = open_page(rated + "/#like=film4&like=film4&like=film5&value=1e9&value=2&value=-7")
    page.locator(".answer").first.wait_for()
    settle(page)
    assert page.locator("#taken li").count() == 2
    assert page.locator("#taken input:checked").evaluate_all("(all) => all.map((one) => one.value)") == ["5", "1"]
    page.locator("#query").fill("\u00e9" * 150)
    page.locator("#search-note", has_text="No title holds").wait_for()


def test_a_history_that_comes_late_is_of_nobody_any_more(cinema, open_page):
    page = open_page(cinema)
    held = []
    page.route("**/v1/users/*", lambda route: held.append(route))
    page.get_by_label("A known user").first.check()
    page.locator("#user").fill("Ada Abara")
    page.keyboard.press("Enter")
    while not held:
        page.wait_for_timeout(10)
    page.evaluate("location.hash = 'user='")
    page.locator("h1", has_text="Whose list?").wait_for()
    for route in held:
        route.continue_()
    settle(page)
    assert page.locator("#history-part").is_hidden()


def test_titles_of_a_history_are_asked_for_together(cinema, open_page):
    body = {"events": [{"user": "many", "item": f"unheard of {n}"} for n in range(150)]}
    urllib.request.urlopen(urllib.request.Request(f"{cinema}/v1/events", json.dumps(body).encode(), {"Content-Type": "application/json"}))
    page = open_page(cinema, failures=True)  # the list of a user who has nothing that is known
    asked = []
    page.on("request", lambda sent: sent.method == "POST" and "v1/items" in sent.url and asked.append(sent.url))
    page.goto("about:blank")  # from where the address is loaded anew, not only what follows its #
    page.goto(f"{cinema}/#user=many")
    page.locator("#history li").nth(149).wait_for()
    settle(page)
    assert len(asked) == 2  # 100 items are asked for at once


def test_the_demo_serves_its_cinema(tmp_path):
    demo = subprocess.Popen([PROGRAM, "demo", "-o", ".", "--serve", "--listen", "127.0.0.1:0"], cwd=tmp_path,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = ""
    while not (address := re.search(r"http://\S+", said)):
        line = demo.stderr.readline()
        assert line, said
        said += line
    with urllib.request.urlopen(address[0] + "/v1/model") as answer:
        assert json.load(answer)["items"] > 100
    demo.send_signal(signal.SIGINT)
    out, _ = demo.communicate(timeout=20)
    assert demo.returncode == 0 and "report.html" in out


@pytest.mark.parametrize("listen, wrong", [("0.0.0.0:0", "lets other machines ask"), ("nowhere", "nowhere")])
def test_the_demo_listens_on_this_machine_alone(tmp_path, listen, wrong):
    done = subprocess.run([PROGRAM, "demo", "-o", "d", "--serve", "--listen", listen], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and wrong in done.stderr and not (tmp_path / "d").exists()


def test_on_paper(cinema, open_page, picture):
    page = open_page(cinema + likes(*some_films(cinema, 3)), dark=True)
    page.locator(".answer").first.wait_for()
    settle(page)
    page.emulate_media(media="print")
    assert page.locator("#query").is_hidden() and page.locator(".take").first.is_hidden()
    assert page.locator(".reasons").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    picture(page, "print")


def test_files_come_with_a_strict_policy_and_a_tag(cinema):
    with urllib.request.urlopen(cinema) as answer:
        policy = answer.headers["Content-Security-Policy"]
        tag = answer.headers["ETag"]
        kind = answer.headers["Content-Type"]
        html = answer.read().decode()
    allowed = {word for rule in policy.split(";") for word in rule.split()[1:]}
    assert kind == "text/html; charset=utf-8"
    assert policy.startswith("default-src 'none'") and allowed <= {"'none'", "'self'", "data:"}
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", html)
    again = urllib.request.Request(cinema, headers={"If-None-Match": tag})
    with pytest.raises(urllib.error.HTTPError) as unchanged:
        urllib.request.urlopen(again)
    assert unchanged.value.code == 304
