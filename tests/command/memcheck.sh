#!/usr/bin/env bash
# No run reads what was not written, or loses memory: small runs of several kinds of algorithms, under Valgrind.
#   memcheck.sh BUILD
# 77: skipped, with the reason.
set -euo pipefail
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
DSGD_DATA=$(cd "$here/../.." && pwd)
export DSGD_DATA
command -v valgrind >/dev/null || {
    echo "skipped: there is no valgrind"
    exit 77
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# --max-stackframe: actors' stacks are 128 KiB, and a longer way between two of their frames is a switch. Each process has a log:
# the exit status is that of the first one alone, and each run is a process of its own.
checked() {
    local status=0
    echo "$*"
    valgrind --quiet --tool=memcheck --leak-check=full --error-exitcode=99 --max-stackframe=60000 --num-callers=30 \
        --suppressions="$here/memcheck.supp" --log-file="$folder/log.%p" "$@" >out 2>&1 || status=$?
    grep -v 'Warning: client switching stacks\|to suppress, use: --max-stackframe\|further instances of this message' log.* >found || true
    if [ $status -ne 0 ] || [ -s found ]; then
        cat out found
        echo "exit status $status"
        exit 1
    fi
    rm -f log.*
}

cat >e.yaml <<END
platform: idle-switch
workload: {bytes: 1M, step: 100ms, samples: 8}
workers: 4
algorithms: [allreduce, eager_solo, {name: wagma, period: 4}, a_psgd, power_sgd, choco]
until: {steps: 4}
imbalance: [{kind: delay, seconds: 50ms}]
exchange: {pieces: 2}
learn:
  model: mlp
  data: {name: sequences}
  optimizer: {lr: 0.05, momentum: 0.9}
  evaluate: {every: 2}
END
checked "$build/dsgd" run e.yaml -o computed -j 1 --threads 2 --progress off
checked "$build/dsgd" run e.yaml -o times -j 1 --numerics off --progress off
checked "$build/dsgd" run e.yaml -o encoded -j 1 --threads 2 --progress off --set "algorithms=[allreduce, a_psgd]" \
    --set "exchange.encoding={kind: top_k, share: 10%, feedback: true}"
echo "nothing found"
