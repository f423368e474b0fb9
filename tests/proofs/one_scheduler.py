#!/usr/bin/env python3
"""Proves by symbols that the simulator decides with the engine's scheduler and with nothing of its own.

    one_scheduler.py libscheduler.a libengine.a libsimulator.a

Prints the scheduler's symbols that both drivers use. Fails if a driver does not use one of the verbs, or defines a function
in the scheduler's namespace itself (inline ones of headers are weak symbols, and the same for both).
"""

import subprocess
import sys

VERBS = ["create", "submit", "cancel", "plan", "commit"]
PREFIX = "paternoster::scheduler::"


def symbols(archive, kinds):
    text = subprocess.run(["nm", "-C", archive], check=True, capture_output=True, text=True).stdout
    found = set()
    for line in text.splitlines():
        parts = line.strip().split(" ", 2)
        if len(parts) == 3 and len(parts[0]) == 16:
            kind, name = parts[1], parts[2]
        elif len(parts) >= 2 and len(parts[0]) == 1:
            kind, name = parts[0], " ".join(parts[1:])
        else:
            continue
        if kind in kinds and name.startswith(PREFIX):
            found.add(name)
    return found


def verb_of(symbol):
    name = symbol[len(PREFIX):]
    return name[len("Scheduler::"):].split("(")[0] if name.startswith("Scheduler::") else None


def main():
    scheduler, engine, simulator = sys.argv[1:4]
    defined = symbols(scheduler, "T")
    used = {archive: symbols(archive, "U") for archive in (engine, simulator)}
    both = sorted(used[engine] & used[simulator] & defined)
    print("\n".join(both))
    faults = []
    for archive, names in used.items():
        verbs = {verb_of(name) for name in names}
        faults += [f"{archive} does not use Scheduler::{verb}" for verb in VERBS if verb not in verbs]
        faults += [f"{archive} defines {name} itself" for name in sorted(symbols(archive, "T"))]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
