# SPDX-License-Identifier: Apache-2.0
"""How many books have one of the same author among their neighbours."""
import collections
import csv
import gzip
import sys

# Catching Fire, Prisoner of Azkaban, Eclipse, Guards! Guards!, Dune Messiah
SHOWN = ["17", "18", "52", "894", "1105"]


def share(neighbours, catalogue):
    """Of the books whose author has another one in the catalogue, as text. `neighbours` is what
    `likewise similar --all-items` writes, `catalogue` goodbooks-10k's books.csv.gz; a few neighbourhoods with titles go to standard error."""
    with gzip.open(catalogue, "rt", encoding="utf-8") as file:
        books = {book["book_id"]: book for book in csv.DictReader(file)}
    author = {key: book["authors"].split(",")[0] for key, book in books.items()}
    written = collections.Counter(author.values())
    similar = collections.defaultdict(list)
    with open(neighbours, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            similar[row["item"]].append(row["similar_item"])
    asked = [book for book in similar if written[author[book]] > 1]
    found = [b for b in asked if any(author[n] == author[b] for n in similar[b])]
    for book in SHOWN:
        print(books[book]["title"], file=sys.stderr)
        for other in similar[book][:5]:
            print(f"    {books[other]['title']}, {author[other]}", file=sys.stderr)
    return f"{len(found) / len(asked):.4f}"
