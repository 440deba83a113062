# SPDX-License-Identifier: Apache-2.0
"""/openapi.json drives a property-based fuzzer, Schemathesis: every answer has a status, a type and a body of the document,
and what the document does not allow is refused. LIKEWISE_EXAMPLES says how many requests of each operation; with it
the edges of all schemas are tried, too."""
import os
import subprocess
import sys

import pytest

from test_serve import serve  # noqa: F401 (a fixture)

pytest.importorskip("schemathesis", reason="scripts/setup installs Schemathesis")

EXAMPLES = os.environ.get("LIKEWISE_EXAMPLES")
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
          "response_headers_conformance", "negative_data_rejection", "unsupported_method"]
# What is too large is refused by a status of its own.
CONFIG = """
[checks.negative_data_rejection]
expected-statuses = [400, 404, 405, 413, 414, 415, 431]
"""


def test_the_document_drives_a_fuzzer(serve, tmp_path):  # noqa: F811
    server = serve("--events", tmp_path / "events")
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    phases = "coverage,fuzzing" if EXAMPLES else "fuzzing"
    fuzzer = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"]
    done = subprocess.run(
        [*fuzzer, "--config-file", tmp_path / "schemathesis.toml", "run", f"http://127.0.0.1:{server.port}/openapi.json",
         "--checks", ",".join(CHECKS), "--phases", phases, "--max-examples", EXAMPLES or "6", "--seed", "1", "--no-color",
         "--generation-database", "none", "--warnings", "off"], cwd=tmp_path, capture_output=True, text=True)
    told = "\n".join(line[:300] for line in done.stdout.splitlines())
    assert done.returncode == 0, f"{told}\n{done.stderr}"
    assert server.get("/healthz")[0] == 200
    assert server.metric('likewise_requests_total{operation="recommend",status="200"}') > 0
