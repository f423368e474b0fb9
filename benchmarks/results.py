"""How every benchmark keeps what it found: printed, and in benchmarks/results/ with machine and commit."""

import datetime
import json
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), platform.machine())
    flags = next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "").split()
    sets = [name for name in ("avx2", "f16c", "avx_vnni", "avx512_vnni", "avx512_bf16", "amx_int8")
            if name in flags]
    return f"{cpu}, {os.cpu_count()} processors, {' '.join(sets)}"


def commit():
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def keep(name, head, table, samples):
    """Writes NAME.md and NAME.json (samples: {(row...): {engine: [values]}}) and prints the first."""
    text = f"{head}\n{machine()}; load {os.getloadavg()[0]:.1f}; commit {commit()}.\n\n{table}\n"
    print(text)
    folder = ROOT / "benchmarks/results"
    folder.mkdir(exist_ok=True)
    stem = f"{datetime.datetime.now():%Y-%m-%d}-{commit()}-{name}"
    (folder / f"{stem}.md").write_text(text)
    raw = [{"row": row, "samples": by_name} for row, by_name in samples.items()]
    (folder / f"{stem}.json").write_text(json.dumps({"head": head, "raw": raw}, indent=1) + "\n")
