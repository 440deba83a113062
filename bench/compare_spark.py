#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""likewise.spark and pyspark.ml's ALS: the same Parquet file, machine, session settings and parameters.

    bench/compare_spark.py [--shape ml-20m] [--rank 64] [--master local[2]] [--rounds 3] [--kinds implicit,explicit] \\
        [--engines likewise,mllib] [--mllib-iterations 1,1,3] [--memory 6g] [--set NAME=VALUE ...] [--folder F]
    bench/compare_spark.py --shape ml-1m/ratings.dat --rank 32 --mllib-iterations 10 --kinds explicit
    bench/compare_spark.py --seeds 1,2,3,4,5 [--shape ml-1m/ratings.dat] ...

The session's settings are Spark's own, but for the user interface, which is off; --memory gives the driver more than Spark's
1g, which large data need, and --set changes what you like. The table comes with the settings that matter.

Each engine and kind has a process and a session of its own. The first fit() of a session is slower than the next, and is
told apart; nothing warms the session before. Ours fits 10 iterations --rounds times, and once as many as MLlib's longest
fit. MLlib fits 10 iterations as often with --mllib-iterations 10; with others it fits once with each of them: an iteration
is the difference between the last fits of two numbers, and fit() of 10 iterations follows from it. Both then write the
lists of all users (top 10) to nowhere, --rounds times (MLlib once). fit() begins with reading the file.

With --seeds nothing is timed: each engine fits 10 iterations with each seed, and the objectives are compared. --shape is a
shape of `likewise generate`, or a file of ratings that the program reads.

The objective is one function over both models' factors and all cells. Memory is the largest sum of the proportional set
sizes of the JVM and its Python workers, looked at twice a second. Run it on an idle machine, with PySpark, PyArrow and
likewise; --folder keeps the Parquet file and what is measured (results.json), so that engines and kinds can be measured one
after the other.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pyarrow.csv
import pyarrow.parquet

PARAMS = {"implicit": {"implicitPrefs": True, "alpha": 1.0, "regParam": 0.05},
          "explicit": {"implicitPrefs": False, "regParam": 0.05}}
COLUMNS = {"userCol": "user", "itemCol": "item", "ratingCol": "value", "seed": 1}
ITERATIONS = 10
LISTED = 10


class Memory(threading.Thread):
    """The most bytes that all processes below this one have had since peak() was last called."""

    def __init__(self):
        super().__init__(daemon=True)
        self._most = 0

    def run(self):
        while True:
            self._most = max(self._most, sum(map(proportional, below(os.getpid()))))
            time.sleep(0.5)

    def peak(self):
        most, self._most = self._most, 0
        return most


def below(root):
    children = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        children.setdefault(parent, []).append(int(folder.name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return found[1:]


def proportional(pid):
    """Bytes of a process; what it shares with others is divided among them."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


# One engine and kind, in a process of its own.

def open_session(given):
    from pyspark.sql import SparkSession

    import likewise
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    paths = [str(pathlib.Path(likewise.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(given.master).appName("compare_spark")
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if given.memory:
        settings["spark.driver.memory"] = given.memory
    settings |= dict(one.split("=", 1) for one in given.set)
    if given.events:
        settings |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": pathlib.Path(given.events).as_uri(),
                     "spark.eventLog.compress": "false"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def settings_of(session):
    """Those on which times depend, as they are."""
    shown = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled", "spark.sql.execution.arrow.maxRecordsPerBatch")
    found = {name: session.conf.get(name) for name in shown}
    found["spark.default.parallelism"] = str(session.sparkContext.defaultParallelism)
    found["spark.driver.memory"] = session.sparkContext.getConf().get("spark.driver.memory", "1g")
    return {"PySpark": session.version, **found}


def write_factors(model, given):
    for factors, side in ((model.userFactors, "users"), (model.itemFactors, "items")):
        factors.write.mode("overwrite").parquet(f"{given.folder}/{'-'.join(given.one)}-{side}")


def measure_one(given):
    engine, kind = given.one
    session = open_session(given)
    from pyspark.ml.recommendation import ALS as SparkALS

    from likewise.spark import ALS
    of = ALS if engine == "likewise" else SparkALS
    if given.seeds:
        found = []
        table = pyarrow.parquet.read_table(given.parquet)
        for seed in given.seeds.split(","):
            cells = session.read.parquet(given.parquet)
            write_factors(of(rank=given.rank, maxIter=ITERATIONS, **PARAMS[kind], **{**COLUMNS, "seed": int(seed)}).fit(cells), given)
            found.append(objective(table, given.folder, engine, kind))
            print(f"  {engine} {kind}, seed {seed}: {found[-1]:,.0f}", file=sys.stderr)
        session.stop()
        print(json.dumps(found))
        return
    memory = Memory()
    memory.start()
    wanted = [ITERATIONS] * given.rounds if engine == "likewise" or given.mllib_iterations == [ITERATIONS] else \
        given.mllib_iterations
    if engine == "likewise" and max(given.mllib_iterations) != ITERATIONS:
        wanted = [*wanted, max(given.mllib_iterations)]
    found = {"fits": [], "lists": [], "fit_memory": 0, "lists_memory": 0, "iterations": [], "take": [],
             "settings": settings_of(session)}
    model = None
    memory.peak()
    for iterations in wanted:
        if model is not None:
            for factors in (model.userFactors, model.itemFactors):
                factors.unpersist()
        begin = time.perf_counter()
        cells = session.read.parquet(given.parquet)
        model = of(rank=given.rank, maxIter=iterations, **PARAMS[kind], **COLUMNS).fit(cells)
        found["fits"].append((iterations, time.perf_counter() - begin))
        if engine == "likewise":
            seconds = model.report["seconds"]
            found["iterations"] += seconds["iterations"]
            found["take"].append(model.report["interactions"] / model.report["workers"] / seconds["take"])
            print(f"  {seconds}", file=sys.stderr)
        print(f"  {engine} {kind}: {iterations} iterations in {found['fits'][-1][1]:.1f} s", file=sys.stderr)
    found["fit_memory"] = memory.peak()
    for _ in range(given.rounds if engine == "likewise" else 1):
        begin = time.perf_counter()
        model.recommendForAllUsers(LISTED).write.format("noop").mode("overwrite").save()
        found["lists"].append(time.perf_counter() - begin)
        print(f"  {engine} {kind}: lists in {found['lists'][-1]:.1f} s", file=sys.stderr)
    found["lists_memory"] = memory.peak()
    write_factors(model, given)
    session.stop()
    print(json.dumps(found))


# Both next to each other.

def table_of(path):
    """Factors by id, in float64."""
    rows = pyarrow.parquet.read_table(path)
    ids = rows["id"].to_numpy()
    features = np.concatenate([part.flatten().to_numpy() for part in rows["features"].chunks]).reshape(len(ids), -1)
    table = np.zeros((ids.max() + 1, features.shape[1]))
    table[ids] = features
    return table


def objective(cells, folder, engine, kind):
    """The objective both fit: cells by cells, and lambda times the row's cells, in float64."""
    x, y = (table_of(f"{folder}/{engine}-{kind}-{side}") for side in ("users", "items"))
    users, items, values = (cells[name].to_numpy() for name in ("user", "item", "value"))
    lam = PARAMS[kind]["regParam"]
    total = lam * ((np.bincount(users, minlength=len(x)) * (x**2).sum(1)).sum() +
                   (np.bincount(items, minlength=len(y)) * (y**2).sum(1)).sum())
    if kind == "implicit":
        total += np.sum((x.T @ x) * (y.T @ y))  # of all scores squared
    for at in range(0, len(users), 1 << 19):
        part = slice(at, at + (1 << 19))
        scores = np.einsum("nf,nf->n", x[users[part]], y[items[part]])
        r = values[part].astype(np.float64)
        if kind == "explicit":
            total += ((r - scores) ** 2).sum()
        else:
            total += ((1 + PARAMS[kind]["alpha"] * r) * (1 - scores) ** 2 - scores**2).sum()
    return total


def make_parquet(given):
    path = pathlib.Path(given.folder) / f"{pathlib.Path(given.shape).name.replace(':', '-')}.parquet"
    if pathlib.Path(given.shape).is_file():
        import likewise
        cells = likewise.Interactions(given.shape).to_csr().tocoo()
        columns = {"user": cells.row, "item": cells.col, "value": cells.data}
        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=1 << 20)
    elif not path.exists():
        from likewise import program
        rows = path.with_suffix(".csv")
        subprocess.run([program.path(), "generate", given.shape, "-o", rows, "-q"], check=True)
        kinds = {"user": pyarrow.int32(), "item": pyarrow.int32(), "value": pyarrow.float32()}
        cells = pyarrow.csv.read_csv(rows, convert_options=pyarrow.csv.ConvertOptions(column_types=kinds))
        pyarrow.parquet.write_table(cells, path, row_group_size=1 << 20)
        rows.unlink()
    return path


def shown(values, unit="s", digits=2):
    if len(values) == 1:
        return f"{values[0]:.{digits}f} {unit}"
    return f"{statistics.median(values):.{digits}f} {unit} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def compared(kind, ours, theirs):
    """Rows of the table: what, ours, theirs, the ratio of the medians."""
    mine, others = ([seconds for iterations, seconds in found["fits"] if iterations == ITERATIONS] for found in (ours, theirs))
    last = dict(theirs["fits"])
    short, long = min(last.items()), max(last.items())
    if others:
        yield (f"{kind}, a session's first fit() of {ITERATIONS} iterations", shown(mine[:1], digits=1), shown(others[:1], digits=1),
               others[0] / mine[0])
        others = others[1:] or others
    else:
        iteration = (long[1] - short[1]) / (long[0] - short[0])
        others = [long[1] + (ITERATIONS - long[0]) * iteration]
        yield (f"{kind}, an iteration", shown(ours["iterations"]), shown([iteration], digits=1),
               iteration / statistics.median(ours["iterations"]))
    mine = mine[1:] or mine
    yield (f"{kind}, the next fit() of {ITERATIONS} iterations", shown(mine, digits=1), shown(others, digits=1),
           statistics.median(others) / statistics.median(mine))
    if ours["fits"][-1][0] == long[0]:  # else they were measured with other --mllib-iterations
        yield (f"{kind}, the objective after {long[0]} iterations", f"{ours['objective']:,.0f}", f"{theirs['objective']:,.0f}",
               theirs["objective"] / ours["objective"])
    yield (f"{kind}, a model's first recommendForAllUsers({LISTED})", shown(ours["lists"][:1]), shown(theirs["lists"][:1], digits=1),
           theirs["lists"][0] / ours["lists"][0])
    if ours["lists"][1:]:
        yield f"{kind}, the next ones", shown(ours["lists"][1:]), "", theirs["lists"][0] / statistics.median(ours["lists"][1:])
    for what, name in (("fit()", "fit_memory"), ("lists", "lists_memory")):
        yield (f"{kind}, memory, {what}", f"{ours[name] / 2**20:,.0f} MB", f"{theirs[name] / 2**20:,.0f} MB",
               theirs[name] / ours[name])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--shape", default="ml-20m")
    options.add_argument("--rank", type=int, default=64)
    options.add_argument("--master", default="local[2]")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--memory", default="", help="of the driver; without: Spark's own")
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of Spark")
    options.add_argument("--kinds", default="implicit,explicit")
    options.add_argument("--engines", default="likewise,mllib")
    options.add_argument("--mllib-iterations", default="1,1,3")
    options.add_argument("--folder")
    options.add_argument("--seeds", default="")
    options.add_argument("--events", help="a folder for Spark's event logs")
    options.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options.add_argument("--parquet", help=argparse.SUPPRESS)
    given = options.parse_args()
    given.mllib_iterations = [int(one) for one in given.mllib_iterations.split(",")]
    if given.one:
        measure_one(given)
        return
    with tempfile.TemporaryDirectory() as temporary:
        given.folder = given.folder or temporary
        pathlib.Path(given.folder).mkdir(exist_ok=True)
        compare(given)


def compare(given):
    path = make_parquet(given)
    kept = pathlib.Path(given.folder) / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    cells = pyarrow.parquet.read_table(path)
    for kind in given.kinds.split(","):
        for engine in filter(None, given.engines.split(",")):
            told = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--folder", given.folder, "--one", engine, kind,
                                   "--parquet", str(path)], check=True, stdout=subprocess.PIPE, text=True).stdout
            result = json.loads(told.splitlines()[-1])
            if given.seeds:
                print(f"{path.name}, {kind}, {engine}: {shown(result, '', 0).rstrip()}")
                continue
            result["objective"] = objective(cells, given.folder, engine, kind)
            results[f"{engine} {kind}"] = result
            kept.write_text(json.dumps(results, indent=1))
    if given.seeds:
        return
    print(f"{path.name}: {cells.num_rows:,} rows, rank {given.rank}, {given.master}")
    for settings in {json.dumps(result["settings"]) for result in results.values()}:
        print(", ".join(f"{name} {value}" for name, value in json.loads(settings).items()))
    print("| work | likewise | MLlib | ratio |\n|---|---|---|---:|")
    for kind in given.kinds.split(","):
        ours, theirs = (results.get(f"{engine} {kind}") for engine in ("likewise", "mllib"))
        if ours and theirs:
            for what, mine, others, ratio in compared(kind, ours, theirs):
                print(f"| {what} | {mine} | {others} | {ratio:.3g} x |")
        if ours:
            rates = [rate / 1e6 for rate in ours["take"]]
            print(f"| {kind}, Arrow to native, a core | {shown(rates, 'M rows/s', 1)} | | |")


if __name__ == "__main__":
    main()
