"""Runs the notebooks of docs/notebooks and stores what they show in them.

    . .venv/bin/activate && pip install nbclient ipykernel matplotlib '.[arrow,dask]'
    python python/notebooks.py [NAME ...]

Times, numbers of executions, progress and warnings are left out, so that a notebook changes where its results do.
"""

import os
import sys
from pathlib import Path

import nbclient
import nbformat

BOOKS = Path(__file__).parents[1] / "docs/notebooks"


def stored(path):
    """The notebook with its outputs."""
    book = nbformat.read(path, 4)
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(path.parent)}}, record_timing=False).execute()
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [output for output in cell.outputs if output.output_type != "stream" or output.name != "stderr"]
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
    return book


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(BOOKS.parents[1] / "python"), os.environ.get("PYTHONPATH", "")])
    for name in sys.argv[1:] or sorted(path.name for path in BOOKS.glob("*.ipynb")):
        nbformat.write(stored(BOOKS / name), BOOKS / name)
