# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium and servers of real models. LIKEWISE_SCREENSHOTS names a folder for pictures of what was tested."""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("LIKEWISE_CLI", str(ROOT / "build/dev/bin/likewise"))
SECONDS_TO_START = 30


def run(folder, *arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """The demo's cinema and other models of its visits; ids are titles."""
    folder = tmp_path_factory.mktemp("models")
    run(folder, "demo", "-o", ".")
    run(folder, "train", "visits.csv", "-o", "knn.safetensors", "--algorithm", "item-knn")
    run(folder, "train", "visits.csv", "-o", "popular.safetensors", "--algorithm", "popular")
    run(folder, "train", "visits.csv", "-o", "means.safetensors", "--algorithm", "bias", "--baseline", "user-mean")
    rated = [f"user{u},film{i},{1 + (u * i + u // 3) % 5}" for u in range(60) for i in range(1 + u % 4, 40, 2)]
    (folder / "rated.csv").write_text("user,item,rating\n" + "\n".join(rated) + "\n")
    long = " and ".join(["The Unabridged Adventures of a Projectionist"] * 6)
    titles = [f'film{i},"{long}, Part {i}"' if i % 3 == 0 else f"film{i},Film {i}" for i in range(41)]
    titles[7] = "film7,Supercalifragilisticexpialidocious" + "andsoon" * 40
    (folder / "titles.csv").write_text("item,title\n" + "\n".join(titles) + "\n")
    run(folder, "train", "rated.csv", "-o", "rated.safetensors", "--algorithm", "als", "--feedback", "explicit",
        "--factors", 8, "--titles", "titles.csv")
    return folder


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_until_ready(process, address):
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        with contextlib.suppress(urllib.error.URLError):
            return urllib.request.urlopen(f"{address}/readyz", timeout=5).read()
        time.sleep(0.02)
    raise AssertionError("the server does not become ready")


@contextlib.contextmanager
def serving(folder, *arguments, port=None):
    """The address of a server that runs within the block."""
    port = port or free_port()
    process = subprocess.Popen([PROGRAM, "serve", *arguments, "--listen", f"127.0.0.1:{port}"], cwd=folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_ready(process, f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope="session")
def cinema(models):
    with serving(models, "model.safetensors") as address:
        yield address


@pytest.fixture(scope="session")
def two_models(models):
    with serving(models, "--models", "als=model.safetensors,knn=knn.safetensors", "--events", "both.events") as address:
        yield address


@pytest.fixture(scope="session")
def rated(models):
    with serving(models, "rated.safetensors") as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: scripts/setup installs it")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium: scripts/setup installs it")
    with playwright.sync_playwright() as started:
        # Its sandbox needs rights that containers and root do not have; it only visits our own server.
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """`open_page(address, width=..., dark=...)`: a page of its own context, which is watched for
    errors of its console and requests to other hosts. `failures` is for tests that make requests fail."""
    contexts = []
    pages = []

    def open_one(address, width=1280, dark=False, failures=False, **options):
        context = browser.new_context(viewport={"width": width, "height": 900},
                                      color_scheme="dark" if dark else "light", **options)
        context.set_default_timeout(10000)
        contexts.append(context)
        page = context.new_page()
        page.wrong = []
        page.pending = set()
        page.on("request", lambda sent: page.pending.add(sent))
        page.on("requestfinished", lambda sent: page.pending.discard(sent))
        page.on("requestfailed", lambda sent: page.pending.discard(sent))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("console", lambda said: said.type in ("error", "warning") and page.wrong.append(said.text))
        page.on("request", lambda sent: sent.url.startswith(address.split("/#")[0]) or page.wrong.append(sent.url))
        page.goto(address)
        if not failures:
            pages.append(page)
        return page

    yield open_one
    wrong = [text for page in pages for text in page.wrong]
    for context in contexts:
        context.close()
    assert not wrong


@pytest.fixture
def picture(request):
    """`picture(page, name)` keeps a picture where LIKEWISE_SCREENSHOTS names a folder; of `paper` a PDF too."""
    folder = os.environ.get("LIKEWISE_SCREENSHOTS")

    def take(page, name, paper=False):
        if not folder:
            return
        page.screenshot(path=f"{folder}/{name.replace('/', '-')}.png", full_page=True)
        if paper:
            page.pdf(path=f"{folder}/{name.replace('/', '-')}.pdf", format="A4", print_background=True)

    return take
