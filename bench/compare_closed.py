#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares likewise's closed forms on a CPU to `irspack`, `scikit-learn`, SciPy and NumPy from PyPI.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install irspack==0.5.2 scikit-learn scipy numpy
    /tmp/peers/bin/python bench/compare_closed.py build/release/bin/likewise [--rounds 3] [--threads 2] [--work DIR]
        [--only ease-ml-1m,ease-ml-20m,rp3,spectral]

Prints one Markdown table. Data are shapes of `likewise generate`; the programs take turns, each job a process of its own, with
as many threads for all. Seconds are of training alone, as `likewise train --json` says them and around the call of a peer,
whose matrix is in memory in its own form. A package that is not there is left out, which the table says.

  ease-ml-1m   plain EASE, regularisation 500, the ML-1M shape: irspack's DenseSLIM, and the general inverse of NumPy that it
               and RecTools call; the weights of all pairs must agree to 1e-4
  ease-ml-20m  the same on the ML-20M shape (26,744 items) by likewise alone, as a multiple of n^3 at the rate of a float32
               product of 4,096 columns by NumPy
  rp3          item-knn, ML-20M shape, K = 300: rp3 compared to cosine, both of likewise, and irspack's RP3beta
  spectral     512 factors, ML-20M shape: scikit-learn's randomized_svd with its usual iterations (7 here) and with 2. "Captured" is
               ||A V||^2 of its V over ours, for the normalised matrix A
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHAPES = {"ml-1m": "6040x3706x1000209", "ml-20m": "ml-20m"}
REGULARIZATION = 500.0
FACTORS, K, EXPONENT = 512, 300, 0.5
PLAIN_EASE = ["--algorithm", "ease", "--user-exponent", 0, "--scale-items", "off", "--dropout", 0, "--regularization",
              REGULARIZATION, "--form", "dense"]
SPECTRAL = ["--algorithm", "spectral", "--factors", FACTORS, "--item-exponent", EXPONENT, "--spectrum-exponent", 1]


# Jobs, in processes of their own. Each returns a number of seconds and more.

def matrix_of(folder):
    import scipy.sparse as sparse

    return sparse.load_npz(folder / "matrix.npz")


def convert(folder):
    import numpy as np
    import scipy.sparse as sparse

    with open(folder / "data.csv", encoding="ascii") as lines:
        lines.readline()
        table = np.fromstring(lines.read().replace("\n", ","), sep=",").reshape(-1, 3)
    rows, columns = table[:, 0].astype(np.int32), table[:, 1].astype(np.int32)
    names = [np.unique(one) for one in (rows, columns)]
    cells = np.searchsorted(names[0], rows), np.searchsorted(names[1], columns)
    matrix = sparse.csr_matrix((table[:, 2].astype(np.float32), cells))
    matrix.sort_indices()
    sparse.save_npz(folder / "matrix.npz", matrix, compressed=False)
    return {"items": matrix.shape[1]}


def normalised(x):
    import numpy as np
    import scipy.sparse as sparse

    users = np.maximum(np.diff(x.indptr), 1).astype(np.float64)
    items = np.maximum(np.bincount(x.indices, minlength=x.shape[1]), 1).astype(np.float64)
    return (sparse.diags(users ** -0.5) @ x.astype(np.float64) @ sparse.diags(items ** -0.5)).tocsr().astype(np.float32), items


def tensor(folder, name):
    import numpy as np

    with open(folder / "model.safetensors", "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(length))[name]
    return np.memmap(folder / "model.safetensors", np.float32, "r", 8 + length + about["data_offsets"][0],
                     tuple(about["shape"]))


def ease_of_irspack(folder):
    from irspack.recommenders import DenseSLIMRecommender

    model = DenseSLIMRecommender(matrix_of(folder), reg=REGULARIZATION)
    begin = time.perf_counter()
    model.learn()
    return {"seconds": time.perf_counter() - begin, "check": difference(folder, model.W)}


def ease_of_numpy(folder):
    import numpy as np

    x = matrix_of(folder)
    begin = time.perf_counter()
    gram = (x.T @ x).toarray()
    gram[np.diag_indices_from(gram)] += REGULARIZATION
    inverse = np.linalg.inv(gram)
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0)
    return {"seconds": time.perf_counter() - begin, "check": difference(folder, weights)}


def difference(folder, weights):
    import numpy as np

    ours = tensor(folder, "item_weights")
    worst = float(np.abs(np.asarray(weights)[:ours.shape[0], :ours.shape[1]] - ours).max())
    if not worst < 1e-4:
        sys.exit(f"weights differ by {worst}")
    return f"weights within {worst:.1g}"


def product(_):
    import numpy as np

    n = 4096
    a = np.random.default_rng(1).random((n, n), np.float32)
    a @ a
    begin = time.perf_counter()
    a @ a
    return {"seconds": time.perf_counter() - begin, "cube": n ** 3}


def rp3_of_irspack(folder):
    from irspack.recommenders import RP3betaRecommender

    model = RP3betaRecommender(matrix_of(folder), alpha=1.0, beta=0.5, top_k=K, n_threads=int(os.environ["OMP_NUM_THREADS"]))
    begin = time.perf_counter()
    model.learn()
    return {"seconds": time.perf_counter() - begin, "check": ""}


def captured(folder, v):
    import numpy as np

    a, items = normalised(matrix_of(folder))
    own = tensor(folder, "item_factors") / items[:, None] ** EXPONENT
    own /= np.linalg.norm(own, axis=0)
    return f"captured {np.sum((a @ v) ** 2.0) / np.sum((a @ own.astype(np.float32)) ** 2.0):.4f}"


def spectral_of_sklearn(folder, iterations):
    from sklearn.utils.extmath import randomized_svd

    a, _ = normalised(matrix_of(folder))
    begin = time.perf_counter()
    _, _, vt = randomized_svd(a, FACTORS, n_iter=iterations, random_state=1)
    return {"seconds": time.perf_counter() - begin, "check": captured(folder, vt.T)}


JOBS = {"convert": convert, "irspack DenseSLIM": ease_of_irspack, "NumPy's general inverse": ease_of_numpy, "product": product,
        "irspack RP3beta": rp3_of_irspack, "scikit-learn randomized_svd": lambda folder: spectral_of_sklearn(folder, "auto"),
        "scikit-learn, 2 iterations": lambda folder: spectral_of_sklearn(folder, 2)}


# What drives them.

class Comparison:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def job(self, name):
        """What it returns, or nothing where its package is not there."""
        threads = {key: str(self.args.threads) for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        done = subprocess.run([sys.executable, __file__, "--job", name, self.folder], capture_output=True, text=True,
                              env={**os.environ, **threads}, check=False)
        if done.returncode == 0:
            return json.loads(done.stdout.splitlines()[-1])
        if "ModuleNotFoundError" in done.stderr or "ImportError" in done.stderr:
            return None
        sys.exit(f"failed: {name}: {done.stderr}")

    def data(self, shape):
        self.program("generate", SHAPES[shape], "-o", self.folder / "data.csv", "--seed", 1)
        return self.job("convert")["items"]

    def program(self, *words):
        return subprocess.run([self.args.binary, *map(str, words), "--quiet"], check=True, capture_output=True, text=True).stdout

    def train(self, *words):
        told = self.program("train", self.folder / "data.csv", "-o", self.folder / "model.safetensors", "--device", "cpu",
                            "--threads", self.args.threads, "--json", *words)
        return json.loads(told)["seconds"]["train"]

    def rounds(self, words, peers):
        """Seconds of ours, and of each peer with its check; in turns."""
        ours, theirs = [], {name: [] for name in peers}
        for _ in range(self.args.rounds):
            ours.append(self.train(*words))
            for name in peers:
                theirs[name].append(self.job(name))
        return ours, theirs

    def compare(self, title, words, peers):
        from compare import ratio, spread

        ours, theirs = self.rounds(words, peers)
        for name, done in theirs.items():
            if None in done:
                print(f"| {title} | {spread(ours)} | {name}: not there | | | |", flush=True)
                continue
            seconds = [one["seconds"] for one in done]
            print(f"| {title} | {spread(ours)} | {name} | {spread(seconds)} | {ratio(seconds, ours)} | {done[-1]['check']} |",
                  flush=True)

    def ease_ml_1m(self):
        self.data("ml-1m")
        self.compare("ease, dense, ML-1M shape", PLAIN_EASE, ["irspack DenseSLIM", "NumPy's general inverse"])

    def ease_ml_20m(self):
        from compare import spread

        items = self.data("ml-20m")
        ours, cubes = [], []
        for _ in range(self.args.rounds):
            one = self.job("product")
            ours.append(self.train(*PLAIN_EASE))
            cubes.append(items ** 3 * one["seconds"] / one["cube"])
        print(f"| ease, dense, {items:,} items | {spread(ours)} | n^3 at the rate of a product | {spread(cubes)} | "
              f"{spread([a / b for a, b in zip(ours, cubes)])} of it | |", flush=True)

    def rp3(self):
        from compare import spread

        self.data("ml-20m")
        knn = ["--algorithm", "item-knn", "--neighbours", K, "--similarity"]
        cosine = [self.train(*knn, "cosine") for _ in range(self.args.rounds)]
        print(f"| item-knn, cosine, K = {K}, ML-20M shape | {spread(cosine)} | | | | |", flush=True)
        self.compare(f"item-knn, rp3, K = {K}, ML-20M shape", [*knn, "rp3"], ["irspack RP3beta"])

    def spectral(self):
        self.data("ml-20m")
        self.compare(f"spectral, {FACTORS} factors, ML-20M shape", SPECTRAL,
                     ["scikit-learn randomized_svd", "scikit-learn, 2 iterations"])


WORKS = {"ease-ml-1m": Comparison.ease_ml_1m, "ease-ml-20m": Comparison.ease_ml_20m, "rp3": Comparison.rp3,
         "spectral": Comparison.spectral}


def main():
    if sys.argv[1:2] == ["--job"]:
        print(json.dumps(JOBS[sys.argv[2]](pathlib.Path(sys.argv[3]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR", help="for gigabytes that go again [a temporary folder]")
    parser.add_argument("--only", default=",".join(WORKS), help="some of the works above, with commas")
    args = parser.parse_args()
    if unknown := [name for name in args.only.split(",") if name not in WORKS]:
        parser.error(f"no work {unknown[0]}: {', '.join(WORKS)}")
    print("| work | likewise, s | compared to | s | times as fast | |\n|---|---:|---|---:|---:|---|", flush=True)
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        comparison = Comparison(args, pathlib.Path(folder))
        for name in args.only.split(","):
            WORKS[name](comparison)


if __name__ == "__main__":
    main()
