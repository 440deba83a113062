# SPDX-License-Identifier: Apache-2.0
"""Broken inputs, full disks and interrupts: one clear line, and no half-written files."""
import os
import signal
import subprocess
import time

import pytest


def test_missing_files(program, cinema):
    assert "none.csv" in program("train", "none.csv", "-o", "m", exit_code=1).stderr
    assert "none.model" in program("recommend", "none.model", "--all", exit_code=1).stderr
    program("info", "none", exit_code=1)
    program("recommend", cinema / "model.safetensors", "--users", "none.txt", exit_code=1)


def test_a_bad_row_is_named_by_file_line_and_value(program, tmp_path):
    (tmp_path / "bad.csv").write_text("user,item,value\na,x,1\nb,y,two\n")
    stderr = program("train", "bad.csv", "-o", "m", exit_code=1).stderr
    assert "bad.csv:3" in stderr and "two" in stderr
    done = program("train", "bad.csv", "-o", "m", "--on-bad-row", "skip", "--factors", 2)
    assert "1 bad row skipped" in done.stderr


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"not a model", b"\x40" + b"\0" * 7 + b"{" * 50])
def test_a_broken_model_is_refused(program, tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    assert "m" in program("recommend", "m", "--all", exit_code=1).stderr


def test_a_file_of_the_other_kind_is_named(program, cinema):
    ratings, model = cinema / "ratings.csv", cinema / "model.safetensors"
    for verb in (["recommend", ratings, "--all"], ["evaluate", ratings, model], ["similar", ratings, "--item", 1]):
        stderr = program(*verb, exit_code=1).stderr
        assert "it is text, not a model; a file of interactions is read by `likewise train`" in stderr
    stderr = program("train", model, "-o", "x", exit_code=1).stderr
    assert "such as a model, not text; a model is read by `likewise info`" in stderr


def test_a_length_in_the_name_of_a_metric_is_an_option_of_its_own(program, cinema):
    model, test = cinema / "model.safetensors", cinema / "parts/test.csv"
    stderr = program("evaluate", model, test, "--metrics", "recall,ndcg@5", exit_code=2).stderr
    assert 'metric "ndcg@5": the length of lists is said apart, by -k 5 and --metrics ndcg' in stderr
    assert 'unknown metric "ndgc"' in program("evaluate", model, test, "--metrics", "ndgc@5", exit_code=2).stderr


def test_unknown_ids_are_named(program, cinema, tmp_path):
    model = cinema / "model.safetensors"
    stderr = program("recommend", model, "--user", "1", "--user", "nobody", exit_code=1).stderr
    assert "user 'nobody' is not in the model" in stderr
    assert "item 'x'" in program("similar", model, "--item", "x", exit_code=1).stderr
    assert "item 'x'" in program("recommend", model, "--likes", "1,x", exit_code=1).stderr
    (tmp_path / "users.txt").write_text("1\n\nnobody\n")
    stderr = program("recommend", model, "--users", "users.txt", exit_code=1).stderr
    assert "users.txt:3: user 'nobody'" in stderr
    (tmp_path / "empty.txt").write_text("\n")
    assert "one per line" in program("recommend", model, "--users", "empty.txt", exit_code=1).stderr


def test_a_failed_verb_leaves_no_output(program, cinema, tmp_path):
    program("recommend", cinema / "model.safetensors", "--user", "nobody", "-o", "r.csv", exit_code=1)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_output_folder_is_found_before_the_work(program, cinema):
    stderr = program("train", cinema / "ratings.csv", "-o", "no/such/m", exit_code=1).stderr
    assert "no/such" in stderr and "iteration" not in stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_an_error(program, cinema):
    model = cinema / "model.safetensors"
    for verb in (["recommend", model, "--all"], ["info", model], ["train", "--help"],
                 ["evaluate", model, cinema / "parts/test.csv"]):
        with open("/dev/full", "w") as full:
            done = program.start(*verb, stdout=full, stderr=subprocess.PIPE, text=True)
            _, stderr = done.communicate(timeout=60)
        assert done.returncode == 1 and "No space left" in stderr


def test_a_closed_pipe_ends_quietly(program, cinema):
    process = program.start("recommend", cinema / "model.safetensors", "--all", "-n", 80, "--quiet",
                            "--include-seen", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) in (0, -signal.SIGPIPE)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_training_leaves_no_file(program, cinema, tmp_path, which):
    process = program.start("train", cinema / "ratings.csv", "-o", "m", "--iterations", 1_000_000,
                            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for line in process.stderr:
        if line.startswith("iteration"):
            break
    time.sleep(0.05)
    process.send_signal(which)
    stderr = process.stderr.read()
    assert process.wait(timeout=60) == 1
    assert "interrupted" in stderr
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_training_keeps_its_checkpoint(program, cinema, tmp_path):
    process = program.start("train", cinema / "ratings.csv", "-o", "m", "--iterations", 1_000_000,
                            "--factors", 8, "--checkpoint", "state",
                            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for _ in range(600):
        if (tmp_path / "state").exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert "state" in process.stderr.read().splitlines()[-1]
    assert process.wait(timeout=60) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["state"]
    program("recommend", "state", "--user", 1)


@pytest.mark.parametrize("device,precision", [("cpu", "tf32"), ("cpu", "bf16"), ("reference", "fp16")])
def test_what_the_device_cannot_do_is_found_before_reading(program, device, precision):
    # The file is not there, which reading would be the first to say.
    stderr = program("train", "none.csv", "-o", "m", "--device", device, "--precision", precision,
                     exit_code=2).stderr
    assert "precision" in stderr and "fp32" in stderr and device in stderr
    assert "none.csv" in program("train", "none.csv", "-o", "m", "--device", device, "--precision",
                                 "fp32", exit_code=1).stderr


def test_an_unknown_device_is_refused(program, cinema):
    stderr = program("recommend", cinema / "model.safetensors", "--all", "--device", "tpu",
                     exit_code=2).stderr
    assert "tpu" in stderr and "reference" in stderr


def test_report_escapes_ids(program, tmp_path):
    lines = ["user,item"]
    for u in range(30):
        lines += [f"<script>alert({u})</script>,<b>&\"{i}" for i in range(u % 3, 8, 2)]
    (tmp_path / "evil.csv").write_text("\n".join(lines).replace('"', "'") + "\n")
    program("train", "evil.csv", "-o", "m", "--factors", 4, "--report", "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.count("<script") == 1 and "<script>alert" not in page and "<b>&'" not in page
    assert "&lt;script&gt;alert(" in page and "&lt;b&gt;&amp;" in page
    assert "http://" not in page and "https://" not in page
