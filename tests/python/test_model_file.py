# SPDX-License-Identifier: Apache-2.0
"""Model files as other programs see them: through the safetensors package.

Models come from the program named by LIKEWISE_CLI, and from the folder named by LIKEWISE_MODELS
(`LIKEWISE_KEEP_MODELS=FOLDER unit_tests` fills one).
"""

import json
import os
import pathlib
import struct
import subprocess

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

RATINGS = """user,item,value
ann,apple,5
ann,pear,3
ben,apple,4
ben,quince,1
zoe,pear,2
zoe,quince,4
zoe,apple,5
"""

TITLES = "id,title\napple,The Apple\nquince,Quitte \u00e4\n"

TRAININGS = {
    "titled": ["--factors", "2", "--iterations", "1", "--titles", "titles.csv"],
    "implicit": ["--factors", "7", "--iterations", "2"],
    "in_place": ["--factors", "16", "--iterations", "2"],
    "explicit": ["--feedback", "explicit", "--factors", "3", "--iterations", "2"],
    "popular": ["--algorithm", "popular"],
    "bias": ["--algorithm", "bias"],
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    found = []
    if "LIKEWISE_MODELS" in os.environ:
        found += sorted(pathlib.Path(os.environ["LIKEWISE_MODELS"]).glob("*.safetensors"))
    if "LIKEWISE_CLI" in os.environ:
        found += train_some(os.environ["LIKEWISE_CLI"], tmp_path_factory.mktemp("models"))
    if not found:
        pytest.skip("no models: set LIKEWISE_CLI to the program or LIKEWISE_MODELS to a folder")
    return found


def train_some(program, folder):
    ratings = folder / "ratings.csv"
    ratings.write_text(RATINGS)
    (folder / "titles.csv").write_text(TITLES, encoding="utf-8")
    made = []
    for name, options in TRAININGS.items():
        path = folder / f"{name}.safetensors"
        command = [program, "train", str(ratings), "-o", str(path), *options]
        subprocess.run(command, check=True, capture_output=True, timeout=120, cwd=folder)
        made.append(path)
    return made


def metadata_of(path):
    with safe_open(path, "numpy") as file:
        return file.metadata()


def ids(tensors, metadata, side):
    """The reading recipe of docs/reference/model-format.md."""
    kind = metadata[side + "_ids"]
    if kind == "range":
        return range(len(tensors[side + "_factors"]))
    if kind == "integers":
        return tensors[side + "_ids"]
    chars, at = tensors[side + "_ids.chars"].tobytes(), tensors[side + "_ids.offsets"]
    return [chars[a:b] for a, b in zip(at, at[1:])]


def titles(tensors):
    """The reading recipe of docs/reference/model-format.md."""
    if "item_titles.offsets" not in tensors:
        return {}
    chars, at = tensors["item_titles.chars"].tobytes(), tensors["item_titles.offsets"]
    return {i: chars[a:b].decode() for i, (a, b) in enumerate(zip(at, at[1:])) if a < b}


def test_titles_are_where_they_were_asked_for(models):
    for path in models:
        tensors = load_file(path)
        if "item_titles.offsets" in tensors:
            assert len(tensors["item_titles.offsets"]) == len(tensors["item_factors"]) + 1
        if path.stem == "titled":
            names = [name.decode() for name in ids(tensors, metadata_of(path), "item")]
            assert {names[i]: title for i, title in titles(tensors).items()} == {
                "apple": "The Apple", "quince": "Quitte \u00e4"}
        if path.stem in ("implicit", "popular"):
            assert not titles(tensors)


def test_shapes_and_types(models):
    for path in models:
        tensors, metadata = load_file(path), metadata_of(path)
        users, items = tensors["user_factors"], tensors["item_factors"]
        expected = {
            "user_factors": (np.float32, (len(users), users.shape[1])),
            "item_factors": (np.float32, (len(items), users.shape[1])),
            "user_bias": (np.float32, (len(users),)),
            "item_bias": (np.float32, (len(items),)),
            "history.offsets": (np.int64, (len(users) + 1,)),
            "history.columns": (np.int32, (tensors["history.offsets"][-1],)),
            "history.values": (np.float32, (tensors["history.offsets"][-1],)),
        }
        for name, (dtype, shape) in expected.items():
            if name not in tensors:
                assert name in ("user_bias", "item_bias"), f"{path.name}: {name}"
                continue
            assert tensors[name].dtype == dtype, f"{path.name}: {name}"
            assert tensors[name].shape == shape, f"{path.name}: {name}"
        assert metadata["format"] == "likewise-model"
        if metadata["algorithm"] == "als":
            assert json.loads(metadata["parameters"])["factors"] == users.shape[1]
        else:
            assert users.shape[1] == 0 and ("item_bias" in tensors or len(items) == 0)


def test_ids_are_sorted_and_complete(models):
    for path in models:
        tensors, metadata = load_file(path), metadata_of(path)
        for side in ("user", "item"):
            names = list(ids(tensors, metadata, side))
            assert len(names) == len(tensors[side + "_factors"]), path.name
            assert all(a < b for a, b in zip(names, names[1:])), path.name


def test_tensors_are_aligned_and_fillers_are_zero(models):
    for path in models:
        raw = path.read_bytes()
        (length,) = struct.unpack_from("<Q", raw)
        assert (8 + length) % 64 == 0
        header = json.loads(raw[8 : 8 + length])
        for name, tensor in header.items():
            if name == "__metadata__":
                continue
            begin, end = tensor["data_offsets"]
            if name.startswith("_pad."):
                assert end - begin < 64 and not any(raw[8 + length + begin : 8 + length + end])
            else:
                assert (8 + length + begin) % 64 == 0, f"{path.name}: {name}"


def test_history_is_sorted_within_each_user(models):
    for path in models:
        tensors = load_file(path)
        at, columns = tensors["history.offsets"], tensors["history.columns"]
        assert at[0] == 0 and (np.diff(at) >= 0).all()
        for begin, end in zip(at, at[1:]):
            row = columns[begin:end]
            assert (np.diff(row) > 0).all(), path.name
            assert len(row) == 0 or (row[0] >= 0 and row[-1] < len(tensors["item_factors"]))


def test_checksum(models):
    xxhash = pytest.importorskip("xxhash")
    for path in models:
        raw, stated = path.read_bytes(), metadata_of(path)["checksum"].encode()
        assert raw.count(stated) == 1
        zeroed = raw.replace(stated, b"0" * 32, 1)
        assert xxhash.xxh3_128_hexdigest(zeroed).encode() == stated, path.name
