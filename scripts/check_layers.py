#!/usr/bin/env python3
"""Checks what the linker cannot: check_layers.py ROOT LAYERS_FILE

Every #include of src/ against the layers' list that CMake wrote (name|uses|links, lowest first), every
third-party header against the libraries a layer declares, and a few house rules that a reader would
otherwise have to watch. Prints one line a fault; exit code 1 if there is any.
"""

import pathlib
import re
import sys

MAX_LINES = 400
MAX_COLUMNS = 120  # we aim at 100; past this a line no longer fits beside another window
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')

# Header prefix -> the libraries any of which covers it. First match wins.
LIBRARIES = [
    ("boost/json", ["Boost::json"]),
    ("boost/", ["Boost::headers", "Boost::json"]),
    ("openssl/", ["OpenSSL::Crypto", "OpenSSL::SSL"]),
    ("spdlog/", ["spdlog::spdlog"]),
    ("fmt/", ["fmt::fmt", "spdlog::spdlog"]),
    ("CLI/", ["CLI11::CLI11"]),
    ("toml++/", ["tomlplusplus::tomlplusplus"]),
    ("xxhash", ["PkgConfig::xxhash"]),
    ("pcre2", ["PkgConfig::pcre2"]),
    ("histedit", ["PkgConfig::edit"]),
]

# What no code of src/ may say, each with the reason.
BANNED = [
    (re.compile(r"\busing namespace (?!paternoster|std::\w*literals)"), "names say where they come from"),
    (re.compile(r"(?<![\w:.>])(s?rand|strtok|sprintf|strcpy|strcat|gets|atoi|atof)\s*\("),
     "unsafe or unseeded: use base/random.h, std::from_chars, std::format's kin"),
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "finish it or file it"),
    (re.compile(r"-ffast-math|fast-math\b.*pragma|#pragma\s+STDC\s+FP_CONTRACT\s+ON"),
     "would break bit-for-bit invariance"),
]


def read_layers(text):
    layers = {}
    for line in text.splitlines():
        name, uses, links = line.split("|")
        layers[name] = (set(filter(None, uses.split(";"))), set(filter(None, links.split(";"))))
    return layers


def include_fault(root, layers, layer, bracket, target, testing):
    uses, links = layers[layer]
    if bracket == '"':
        if not (root / "src" / target).is_file():
            return f'includes "{target}", which is not written from the root of src/'
        other = target.split("/")[0]
        if other != layer and other in layers and other not in uses:
            return f'includes "{target}", but {layer} does not use {other}'
        return None
    for prefix, libraries in LIBRARIES:
        if target.startswith(prefix):
            if testing or links & set(libraries):
                return None
            return f"includes <{target}>, but {layer} does not link {libraries[0]}"
    return None


def line_faults(path, lines):
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS and 'R"(' not in line:  # wire text stays in one piece
            yield f"{path}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
        for expression, reason in BANNED:
            if expression.search(line):
                yield f"{path}:{number}: banned ({reason}): {line.strip()}"


def file_faults(root, layers, file):
    path = file.relative_to(root)
    lines = file.read_text(encoding="utf-8").splitlines()
    layer = path.parts[1] if len(path.parts) > 2 else None
    testing = file.stem.endswith(("_test", "_fuzz", "_bench"))
    if len(lines) > MAX_LINES:
        yield f"{path}: {len(lines)} lines, at most {MAX_LINES}"
    if file.suffix == ".h":
        if any(line.startswith("using namespace") for line in lines):
            yield f"{path}: a header opens no namespace for its readers"
        if not lines or not lines[0].startswith("// "):
            yield f"{path}: a header opens with prose: what it is, what holds, who may call it"
        if not any(line.startswith("#pragma once") for line in lines):
            yield f"{path}: no #pragma once"
    yield from line_faults(path, lines)
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if found and layer in layers:
            fault = include_fault(root, layers, layer, *found.groups(), testing)
            if fault:
                yield f"{path}:{number}: {fault}"


def file_local_names(lines):
    """The names that a file's unnamed namespaces declare at their top, as (line number, name)."""
    inside = False
    for number, line in enumerate(lines, 1):
        if line.startswith("namespace {"):
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside and re.match(r"[A-Za-z]", line) and not re.match(r"using |namespace |template|[A-Z_]+\(", line):
            head = re.split(r"[(;{\[]| =| : |\s+final\b", re.sub(r"alignas\(\w+\)", "", line))[0]
            name = re.search(r"(\w+)(<[^()]*>)?$", head.strip())
            if name:
                yield number, name.group(1)


def repeated_names(root, layer):
    """The sanitizers' builds compile a layer's files together: names of one file must not meet another's."""
    for testing in (False, True):
        first = {}
        for file in sorted((root / "src" / layer).rglob("*.cc")):
            if file.stem.endswith(("_fuzz", "_bench")) or file.stem.endswith("_test") != testing:
                continue
            path = file.relative_to(root)
            for number, name in file_local_names(file.read_text(encoding="utf-8").splitlines()):
                if first.setdefault(name, path) != path:
                    yield f"{path}:{number}: {name} is also local to {first[name]}: share it or rename it"


def faults(root, layers):
    found = []
    for file in sorted((root / "src").rglob("*")):
        if file.suffix in (".h", ".cc", ".inl"):
            found.extend(file_faults(root, layers, file))
    for layer in layers:
        found.extend(repeated_names(root, layer))
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    found = faults(root, read_layers(pathlib.Path(sys.argv[2]).read_text()))
    for fault in found:
        print(fault)
    print(f"{len(found)} faults" if found else "every include points down")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
