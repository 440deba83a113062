# SPDX-License-Identifier: Apache-2.0
"""The pages that the program writes, in a real browser: at three widths, light, dark and on paper."""
import pathlib
import re

import pytest

from conftest import run

HERE = pathlib.Path(__file__).parent
CONTRASTS = (HERE / "checks.js").read_text(encoding="utf-8")
LAYOUT = (HERE / "reports.js").read_text(encoding="utf-8")
LONG = "a name of sixty letters and more, as people call what they tried last night"
PAGES = ["demo/report", "train", "ratings", "neighbours", "tune", "tune-ratings", "compare", "data"]


def write_data(folder):
    """Ratings of films with titles of all lengths, one without a place to break."""
    rows = [f"user{u},film{i},{1 + (u * i + u // 3) % 5}" for u in range(60) for i in range(1 + u % 4, 40, 2)]
    (folder / "rated.csv").write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    hit = [f"passer{u},film1,4" for u in range(11_000)]  # the last tick of its chart is the widest: 100 k
    (folder / "hit.csv").write_text("user,item,rating\n" + "\n".join(rows + hit) + "\n")
    long = " and ".join(["The Unabridged Adventures of a Projectionist"] * 6)
    titles = [f'film{i},"{long}, <Part> & {i}"' if i % 3 == 0 else f"film{i},Film {i}" for i in range(41)]
    titles[7] = "film7,Supercalifragilisticexpialidocious" + "andsoon" * 40
    (folder / "titles.csv").write_text("item,title\n" + "\n".join(titles) + "\n")


def write_pages(folder):
    run(folder, "demo", "-o", "demo")
    run(folder, "split", "demo/visits.csv", "-o", "parts", "--seed", 1)
    train = ["train", "parts/train.csv", "--validation", "parts/test.csv"]
    for factors in (8, 16, 32):
        run(folder, *train, "-o", f"m{factors}", "--factors", factors)
    run(folder, *train, "-o", "m", "--factors", 8, "--seed", 3, "--report", "train.html")
    explicit = ["--feedback", "explicit", "--titles", "titles.csv"]
    run(folder, "train", "rated.csv", "-o", "r", *explicit, "--report", "ratings.html")
    run(folder, "info", "hit.csv", "--report", "data.html")
    run(folder, "train", "rated.csv", "-o", "n", "--algorithm", "item-knn", "--report", "neighbours.html")
    run(folder, "tune", "parts/train.csv", "-o", "t", "--budget", 24, "--report", "tune.html")
    run(folder, "tune", "rated.csv", "-o", "u", "--algorithm", "als,user-knn", "--budget", 18, *explicit,
        "--report", "tune-ratings.html")
    run(folder, "compare", "m8", f"{LONG}=m16", "m32", "-o", "compare.html", "--target", "ndcg@10=0.1")


@pytest.fixture(scope="session")
def reports(browser, tmp_path_factory):  # the browser first: without one no page is made
    folder = tmp_path_factory.mktemp("reports")
    write_data(folder)
    write_pages(folder)
    return folder


def opened(open_page, reports, name, **options):
    address = f"file://{reports}/{name}.html"
    return open_page(address, **options)


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_readable_at_every_width(name, dark, reports, open_page, picture):
    page = opened(open_page, reports, name, dark=dark)
    for width in (1280, 768, 375):
        page.set_viewport_size({"width": width, "height": 900})
        picture(page, f"{name}-{width}-{'dark' if dark else 'light'}")
        unfold(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} at {width}"
        assert page.evaluate(LAYOUT) == [], f"{name} at {width}"
    assert page.evaluate(CONTRASTS) == [], name


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_on_paper(name, reports, open_page, picture):
    page = opened(open_page, reports, name, dark=True)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 with Chromium's margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    assert page.evaluate("[...document.querySelectorAll('.cut')].filter((one) => one.scrollWidth > one.clientWidth + 1).length") == 0
    assert page.evaluate(CONTRASTS) == [], name
    assert page.pdf(format="A4", print_background=True).startswith(b"%PDF")
    picture(page, f"{name}-print", paper=True)


def column(page, name):
    at = page.locator("th").all_inner_texts().index(name)
    return [row.locator("td").nth(at).inner_text() for row in page.locator("tbody tr").all()]


def test_trials_are_sorted_by_a_click(reports, open_page):
    page = opened(open_page, reports, "tune")
    trials = column(page, "trial")
    assert trials.count("baseline") == 1 and len(trials) > 12
    page.get_by_role("button", name="ndcg@10", exact=True).click()
    values = [float(value) for value in column(page, "ndcg@10")]
    assert values == sorted(values, reverse=True)
    page.get_by_role("button", name="ndcg@10").click()
    assert [float(value) for value in column(page, "ndcg@10")] == values[::-1]
    page.get_by_role("button", name="mean of 3 parts").click()
    means = column(page, "mean of 3 parts")
    given = [value for value in means if value]
    assert given == sorted(given, key=float, reverse=True) and means == given + [""] * (len(means) - len(given))
    page.get_by_role("button", name="algorithm").press("Enter")
    assert column(page, "algorithm") == sorted(column(page, "algorithm"))
    assert page.locator("th[aria-sort]").count() == 1


def test_pages_say_all_without_a_script(browser, reports):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"file://{reports}/tune.html")
    assert page.locator("th").all_inner_texts()[:3] == ["trial", "algorithm", "ndcg@10"]
    assert page.locator("tbody tr").count() > 12
    page.locator("summary").last.click()
    assert page.locator("details").last.locator("svg").first.is_visible()
    context.close()


def test_the_best_stands_on_top(reports, open_page):
    page = opened(open_page, reports, "tune")
    figures = dict(reversed(figure.inner_text().split("\n")) for figure in page.locator(".figures div").all())
    values = [float(value) for value, mean in zip(column(page, "ndcg@10"), column(page, "mean of 3 parts")) if mean]
    assert float(figures["ndcg@10 of the best, mean of 3 parts"]) == float(column(page, "mean of 3 parts")[0])
    assert len(values) > 1 and figures["trials"] == "24"
    assert page.locator("details[open]").count() == 1
    assert f"Trials of {figures['algorithm of the best']}:" in page.locator("details[open] summary").inner_text()


def test_long_names_are_cut_and_told(reports, open_page):
    page = opened(open_page, reports, "compare", width=375)
    cell = page.locator("td .cut", has_text=re.compile("^a name of sixty"))
    assert cell.get_attribute("title") == LONG
    page = opened(open_page, reports, "ratings", width=375)
    assert any("<Part> & " in one.get_attribute("title") for one in page.locator("dt.cut").all())
