#!/usr/bin/env bash
# Sets up and does one of two things, on Debian 12 or 13, as root or with sudo; harmless the second time.
#   ./setup.sh headline          builds, runs the headline comparison and draws its figures
#   ./setup.sh test [PRESET...]  builds and passes the tests: dev, asan, release and long, or only those named
set -euo pipefail
cd "$(dirname "$0")"

packages=(gcc g++ cmake ninja-build pkg-config libsimgrid-dev libboost-context-dev libgsl-dev librandom123-dev libfyaml-dev
          libjansson-dev zlib1g-dev libopenblas-dev libjemalloc-dev check gnuplot-nox fonts-dejavu-core dataset-fashion-mnist)

install_missing() {
    local missing=()
    for package in "${packages[@]}"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    echo "installing: ${missing[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

build() {
    cmake --preset "$1"
    cmake --build --preset "$1"
}

case "${1:-}" in
headline)
    install_missing
    build release
    build/release/dsgd run plots/headline/headline.yaml -o results/headline --force -j "$(nproc)"
    build/release/dsgd plot results/headline
    echo "results: $PWD/results/headline    figures: $PWD/results/headline/figures"
    ;;
test)
    shift
    [ $# -gt 0 ] || set -- dev asan release long
    install_missing
    for preset in "$@"; do
        build "$preset"
        ctest --preset "$preset" -j "$(nproc)"
    done
    ;;
*)
    sed -n '2,4s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
