#!/usr/bin/env bash
# Simulated seconds per CPU second of all algorithms with `network: flows`, or NETWORK: 1,024 workers, ResNet-50, four platforms, in 16
# pieces and in buckets, two workers 320 ms late, 10 steps, timing only.
#   [NETWORK=simgrid] grid.sh DSGD [PLATFORM...] > table.csv
set -euo pipefail
dsgd=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- piz-daint s822lc-edr dgx-h100 cloud
cd "$(mktemp -d)"
echo platform,exchange,algorithm,virtual_s,messages,timed_by,cpu_s,virtual_s_per_cpu_s
for platform in "$@"; do
    for exchange in '{pieces: 16}' '{}'; do
        for algorithm in $("$dsgd" list algorithms | grep -o '^[a-z0-9_]*'); do
            options=
            case $algorithm in
            local_sgd | slowmo | diloco | hierarchical | async_local_sgd | scaffold) options=', period: 4' ;;
            streaming_diloco) options=', period: 4, fragments: 2, delay: 1' ;;
            esac
            cat >run.yaml <<YAML
name: run
platform: $platform
network: ${NETWORK:-flows}
workload: resnet50-p100
imbalance: [{kind: delay, seconds: 320ms, workers: 2}]
workers: 1024
algorithms: [{name: $algorithm$options}]
exchange: $exchange
until: {steps: 10}
seed: 1
YAML
            /usr/bin/time -o cpu -f '%U %S' "$dsgd" run run.yaml -o out --force --numerics off -j 1 >/dev/null
            python3 - "$platform" "$exchange" "$algorithm" <<'PYTHON'
import csv, sys
row = next(csv.DictReader(open("out/runs.csv")))
cpu_s = sum(map(float, open("cpu").read().split()))
print(*sys.argv[1:], row["virtual_s"], row["messages"], row["timed_by"], round(cpu_s, 2), round(float(row["virtual_s"]) / cpu_s, 1), sep=",", flush=True)
PYTHON
        done
    done
done
