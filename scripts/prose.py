#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the pages: links that lead nowhere, words that have a better one, sentences that are too long.

    scripts/prose.py [--longest N] [PAGE ...]

Without pages: README, CHANGELOG, CONTRIBUTING and docs, without what programs printed (docs/papers/runs). In README, docs/guide and docs/reference nine of ten sentences
of a page have at most 25 words; --longest N prints the longest ones of every page. Code, headings and tables are no
sentences, and a piece of inline code is one word. The words are also looked for in the help texts and messages of the command line,
and names of pages in all comments. Ends with 1 where something is found. Part of scripts/format --check.
"""
import argparse
import functools
import math
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST_WORDS = 25  # of nine sentences of ten
README_WORDS = 1200
SOURCES = ("bench", "cli", "examples", "fuzz", "include", "lab", "python", "scripts", "src", "tests")
GUIDE_WORDS = 20000

# What the field says, for what it does not.
WORDS = {
    r"to the bit": "bit-identical",
    r"beside": "with, compared to, next to",
    r"exchanged": "transposed, swapped, sent",
    r"made[- ]up": "synthetic",
    r"anew": "again",
    r"but for": "except for",
    r"learnt": "learned",
}


def pages_of(names):
    if names:
        return [pathlib.Path(name).resolve() for name in names]
    listed = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "lab/README.md")]
    printed = ROOT / "docs/papers/runs"
    return [page for page in listed if page.exists()] + [page for page in sorted((ROOT / "docs").rglob("*.md"))
                                                         if printed not in page.parents]


def without_code(text):
    """Lines of the text; those of code blocks are empty."""
    lines, fence, after_blank, indented = [], False, True, False
    for line in text.split("\n"):
        bare = line.lstrip("> ")
        if bare.startswith("```"):
            fence = not fence
            line = ""
        elif fence:
            line = ""
        else:
            indented = line.startswith("    ") and (after_blank or indented) and not re.match(r" +([*-]|\d+\.) ", line)
            after_blank = not line.strip()
            if indented:
                line = ""
        lines.append(line)
    return lines


def paragraphs(lines):
    """Runs of prose: (number of the first line, text)."""
    found, begin = [], 0
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if not bare or bare.startswith(("|", "#", "![", "<")):
            begin = 0
        elif begin and not re.match(r"([*-]|\d+\.) ", bare):
            found[-1][1].append(bare)
        else:
            found.append((number, [re.sub(r"^([*-]|\d+\.) ", "", bare)]))
            begin = number
    return [(number, " ".join(parts)) for number, parts in found]


def plain(text):
    text = re.sub(r"`+[^`]+`+", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*_]{1,3}(\S(?:.*?\S)?)[*_]{1,3}", r"\1", text)


def sentences(lines):
    """(line, words, sentence)"""
    for number, text in paragraphs(lines):
        for one in re.split(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]*[A-Z\d`]|code)", plain(text)):
            words = re.findall(r"[\w'][^\s]*", one)
            if words:
                yield number, len(words), one


def anchor(heading):
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


@functools.cache
def anchors(page):
    found = set()
    for line in without_code(page.read_text(encoding="utf-8")):
        heading = re.match(r"#+ (.*)", line)
        if heading:
            name, number = anchor(heading[1].strip()), 0
            while (again := f"{name}-{number}" if number else name) in found:
                number += 1
            found.add(again)
    return found


def broken_links(page, text):
    for link in re.findall(r"\]\(([^)\s]+)\)", "\n".join(without_code(text))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, place = link.partition("#")
        target = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
        if not target.exists():
            yield f"{link}: there is no such file"
        elif place and place not in anchors(target):
            yield f"{link}: there is no such heading"


def word_problems(lines):
    pattern = re.compile(r"\b(?:" + "|".join(f"({word})" for word in WORDS) + r")\b", re.IGNORECASE)
    for number, line in enumerate(lines, 1):
        for match in pattern.finditer(re.sub(r"\]\([^)]*\)", "]", line)):
            yield number, f"“{match[0]}”: say {list(WORDS.values())[match.lastindex - 1]}"


def spoken(text):
    """The lines of a source; all but string literals is taken away."""
    return ['"'.join(re.findall(r'"((?:[^"\\]|\\.)*)"', "" if line.lstrip().startswith(("//", "#")) else line))
            for line in text.split("\n")]


def sources(*patterns):
    return sorted(source for pattern in patterns for source in ROOT.glob(pattern))


def percentile(counts):
    return sorted(counts)[math.ceil(0.9 * len(counts)) - 1] if counts else 0


def check_page(page, longest):
    """Problems of a page, and its number of words."""
    name = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else str(page)
    text = page.read_text(encoding="utf-8")
    lines = without_code(text)
    problems = [f"{name}: {link}" for link in broken_links(page, text)]
    problems += [f"{name}:{number}: {problem}" for number, problem in word_problems(lines)]
    some = list(sentences(lines))
    most = percentile([count for _, count, _ in some])
    limited = name == "README.md" or name.startswith(("docs/guide/", "docs/reference/"))
    if longest:
        print(f"{name}: {len(text.split())} words, nine of ten sentences have at most {most}")
        for number, count, sentence in sorted(some, key=lambda one: -one[1])[:longest]:
            print(f"  {name}:{number}: {count} words: {sentence}")
    if limited and most > MOST_WORDS:
        problems.append(f"{name}: one sentence of ten has {most} words or more, of {MOST_WORDS}: "
                        f"scripts/prose.py --longest 10 {name}")
    return problems, len(text.split())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--longest", type=int, default=0, metavar="N", help="print the N longest sentences of each page")
    args = parser.parse_args()
    problems, words = [], {}
    for page in pages_of(args.pages):
        found, words[page] = check_page(page, args.longest)
        problems += found
    if not args.pages:
        if words[ROOT / "README.md"] > README_WORDS:
            problems.append(f"README.md: {words[ROOT / 'README.md']} words, of {README_WORDS}")
        guide = sum(count for page, count in words.items() if page.parent == ROOT / "docs/guide")
        if guide > GUIDE_WORDS:
            problems.append(f"docs/guide: {guide} words, of {GUIDE_WORDS}")
        for source in sources("cli/**/*.cpp", "src/algorithms/*/params.h"):
            lines = spoken(source.read_text(encoding="utf-8"))
            problems += [f"{source.relative_to(ROOT)}:{number}: {problem}" for number, problem in word_problems(lines)]
        known = {page.name for page in pages_of([])}
        for source in sources(*(f"{folder}/**/*.{kind}" for folder in SOURCES for kind in ("h", "cpp", "cu", "cuh", "py"))):
            for name in set(re.findall(r"\b([a-z-]+\.md)\b", source.read_text(encoding="utf-8"))) - known:
                problems.append(f"{source.relative_to(ROOT)}: there is no page {name}")
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
