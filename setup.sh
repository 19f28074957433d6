#!/usr/bin/env bash
# Sets up and does one of three things, on Debian 12 or 13, as root or with sudo; harmless the second time.
#   ./setup.sh build             builds the program, build/release/dsgd
#   ./setup.sh headline          builds, runs the headline comparison and draws its figures
#   ./setup.sh test [PRESET...]  builds and passes the tests of release-core and asan-core, or of the test presets named;
#                                "all" also those of release-rest and asan-rest
set -euo pipefail
cd "$(dirname "$0")"

packages=(gcc g++ cmake ninja-build pkg-config libsimgrid-dev libboost-context-dev libgsl-dev librandom123-dev
          libfyaml-dev libjansson-dev libexpat1-dev python3 zlib1g-dev libjemalloc-dev
          check gnuplot-nox fonts-dejavu-core dataset-fashion-mnist)

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

build() { # PRESET [OPTION...]
    cmake --preset "$1"
    cmake --build --preset "$@"
}

# The tests of a test preset, ctest's summary, and the sum of Check's.
pass() {
    ctest --preset "$1" -j "$(nproc)" --stop-on-failure
    awk -F '[ ,]' '/^[0-9]+%: Checks: [0-9]/ {suites++; checks += $3; failures += $6; errors += $9}
        END {printf "%s, Check in %d suites: Checks: %d, Failures: %d, Errors: %d\n", preset, suites, checks, failures, errors}' \
        preset="$1" "build/${1%%-*}/Testing/Temporary/LastTest.log"
}

case "${1:-}" in
build)
    install_missing
    build release --target dsgd
    ;;
headline)
    install_missing
    build release
    build/release/dsgd run plots/headline/headline.yaml -o results/headline --force -j "$(nproc)"
    build/release/dsgd plot results/headline
    echo "results: $PWD/results/headline    figures: $PWD/results/headline/figures"
    ;;
test)
    shift
    [ $# -gt 0 ] || set -- release-core asan-core
    [ "$*" != all ] || set -- release-core asan-core release-rest asan-rest
    install_missing
    for preset in "$@"; do
        build "${preset%%-*}"
        pass "$preset"
    done
    ;;
*)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
