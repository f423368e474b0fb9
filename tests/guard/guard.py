"""guard.py GUARD [--record]: instructions that each piece of work takes, against those in instructions.json.

Counted by valgrind as the difference between six repeats and two, so that setting up does not count. More than
3 per cent above what is recorded fails; --record writes what was counted. Skipped (77) without valgrind, and
where another compiler made the program.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

RECORD = pathlib.Path(__file__).parent / "instructions.json"
TOLERANCE = 0.03
FEW, MANY = 2, 6


def compiler():
    return subprocess.run(["c++", "--version"], capture_output=True, text=True).stdout.splitlines()[0]


def instructions(guard, name, repeats):
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", guard,
                           name, str(repeats)], capture_output=True, text=True, check=True)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr).group(1).replace(",", ""))


def main():
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: nothing counted")
        return 77
    guard = sys.argv[1]
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {"compiler": "", "instructions": {}}
    record = "--record" in sys.argv
    if not record and recorded["compiler"] != compiler():
        print(f"recorded with {recorded['compiler']}, this is {compiler()}: not compared")
        return 77
    counted, worse = {}, []
    for name in subprocess.run([guard], capture_output=True, text=True, check=True).stdout.splitlines():
        counted[name] = (instructions(guard, name, MANY) - instructions(guard, name, FEW)) // (MANY - FEW)
        before = recorded["instructions"].get(name)
        change = f"{counted[name] / before - 1:+.1%}" if before else "new"
        print(f"{name:32} {counted[name]:>12} {change}", flush=True)
        if before and counted[name] > before * (1 + TOLERANCE):
            worse.append(name)
    if record:
        RECORD.write_text(json.dumps({"compiler": compiler(), "instructions": counted}, indent=1) + "\n")
        return 0
    if worse:
        print("more instructions than recorded: " + ", ".join(worse) + " (make bench-guard ARGS=--record to accept)")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
