# SPDX-License-Identifier: Apache-2.0
"""The same programs with Spark's class and ours: what comes out has the same types, and about the same numbers."""
import os
import subprocess
import sys
import types

import numpy as np
import pyarrow as pa
import pytest

from conftest import require_spark

require_spark()

import movielens
from movielens import BLOCKS, objective_of, table

from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.feature import SQLTransformer
from pyspark.ml.recommendation import ALS as SparkALS
from pyspark.ml.recommendation import ALSModel as SparkModel
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder
from pyspark.sql import functions as F

import likewise
import likewise.spark
from likewise.spark import ALS, ALSModel, ItemKnn, ItemKnnModel, Popular, UserKnn, checks, chunks, coded, prepare, tables
from likewise.spark.workers import shared_workers

MASTER = "local[2]"
#: What Spark plans again between stages is tested where executors are processes, and takes time.
SETTINGS = {"spark.sql.adaptive.enabled": "false"}
CLASSES = (SparkALS, ALS)
#: Of Spark's class and ours from other first factors, after enough iterations on small data.
SAME = 2e-2


def fit(of, ratings, **params):
    return of(**{"rank": 4, "maxIter": 15, "regParam": 0.1, "seed": 1, **BLOCKS, **params}).fit(ratings)


@pytest.fixture(scope="module", params=[False, True], ids=["ratings", "likes"])
def implicit(request):
    return request.param


@pytest.fixture(scope="module")
def pair(ratings, implicit):
    return [fit(of, ratings, implicitPrefs=implicit, alpha=2.0) for of in CLASSES]


def lists_of(frame):
    return {row[0]: [tuple(one) for one in row["recommendations"]] for row in frame.collect()}


def test_parameters_and_defaults_are_those_of_spark(spark):
    theirs, ours = SparkALS(), ALS()
    for param in theirs.params:
        assert ours.hasParam(param.name), param.name
        if param.name != "seed":
            assert ours.getOrDefault(param.name) == theirs.getOrDefault(param.name), param.name
    for name in dir(theirs):
        if name.startswith(("get", "set")):
            assert hasattr(ours, name), name


def test_getters_and_setters_have_docstrings():
    for kind in (ALS, ALSModel, ItemKnn, ItemKnnModel):
        silent = [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name)) and not getattr(kind, name).__doc__]
        assert not silent, kind
    assert ALS.setRank.__doc__ == "Sets rank: numbers learnt per user and per item, 1 to 4096."
    assert ALSModel.getUserCol.__doc__.startswith("The value of userCol: column of the users' ids")


def test_models_have_the_same_schema(pair):
    theirs, ours = pair
    assert ours.rank == theirs.rank == 4
    for name in ("userFactors", "itemFactors"):
        assert getattr(ours, name).dtypes == getattr(theirs, name).dtypes
        assert set(table(getattr(ours, name))) == set(table(getattr(theirs, name)))
    for name in dir(theirs):
        if name.startswith(("get", "set", "recommend")):
            assert hasattr(ours, name), name


def test_objectives_agree(pair, ratings, implicit):
    theirs, ours = (objective_of(model, ratings, implicit, 0.1, 2.0) for model in pair)
    assert np.isclose(ours, pair[1].report["objectives"][-1], rtol=1e-4)
    assert ours < 1.02 * theirs  # of other first factors, on small data


def test_predictions_agree(pair, ratings, implicit):
    theirs, ours = (model.transform(ratings) for model in pair)
    assert ours.dtypes == theirs.dtypes
    both = [np.array([row["prediction"] for row in frame.orderBy("user", "item").collect()]) for frame in (theirs, ours)]
    # Likes of these data are chance: many factors are about as good.
    assert np.sqrt(np.mean((both[0] - both[1]) ** 2)) < (0.3 if implicit else 0.1)


def test_lists_agree(pair, implicit):
    theirs, ours = pair
    for name in ("recommendForAllUsers", "recommendForAllItems"):
        frames = [getattr(model, name)(5) for model in (theirs, ours)]
        assert frames[0].schema.simpleString() == frames[1].schema.simpleString()
        lists = [lists_of(frame) for frame in frames]
        assert set(lists[0]) == set(lists[1])
        shared = [len({one for one, _ in lists[0][key]} & {one for one, _ in lists[1][key]}) for key in lists[0]]
        assert implicit or np.mean(shared) > 4.5


def test_lists_are_exact(pair, ratings):
    _, ours = pair
    users, items = table(ours.userFactors), table(ours.itemFactors)
    names = sorted(items)
    matrix = np.array([items[name] for name in names], dtype=np.float32)
    found = lists_of(ours.recommendForAllUsers(7))
    assert len(found) == len(users)
    for user, answers in found.items():
        scores = matrix @ users[user].astype(np.float32)
        best = np.sort(scores)[::-1][:7]
        assert np.allclose([score for _, score in answers], best, atol=1e-5)
        assert np.allclose([scores[names.index(item)] for item, _ in answers], best, atol=1e-5)
    assert all(len(answers) == len(items) for answers in lists_of(ours.recommendForAllUsers(1000)).values())


def test_lists_of_some(pair, ratings):
    theirs, ours = pair
    some = ratings.where("user < 100 and item < 60").unionAll(ratings.where("user < 20"))
    for name in ("recommendForUserSubset", "recommendForItemSubset"):
        frames = [getattr(model, name)(some, 3) for model in (theirs, ours)]
        assert frames[0].schema.simpleString() == frames[1].schema.simpleString()
        assert set(lists_of(frames[0])) == set(lists_of(frames[1]))
        assert frames[1].count() == len(lists_of(frames[1]))


def test_lists_leave_out_what_was_seen(pair, ratings):
    _, ours = pair
    seen = {}
    for row in ratings.collect():
        seen.setdefault(row["user"], set()).add(row["item"])
    unknown = ratings.sparkSession.createDataFrame([(10, -5, 1.0), (-1, 5, 1.0)], "user int, item int, rating float")
    free = lists_of(ours.recommendForAllUsers(80))
    for user, answers in lists_of(ours.recommendForAllUsers(6, seen=ratings.unionAll(unknown))).items():
        assert answers == [one for one in free[user] if one[0] not in seen[user]][:6]


def test_similar_items(pair):
    _, ours = pair
    items = table(ours.itemFactors)
    found = ours.similarItems(4)
    assert found.columns == ["item", "recommendations"]
    for row in found.collect():
        best = {name: vector @ items[row["item"]] / np.linalg.norm(vector) / np.linalg.norm(items[row["item"]])
                for name, vector in items.items() if name != row["item"]}
        assert [one["item"] for one in row["recommendations"]][0] == max(best, key=best.get)
        assert np.allclose([one["similarity"] for one in row["recommendations"]], sorted(best.values())[::-1][:4], atol=1e-5)
    assert ours.similarUsers(2).count() == ours.userFactors.count()


@pytest.mark.parametrize("strategy", ["nan", "DROP"])
def test_cold_start(pair, spark, strategy):
    rows = spark.createDataFrame([(10, 5), (10, -7), (-3, 5), (-3, -7)], "user int, item int")
    results = []
    for model in pair:
        before = model.getColdStartStrategy()
        predicted = model.setColdStartStrategy(strategy).transform(rows)
        model.setColdStartStrategy(before)
        results.append([(row["user"], row["item"], bool(np.isnan(row["prediction"]))) for row in
                        predicted.orderBy("user", "item").collect()])
    assert results[0] == results[1]
    assert len(results[1]) == (4 if strategy == "nan" else 1)


def test_columns_of_what_is_transformed(plain, spark):
    rows = spark.createDataFrame([(10, 5, 1), (None, 5, 2)], "user int, item int, likewise_user int")
    predicted = plain.transform(rows.withColumn("likewise_user_features", F.lit("x"))).orderBy("likewise_user").collect()
    assert [np.isnan(row["prediction"]) for row in predicted] == [False, True] and predicted[0]["likewise_user"] == 1
    for model in (plain, ItemKnnModel(None, {"user": "int", "item": "int"})):
        with pytest.raises(ValueError, match="^numItems: 0: a number from 1"):
            model.recommendForAllUsers(0)
        with pytest.raises(ValueError, match="^predictionCol 'prediction' is a column already: drop it, or take another"):
            model.transform(rows.withColumn("prediction", F.lit(1.0)))


def test_ids_with_a_fraction_are_refused(plain, spark, ratings):
    """As by Spark's class, which says it in other words."""
    rows = spark.createDataFrame([(10.0, 5), (10.5, 5)], "user double, item int")
    knn = ItemKnn(userCol="user", itemCol="item", ratingCol="rating").fit(ratings)
    for model in (plain, knn):
        whole = model.transform(rows.where("user = 10")).collect()
        assert len(whole) == 1 and whole[0]["user"] == 10 and not np.isnan(whole[0]["prediction"])
        for ask in (lambda: model.transform(rows), lambda: model.recommendForUserSubset(rows, 2)):
            with pytest.raises(Exception, match="column 'user' holds 10.5: ids are numbers without a fraction"):
                ask().collect()


def test_models_are_saved_and_loaded(pair, ratings, tmp_path):
    theirs, ours = pair
    wanted = table(ours.userFactors)
    ours.setColdStartStrategy("drop")
    ours.write().overwrite().save(str(tmp_path / "ours"))
    ours.saveAsSpark(str(tmp_path / "as-spark"))
    ours.setColdStartStrategy("nan")
    theirs.save(str(tmp_path / "theirs"))
    again = ALSModel.load(str(tmp_path / "ours"))
    assert again.uid == ours.uid and again.rank == 4 and again.getColdStartStrategy() == "drop"
    as_spark = SparkModel.load(str(tmp_path / "as-spark"))
    assert as_spark.rank == 4 and as_spark.getColdStartStrategy() == "drop"
    for model in (again, as_spark, ALSModel.load(str(tmp_path / "as-spark"))):
        found = table(model.userFactors)
        assert all((found[name] == wanted[name]).all() for name in wanted)
    read = ALSModel.load(str(tmp_path / "theirs"))
    predicted = [[row["prediction"] for row in model.transform(ratings).orderBy("user", "item").collect()]
                 for model in (theirs, read)]
    assert np.allclose(*predicted, atol=1e-6)


def test_estimators_and_pipelines_are_saved_and_loaded(ratings, tmp_path):
    als = ALS(rank=3, maxIter=2, numWorkers=2, userCol="user", checkpointPath="/somewhere", seed=5)
    als.save(str(tmp_path / "als"))
    again = ALS.load(str(tmp_path / "als"))
    assert again.uid == als.uid
    assert {p.name: v for p, v in again.extractParamMap().items()} == {p.name: v for p, v in als.extractParamMap().items()}
    stages = [SQLTransformer(statement="select user, item, rating * 2 as rating from __THIS__"), ALS(rank=3, maxIter=2)]
    SparkALS(rank=3, userCol="who", seed=-7).save(str(tmp_path / "of-spark"))
    taken = ALS.load(str(tmp_path / "of-spark"))
    assert isinstance(taken, ALS) and (taken.getRank(), taken.getUserCol(), taken.getSeed()) == (3, "who", -7)
    stages[0].save(str(tmp_path / "no-als"))
    with pytest.raises(ValueError, match="no-als holds '.*SQLTransformer', not an ALS"):
        ALS.load(str(tmp_path / "no-als"))
    pipeline = Pipeline(stages=stages)
    pipeline.save(str(tmp_path / "pipeline"))
    model = Pipeline.load(str(tmp_path / "pipeline")).fit(ratings)
    model.save(str(tmp_path / "model"))
    read = PipelineModel.load(str(tmp_path / "model"))
    assert isinstance(read.stages[1], ALSModel)
    assert sorted(model.transform(ratings).collect()) == sorted(read.transform(ratings).collect())


def test_cross_validation(ratings, tmp_path):
    best = []
    for of in CLASSES:
        als = of(rank=3, maxIter=3, coldStartStrategy="drop", seed=1, **BLOCKS)
        grid = ParamGridBuilder().addGrid(als.regParam, [0.1, 5.0]).build()
        search = CrossValidator(estimator=als, estimatorParamMaps=grid, numFolds=2, seed=3,
                                evaluator=RegressionEvaluator(labelCol="rating"))
        found = search.fit(ratings)
        best.append(found.avgMetrics)
    assert np.argmin(best[0]) == np.argmin(best[1]) == 0
    assert best[1][0] < 1.05 * best[0][0] and np.isclose(best[0][1], best[1][1], rtol=0.01)
    found.save(str(tmp_path / "search"))
    assert isinstance(CrossValidatorModel.load(str(tmp_path / "search")).bestModel, ALSModel)


def test_ranks_learn_the_same(ratings, implicit):
    models = [fit(ALS, data, implicitPrefs=implicit, numWorkers=2, solver="cholesky")
              for data in (ratings.repartition(1), ratings.orderBy(F.desc("rating")).repartition(4))]
    assert models[0].report["objectives"] == models[1].report["objectives"]
    assert models[0].report["interactions"] == 3000 and models[0].report["repeated"] == 0
    tables = [table(model.userFactors) for model in models]
    assert all((tables[0][name] == tables[1][name]).all() for name in tables[0])
    alone, again = (fit(ALS, data, implicitPrefs=implicit, numWorkers=1, solver="cholesky")
                    for data in (ratings, ratings.orderBy(F.desc("rating")).repartition(4)))
    assert same(alone, again)
    assert np.allclose(models[0].report["objectives"], alone.report["objectives"], rtol=1e-5)


def test_tables_are_sorted_in_parts(pair, monkeypatch):
    _, ours = pair
    before = lists_of(ours.recommendForAllUsers(5))
    monkeypatch.setattr(tables, "SORTED_AT_ONCE", 7)
    monkeypatch.setattr(ours, "_tables", {})
    assert before == lists_of(ours.recommendForAllUsers(5))
    shared = ours._tables["item"]
    from pyspark import SparkFiles
    ids = pa.ipc.open_file(SparkFiles.get(shared.name + ".ids")).read_all()["id"].to_pylist()
    rows = np.fromfile(SparkFiles.get(shared.name + ".factors"), dtype=np.float32).reshape(len(ids), shared.stride)
    wanted = table(ours.itemFactors)
    assert ids == sorted(wanted) and all((rows[at, :4] == wanted[name]).all() for at, name in enumerate(ids))


def test_rows_are_digested_in_any_order(ratings):
    rows = ratings.withColumnRenamed("rating", "v")
    counted, digest = prepare.counted(rows, "v")
    assert counted == 3000 and prepare.counted(rows.coalesce(1), "v") == (3000, digest)
    assert prepare.counted(rows.withColumn("v", rows["v"] + 1), "v")[1] != digest


@pytest.fixture(scope="module")
def plain(ratings):
    return fit(ALS, ratings)


def same(one, other):
    """Whether two models are bit-identical."""
    for factors in ("userFactors", "itemFactors"):
        found, wanted = (table(getattr(model, factors)) for model in (one, other))
        if set(found) != set(wanted) or not all((found[name] == value).all() for name, value in wanted.items()):
            return False
    return one.report["objectives"] == other.report["objectives"]


def test_tables_of_ids_that_are_large_are_joined(ratings, monkeypatch):
    small = fit(ALS, ratings, numWorkers=2, maxIter=3)
    monkeypatch.setattr(prepare, "BROADCAST_ROWS", 100)  # of 150 users and 80 items
    assert same(fit(ALS, ratings, numWorkers=2, maxIter=3), small)


def tasks_of(spark, work):
    """How many tasks ran in each stage of work(), and what it returned."""
    group = f"tasks of {len(tasks_of.groups)}"
    tasks_of.groups.append(group)
    spark.sparkContext.setJobGroup(group, group)
    try:
        result = work()
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    tracker = spark.sparkContext.statusTracker()
    stages = {stage for job in tracker.getJobIdsForGroup(group) for stage in tracker.getJobInfo(job).stageIds}
    return [info.numCompletedTasks for info in map(tracker.getStageInfo, sorted(stages)) if info is not None], result


tasks_of.groups = []


@pytest.mark.parametrize("workers", [1, 2])
def test_settings_of_shuffles_do_not_matter(spark, ratings, workers):
    models = []
    for partitions, adaptive in (("200", "false"), ("200", "true"), ("2", "true")):
        before = {name: spark.conf.get(name) for name in ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")}
        for name, value in zip(before, (partitions, adaptive)):
            spark.conf.set(name, value)
        try:
            tasks, model = tasks_of(spark, lambda: fit(ALS, ratings, numWorkers=workers, maxIter=2))
            # Three partitions of ratings, two slots; each stage that is there has its tasks for a reason.
            assert max(tasks) <= 3 and sum(tasks) <= (25 if workers == 1 else 90), tasks
            models.append(model)
            some = ratings.where("user < 50")
            for lists in (lambda: model.recommendForUserSubset(some, 2), lambda: model.recommendForAllUsers(2, seen=some),
                          lambda: model.recommendForAllItems(2)):
                tasks, _ = tasks_of(spark, lambda: lists_of(lists()))
                assert max(tasks) <= 3, tasks
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)
    assert same(models[0], models[1]) and same(models[0], models[2])


def test_one_rank_that_would_take_too_much_is_not_alone(ratings, plain, monkeypatch):
    """By the rows alone, before anything is handed to it, and by its ids, which it counts itself."""
    assert plain.report["workers"] == 1
    for limit in (3000 * 40 // 2 + 1, plain.rank * 4 * 200):
        monkeypatch.setattr(checks, "worker_memory", lambda spark, limit=limit: limit)
        asked = []
        monkeypatch.setattr(checks, "require_ranks", lambda spark, ranks, *more: asked.append(ranks))
        monkeypatch.setattr("likewise.spark.train.fit_together", lambda ratings, params, native, ranks, *more: "several")
        from likewise.spark import train
        assert train.fit(ratings, ALS(rank=4)) == "several" and asked[0] > 1


def test_workers_are_looked_at_first(spark, ratings, monkeypatch, tmp_path):
    context = spark.sparkContext
    advice = "workers run '.*'.*set PYSPARK_PYTHON, on all machines"
    monkeypatch.setattr(context, "pythonExec", "/nonexistent/python")
    with pytest.raises(ImportError, match=f"do not start.*Cannot run program \"/nonexistent/python\".*{advice}") as told:
        fit(ALS, ratings)
    assert "\n" not in str(told.value)
    bare = tmp_path / "python"
    bare.write_text(f"#!/bin/sh\nPYTHONNOUSERSITE=1 exec {sys.executable} -c 'import sys; sys.modules[\"pyarrow\"] = None\n"
                    "import runpy; sys.argv = sys.argv[2:]; runpy.run_module(sys.argv[0], run_name=\"__main__\")' \"$@\"\n")
    bare.chmod(0o755)
    monkeypatch.setattr(context, "pythonExec", str(bare))
    with pytest.raises(ImportError, match=f"the workers' Python .* cannot load pyarrow .*{advice}") as told:
        ItemKnn().fit(ratings)
    assert "\n" not in str(told.value) and str(bare) in str(told.value)
    monkeypatch.undo()
    monkeypatch.setattr(likewise, "__version__", "0.0.1")
    with pytest.raises(ImportError, match=f"has likewise .*, and the driver 0.0.1: {advice}"):
        fit(ALS, ratings)


def test_versions_that_differ_a_little_are_taken():
    assert checks.same_version("pyarrow", "21.0.0", "21.0.3") and checks.same_version("Python", "3.11.2", "3.11.9")
    assert not checks.same_version("pandas", "2.2.3", "2.1.3") and not checks.same_version("likewise", "1.0.0", "1.0.1")
    trace = ("... pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
             "version: 3.9 than that in driver: 3.11, PySpark cannot run with different minor versions.\nPlease check ...")
    assert "worker has different version: 3.9 than that in driver: 3.11" in checks._cause(trace)


def test_tasks_of_rdds_run_on_the_workers_of_frames(spark):
    def numbers(values):
        import os
        yield from ((os.getppid(), value) for value in values)

    def frames(batches):
        import os

        import pyarrow
        for batch in batches:
            yield pyarrow.RecordBatch.from_pydict({"daemon": [os.getppid()] * batch.num_rows})

    environment = dict(spark.sparkContext.environment)
    with shared_workers(spark):
        daemons = {daemon for daemon, _ in spark.sparkContext.parallelize(range(2), 2).mapPartitions(numbers).collect()}
    assert daemons == {row["daemon"] for row in spark.range(0, 2, 1, 2).mapInArrow(frames, "daemon long").collect()}
    assert dict(spark.sparkContext.environment) == environment


def test_ids_are_coded_as_they_come(monkeypatch):
    draw = np.random.default_rng(2)
    users = np.array(["a", "b", "ü", "d"])[draw.integers(0, 4, 200)]
    items = draw.integers(0, 9, 200) * 10**12
    values = draw.random(200, dtype=np.float32)
    rows = pa.table({"user": users.tolist(), "item": items, "v": values})
    for at_once in (7, 1000):
        monkeypatch.setattr(coded, "LEAST_GROUP_ROWS", at_once)
        monkeypatch.setattr(coded, "MOST_GROUP_ROWS", at_once)
        found = coded.CodedRatings(rows.to_batches(7), ("user", "item", "v"))
        assert found.users.to_pylist() == ["a", "b", "d", "ü"] and found.items.to_pylist() == sorted(set(items.tolist()))
        u, i, v = (np.concatenate(column) for column in zip(*found.take()))
        assert (np.array(found.users.to_pylist())[u] == users).all() and (found.items.to_numpy()[i] == items).all()
        assert (v == values).all() and u.dtype == i.dtype == np.int32
    with pytest.raises(ValueError, match="column 'plays' has 2 rows without an id"):
        coded.CodedRatings(pa.table({"user": ["a", "b"], "item": pa.array([None, None], pa.int64()), "v": [1.0, 2.0]}
                                    ).to_batches(), ("user", "plays", "v"))
    with pytest.raises(ValueError, match="there are no ratings"):
        coded.CodedRatings(rows.slice(0, 0).to_batches(), ("user", "item", "v"))


def test_numbers_of_columns():
    numbers = np.array([3, 1, 2], dtype=np.int32)
    column = chunks.column_of(numbers)
    assert chunks.numbers_of(column).tolist() == [3, 1, 2] and chunks.numbers_of(column.slice(1)).tolist() == [1, 2]
    assert chunks.numbers_of(column.slice(3)).tolist() == []
    assert chunks.numbers_of(pa.array([None, 0.5, None], pa.float32()), gaps=-1).tolist() == [-1, 0.5, -1]
    assert chunks.numbers_of(pa.array([1.5, 0.5]), gaps=np.nan).tolist() == [1.5, 0.5]


def test_workers_do_without_pandas():
    """A new Python does what workers do with rows; others of this session may have loaded pandas."""
    script = """
import subprocess
import sys
import numpy as np, pyarrow as pa
from likewise.spark import chunks, coded, ranks, recommend, single_task, tables
users, items = (chunks.column_of(np.array(ids, dtype=np.int32)) for ids in ([5, 3, 5], [7, 7, 8]))
batch = pa.RecordBatch.from_arrays([users, items, chunks.column_of(np.ones(3, dtype=np.float32))], names=["user", "item", "v"])
rows = coded.CodedRatings([batch], ("user", "item", "v"))
assert [column.tolist() for column in next(rows.take())] == [[1, 0, 1], [0, 0, 1], [1, 1, 1]]
assert ranks._numbers(batch)[0].tolist() == [5, 3, 5]
assert tables.features_of(chunks.lists_of(np.ones((2, 3), dtype=np.float32)), 3)[:, :3].tolist() == [[1] * 3] * 2
assert recommend._places(users, items.slice(0, 1)).tolist() == [1, 1, 1]
assert "pandas" not in sys.modules, "pandas"
"""
    subprocess.run([sys.executable, "-B", "-c", script], check=True)


def test_blocks_hold_rows(monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK_BYTES", 100)
    table = np.arange(60, dtype=np.float32).reshape(20, 3)
    blocks = list(chunks.blocks_of(b"U", pa.array([f"ü{at}" for at in range(20)]), table))
    assert len(blocks) == 3 and all(block[:1] == b"U" for block in blocks)
    batch = pa.RecordBatch.from_arrays([pa.array(blocks, pa.binary())], names=["value"])
    rows = pa.Table.from_batches(chunks.open_blocks([batch]))
    assert rows["id"].to_pylist() == [f"ü{at}" for at in range(20)] and rows["features"].to_pylist() == table.tolist()


def test_tasks_follow_from_bytes(spark):
    assert [tables.tasks_of_factors(spark, rows, 64) for rows in (0, 100, 4097, 10**6, 10**8)] == [1, 1, 2, 4, 382]


# What one task learns.

def as_in_python(estimator, ratings, **params):
    rows = sorted((row["user"], row["item"], row["rating"]) for row in ratings.collect())
    users, items, values = zip(*rows)
    data = likewise.Interactions({"user": np.array(users), "item": np.array(items), "value": np.array(values)},
                                 duplicates="sum")
    return estimator(**params).fit(data).model_


@pytest.mark.parametrize("feedback", ["implicit", "explicit"])
def test_neighbours_are_those_of_python(ratings, tmp_path, feedback):
    params = {"neighbours": 12, "feedback": feedback, "min_support": 2}
    model = ItemKnn(**params).fit(ratings)
    wanted = as_in_python(likewise.ItemKnn, ratings, **params)
    assert wanted.params["min_support"] == 2
    found = lists_of(model.recommendForAllUsers(5))
    assert set(found) == set(np.asarray(wanted.users).tolist())
    for user, answers in zip(wanted.users.take(np.arange(20, dtype=np.int32)), wanted.recommend(n=5)):
        assert found[int(user)] == answers
    some = ratings.where("user < 50")
    assert lists_of(model.recommendForUserSubset(some, 5)) == {user: one for user, one in found.items() if user < 50}
    similar = lists_of(model.similarItems(4))
    for item, answers in zip(np.asarray(wanted.items).tolist(), wanted.similar_items(n=4)):
        assert similar[item] == answers
    predicted = model.transform(ratings).collect()
    assert np.allclose([row["prediction"] for row in predicted],
                       wanted.predict([row["user"] for row in predicted], [row["item"] for row in predicted]))
    model.write().overwrite().save(str(tmp_path / "model"))
    again = ItemKnnModel.load(str(tmp_path / "model"))
    assert again.uid == model.uid and lists_of(again.recommendForAllUsers(5)) == found
    model.saveAsLikewise(tmp_path / "file")
    assert likewise.load_model(tmp_path / "file").recommend(n=5)[0] == wanted.recommend(n=5)[0]


@pytest.mark.parametrize("name, params", [("Ease", {}), ("Spectral", {"factors": 8}), ("Bpr", {"factors": 8, "iterations": 3, "seed": 5}),
                                          ("Sgd", {"factors": 8, "iterations": 3, "order": "alternating"})])
def test_estimators_have_the_models_of_python(ratings, name, params):
    model = getattr(likewise.spark, name)(**params).fit(ratings)
    wanted = as_in_python(getattr(likewise, name), ratings, **params)
    found = lists_of(model.recommendForAllUsers(5))
    assert [found[int(user)] for user in wanted.users] == [wanted.recommend(n=5)[row] for row in range(len(wanted.users))]
    similar = lists_of(model.similarItems(4))
    assert [similar[int(item)] for item in wanted.items] == [wanted.similar_items(n=4)[row] for row in range(len(wanted.items))]
    assert hasattr(model, "similarUsers") == (name != "Ease")


def test_other_estimators_by_one_task(spark, ratings, tmp_path):
    text = ratings.select(F.concat(F.lit("ü"), F.col("user").cast("string")).alias("user"), "item", "rating")
    users = UserKnn(neighbours=9).fit(text)
    assert users.similarUsers(3).schema.simpleString() == "struct<user:string,recommendations:array<struct<user:string,similarity:float>>>"
    assert users.recommendForAllUsers(2).count() == 150
    with pytest.raises(TypeError, match="column 'user' holds numbers, and the model's users are text"):
        users.transform(ratings)
    cold = text.limit(2).unionAll(text.limit(1).withColumn("user", F.lit("nobody")))
    assert [users.setColdStartStrategy(how).transform(cold).count() for how in ("nan", "DROP")] == [3, 2]
    popular = Popular().fit(ratings)
    some = spark.createDataFrame([(10, 5), (None, 5), (10, None), (2**60 + 10, 5)], "user long, item int").coalesce(1)
    assert [np.isnan(row["prediction"]) for row in popular.transform(some).collect()] == [False, True, True, True]
    assert lists_of(popular.recommendForAllUsers(3, includeSeen=True))[10] == as_in_python(likewise.Popular, ratings).recommend(
        [10], n=3, include_seen=True)[0]
    with pytest.raises(TypeError, match="ItemKnn has no parameter 'neighbors' .did you mean neighbours.*; it has .*neighbours"):
        ItemKnn(neighbors=3)
    with pytest.raises(ValueError, match="neighbours must be"):
        ItemKnn(neighbours=0).fit(ratings)
    with pytest.raises(ValueError, match="column 'user' has 1 rows without an id"):
        ItemKnn().fit(ratings.withColumn("user", F.when((F.col("user") != 10) | (F.col("item") != ratings.where(
            "user = 10").first()["item"]), F.col("user"))))
    with pytest.raises(ValueError, match="there are no ratings"):
        ItemKnn().fit(ratings.where("user < 0"))


def test_neighbours_in_pipelines_and_searches(ratings, tmp_path):
    knn = ItemKnn(feedback="explicit", coldStartStrategy="drop")
    grid = ParamGridBuilder().addGrid(knn.neighbours, [5, 40]).build()
    search = CrossValidator(estimator=Pipeline(stages=[knn]), estimatorParamMaps=grid, numFolds=2, seed=3,
                            evaluator=RegressionEvaluator(labelCol="rating"))
    found = search.fit(ratings)
    assert len(found.avgMetrics) == 2 and np.isfinite(found.avgMetrics).all() and found.avgMetrics[0] != found.avgMetrics[1]
    found.bestModel.save(str(tmp_path / "model"))
    again = PipelineModel.load(str(tmp_path / "model"))
    assert sorted(again.transform(ratings).collect()) == sorted(found.bestModel.transform(ratings).collect())
    knn.save(str(tmp_path / "knn"))
    assert ItemKnn.load(str(tmp_path / "knn")).extractParamMap().keys() == knn.extractParamMap().keys()


@pytest.mark.parametrize("kind", ["long", "text", "double"])
def test_ids_of_other_kinds(ratings, plain, kind):
    change = {"long": lambda c: c.cast("long") * 10**12, "text": lambda c: F.concat(F.lit("ü"), c.cast("string")),
              "double": lambda c: c.cast("double")}[kind]
    other = ratings.select(change(F.col("user")).alias("user"), change(F.col("item")).alias("item"), "rating")
    model = fit(ALS, other)
    expected = {"long": "bigint", "text": "string", "double": "int"}[kind]
    assert dict(model.userFactors.dtypes)["id"] == expected
    # Other ids are numbered otherwise, and start from other numbers.
    assert np.isclose(model.report["objectives"][-1], plain.report["objectives"][-1], rtol=SAME)
    assert model.transform(other).where("isnan(prediction)").count() == 0
    lists = model.recommendForAllUsers(3, seen=other)
    assert lists.count() == model.userFactors.count()
    if kind == "text":
        with pytest.raises(TypeError, match="column 'user' holds numbers, and the model's users are text"):
            model.transform(ratings)
        with pytest.raises(ValueError, match="Spark's ALSModel has int only"):
            model.saveAsSpark("/nonexistent/model")


@pytest.mark.parametrize("kind", ["int", "string"])
def test_model_files(ratings, tmp_path, kind):
    import likewise

    other = ratings.select(F.col("user").cast(kind).alias("user"), F.col("item").cast(kind).alias("item"), "rating")
    model = fit(ALS, other, maxIter=2)
    model.saveAsLikewise(tmp_path / "model")
    alone = likewise.load_model(tmp_path / "model")
    pairs = other.limit(50).collect()
    wanted = {(row["user"], row["item"]): row["prediction"] for row in model.transform(other).collect()}
    predicted = alone.predict([row["user"] for row in pairs], [row["item"] for row in pairs])
    assert np.allclose(predicted, [wanted[row["user"], row["item"]] for row in pairs], atol=1e-5)
    again = ALSModel.fromLikewise(tmp_path / "model")
    assert again.userFactors.dtypes == model.userFactors.dtypes
    found = table(again.itemFactors)
    assert all((found[name] == value).all() for name, value in table(model.itemFactors).items())


def test_model_files_say_how_they_were_trained(plain, ratings, tmp_path):
    wanted = {"feedback": "explicit", "biases": False, "factors": 4, "iterations": 15, "regularization": 0.1,
              "regularization_exponent": 1.0, "seed": 1}
    plain.save(str(tmp_path / "own"))
    for model in (plain, ALSModel.load(str(tmp_path / "own"))):
        model.saveAsLikewise(tmp_path / "model")
        alone = likewise.load_model(tmp_path / "model")
        assert {name: alone.params[name] for name in wanted} == wanted
    plain.saveAsSpark(str(tmp_path / "spark"))
    of_spark = ALSModel.load(str(tmp_path / "spark"))
    with pytest.raises(ValueError, match="does not say how it was trained: pass the ALS .* as estimator"):
        of_spark.saveAsLikewise(tmp_path / "model")
    of_spark.saveAsLikewise(tmp_path / "model", estimator=ALS(implicitPrefs=True, alpha=3.0, maxIter=7))
    ALSModel.fromLikewise(tmp_path / "model").saveAsLikewise(tmp_path / "again")
    params = likewise.load_model(tmp_path / "again").params
    wanted = {"feedback": "implicit", "alpha": 3.0, "regularization_count": "likes", "iterations": 7, "factors": 4}
    assert {name: params[name] for name in wanted} == wanted


def test_items_by_features_come_with_the_file(spark, tmp_path):
    import likewise

    rows = {"user": [user for user in range(20) for _ in range(5)],
            "item": [2 * (at % 10) + user % 2 for user in range(20) for at in range(user, user + 5)]}
    tags = {item: ["odd" if item % 2 else "even"] for item in range(22)}
    alone = likewise.Als(factors=4, iterations=3).fit(rows, item_features=tags).model_
    alone.save(tmp_path / "model")
    found = table(ALSModel.fromLikewise(tmp_path / "model").itemFactors)
    assert len(found) == 22 and set(alone.new_items) == {20, 21}
    assert all((found[item] == alone.item_factors[item]).all() for item in (20, 21))


def test_there_are_no_features_here():
    from likewise.spark import ItemKnn

    for make in (ALS, ItemKnn, ALS().setParams):
        with pytest.raises(TypeError, match="item_features"):
            make(item_features={1: "a"})


def test_nonnegative_factors(ratings, implicit):
    theirs, ours = (fit(of, ratings, implicitPrefs=implicit, alpha=2.0, nonnegative=True) for of in CLASSES)
    for factors in (ours.userFactors, ours.itemFactors):
        assert min(min(vector) for vector in table(factors).values()) == 0
    objectives = [objective_of(model, ratings, implicit, 0.1, 2.0) for model in (theirs, ours)]
    assert objectives[1] < 1.02 * objectives[0]  # of other first factors, on small data


def test_repeated_rows(spark, ratings):
    twice = ratings.unionAll(ratings.where("user < 100").withColumn("rating", F.col("rating") + 1))
    extra = ratings.where("user < 100").count()
    for policy, merged in (("sum", F.sum), ("mean", F.avg)):
        once = twice.groupBy("user", "item").agg(merged("rating").cast("float").alias("rating"))
        models = [fit(ALS, data, maxIter=2, duplicates=policy) for data in (twice, once)]
        assert models[0].report["repeated"] == extra
        assert np.allclose(models[0].report["objectives"], models[1].report["objectives"], rtol=1e-6)
    with pytest.raises(ValueError, match="^user 10 has item 15 2 times: add them up"):
        fit(ALS, twice, duplicates="error", numWorkers=2)


@pytest.mark.parametrize(("params", "message"), [
    ({"rank": 0}, "^rank must be in"),
    ({"regParam": -1.0}, "^regParam must be in"),
    ({"implicitPrefs": True, "unobservedWeight": 1e16}, "^unobservedWeight must be in"),
    ({"device": "gpu"}, 'device must be auto, cpu, .* not "gpu"'),
    ({"device": "cuda:x"}, 'device must be auto, cpu, .* not "cuda:x"'),
    ({"checkpointPath": "cloud://x"}, "checkpointPath: 'cloud://x' is no folder that can be made"),
    ({"checkpointPath": "/dev/null/x"}, "checkpointPath: '/dev/null/x' is no folder that can be made"),
    ({"userCol": "nobody"}, "userCol 'nobody' is not a column; there are user, item, rating"),
    ({"ratingCol": "stars"}, "ratingCol 'stars' is not a column"),
    ({"duplicates": "some"}, "duplicates: 'some' is none of"),
    ({"coldStartStrategy": "warm"}, "coldStartStrategy: 'warm' is none of"),
    ({"solver": "guess"}, "solver"),
    ({"numUserBlocks": 0}, "numUserBlocks must be 1 or more, not 0"),
    ({"numItemBlocks": -1}, "numItemBlocks must be 1 or more, not -1"),
    ({"blockSize": 0}, "blockSize must be 1 or more, not 0"),
    ({"checkpointInterval": 0}, "checkpointInterval must be 1 or more, or -1 for no checkpoints, not 0"),
    ({"checkpointInterval": -5}, "checkpointInterval must be 1 or more, or -1 for no checkpoints, not -5"),
    ({"seed": 2**64}, "seed must be in .-2.63, 2.64., not 18446744073709551616"),
    ({"implicitPrefs": True, "unobservedWeight": -1.0}, "unobservedWeight must be 0 or more, not -1.0"),
    ({"unobservedWeight": 0.5}, "unobservedWeight=0.5 would do nothing: it needs implicitPrefs=True"),
    ({"regularizationCount": "x"}, "regularizationCount: 'x' is none of likes, cells"),
    ({"finalStorageLevel": "CLOUD"}, "finalStorageLevel: 'CLOUD'"),
    ({"numWorkers": 2, "device": "cuda:0"}, "device 'cuda:0': several train on 'cpu', or on 'cuda'"),
])
def test_wrong_parameters_are_told_at_once(ratings, params, message):
    with pytest.raises(ValueError, match=message):
        ALS(**params).fit(ratings)


def test_parameters_of_spark_that_are_taken():
    for params in ({"coldStartStrategy": "DROP"}, {"coldStartStrategy": "NaN"}, {"checkpointInterval": -1}, {"seed": -1}):
        ALS(**params).native_params()


def test_what_is_no_dataframe_of_a_driver_is_told():
    for of in (ALS, ItemKnn):
        with pytest.raises(TypeError, match="a DataFrame of Spark is needed, not dict"):
            of()._fit({})
        with pytest.raises(TypeError, match="this DataFrame is one of Spark Connect"):
            of()._fit(types.SimpleNamespace(sparkSession=None))


def test_wrong_data_is_told_in_one_sentence(spark, ratings):
    def frame(rows, schema="user int, item int, rating float"):
        return spark.createDataFrame(rows, schema)

    with pytest.raises(ValueError, match="column 'user' has 2 rows without an id"):
        fit(ALS, ratings.unionAll(frame([(None, 1, 1.0), (None, 2, 1.0)])))
    with pytest.raises(ValueError, match="column 'user' has 2 rows without an id"):
        fit(ALS, ratings.unionAll(frame([(None, 1, 1.0), (None, 2, 1.0)])), numWorkers=2)
    with pytest.raises(ValueError, match="column 'item' has 1 rows without an id"):
        fit(ALS, frame([(1, 1.5, 1.0), (1, 2.0, 1.0)], "user int, item double, rating float"))
    for workers in (0, 2):
        with pytest.raises(ValueError, match="there are no ratings to train on"):
            fit(ALS, ratings.where("user < 0"), numWorkers=workers)
    with pytest.raises(ValueError, match="^the value nan of user 1, item 1 is no finite number"):
        fit(ALS, ratings.unionAll(frame([(1, 1, float("nan"))])), numWorkers=2)
    for workers in (1, 2):
        with pytest.raises(ValueError, match="column 'rating' has 1 rows without a value .null."):
            fit(ALS, ratings.unionAll(frame([(1, 1, None)])), numWorkers=workers)
    with pytest.raises(TypeError, match="ids are numbers without a fraction, or text"):
        fit(ALS, ratings.select(F.current_date().alias("user"), "item", "rating"))
    with pytest.raises(TypeError, match="ratingCol 'rating' holds string"):
        fit(ALS, ratings.withColumn("rating", F.lit("good")))
    with pytest.raises(ValueError, match="numWorkers=2, but column 'user' has 1 ids"):
        fit(ALS, frame([(1, 1, 1.0), (1, 2, 1.0)]), numWorkers=2)


def test_a_table_without_values_counts_rows(ratings):
    models = [fit(ALS, data, implicitPrefs=True, ratingCol=name, maxIter=2)
              for data, name in ((ratings, ""), (ratings.withColumn("one", F.lit(1)), "one"))]
    assert models[0].report["objectives"] == models[1].report["objectives"]


def test_parts_are_whole_and_balanced():
    draw = np.random.default_rng(3)
    sizes = draw.integers(0, 40, 1024)
    costs = sizes * draw.integers(1, 30, 1024)
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    side = prepare.Side("user", None, [], firsts, costs, int(costs.sum()))
    for ranks in (1, 2, 3, 7, 64):
        parts = side.parts(ranks)
        assert len(parts) == ranks + 1 and parts[0] == 0 and parts[-1] == firsts[-1] == side.rows
        assert (np.diff(parts) >= 0).all()
        bounds = np.searchsorted(firsts, parts)
        loads = [costs[a:b].sum() for a, b in zip(bounds, bounds[1:])]
        assert max(loads) <= costs.sum() / ranks + 2 * costs.max()


# On real data, where there are some.

@pytest.fixture(scope="module")
def million(spark):
    return movielens.load(spark)


def fit_of_spark(data, case):
    """As recorded; with LIKEWISE_SPARK_LIVE Spark's class trains too, which takes most of the time."""
    recorded = movielens.golden(case)
    if "LIKEWISE_SPARK_LIVE" not in os.environ:
        return recorded
    live = movielens.fitted(movielens.fit(SparkALS, data, case), data, case)
    assert live == pytest.approx(recorded, rel=1e-4)
    return live


@pytest.mark.parametrize("case", movielens.CASES)
def test_the_objective_on_ml_1m_is_that_of_spark(million, case):
    theirs = fit_of_spark(million, case)
    model = movielens.fit(ALS, million, case, numWorkers=2)
    ours = movielens.fitted(model, million, case)
    assert np.isclose(ours["objective"], model.report["objectives"][-1], rtol=1e-4)
    assert ours["objective"] <= 1.005 * theirs["objective"]
    assert np.isclose(ours["rmse"], theirs["rmse"], rtol=0.005)
