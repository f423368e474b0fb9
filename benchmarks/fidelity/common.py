"""What the fidelity commands share: the binary, one simulation, one table."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def binary():
    for path in (os.environ.get("PATERNOSTER"), ROOT / "build/release/paternoster", ROOT / "build/dev/paternoster"):
        if path and pathlib.Path(path).exists():
            return str(path)
    sys.exit("no paternoster: build it, or say where it is in PATERNOSTER")


def run(*arguments):
    done = subprocess.run([binary(), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"paternoster {' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def simulate(*arguments):
    """One simulation's JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "summary.json"
        run("simulate", "--no-bands", "--json", path, *arguments)
        return json.loads(path.read_text().splitlines()[0])


def table(head, rows):
    widths = [max(len(str(row[at])) for row in [head, *rows]) for at in range(len(head))]
    print("| " + " | ".join(str(word).ljust(width) for word, width in zip(head, widths)) + " |")
    print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for row in rows:
        print("| " + " | ".join(str(word).ljust(width) for word, width in zip(row, widths)) + " |")
