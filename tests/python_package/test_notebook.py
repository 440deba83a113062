# SPDX-License-Identifier: Apache-2.0
"""The notebook of examples/python, cell by cell, in a kernel as a notebook has it."""
import pytest

from conftest import ROOT

NOTEBOOK = ROOT / "examples/python/tour.ipynb"


def test_its_file_has_no_outputs():
    nbformat = pytest.importorskip("nbformat", reason="no nbformat: scripts/setup installs it")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) == 40 and not any(cell.outputs or cell.execution_count for cell in code)


def wrong_of(cell):
    """Errors, and whatever goes to standard error: warnings do."""
    for output in cell.outputs:
        if output.output_type == "error":
            yield f"{output.ename}: {output.evalue}"
        if output.output_type == "stream" and output.name == "stderr":
            yield output.text


def shown_by(cell):
    return {kind for output in cell.outputs for kind in output.get("data", {})}


def test_every_cell_runs_without_an_error_or_a_warning(real_data, monkeypatch):
    for needed in ("nbformat", "nbclient", "ipykernel", "matplotlib", "sklearn", "pandas", "polars", "pyarrow", "scipy"):
        pytest.importorskip(needed, reason=f"no {needed}: scripts/setup installs it")
    import nbclient
    import nbformat
    monkeypatch.setenv("LIKEWISE_DATA", str(real_data))
    monkeypatch.setenv("PYTHONWARNINGS", "default")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    wrong = [f"{cell.source}\n--> {text}" for cell in code for text in wrong_of(cell)]
    assert not wrong, "\n\n".join(wrong)
    shown = {cell.source.splitlines()[-1]: shown_by(cell) for cell in code}
    for last in ("ratings", "als", "lists", "model", "search", "model.report()"):
        assert "text/html" in shown[last], last
    assert "image/png" in shown["figure.tight_layout()"]
    bar = [output for cell in code if "progress=True" in cell.source for output in cell.outputs]
    assert any("<progress" in output.get("data", {}).get("text/html", "") for output in bar)
