#!/bin/sh
# Cost against the number of workers, timing only: CPU (user + system) per step and per message, memory per worker.
#   scale.sh DSGD [COUNT...]      DSGD is build/release/dsgd; ALGORITHMS="...", STEPS=n and PLATFORM=name change what runs
# Prints a Markdown table. The start, which grows with the workers, is in the time of each step.
set -eu
dsgd=$1
shift
[ $# -gt 0 ] || set -- 64 256 1024 4096
steps=${STEPS:-2}
: "${ALGORITHMS:=allreduce eager_solo eager_majority wagma local_sgd dasgd d_psgd sgp osgp ad_psgd a_psgd easgd eamsgd drop_compute slowmo diloco}"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

echo "| algorithm | workers | ms per step | us per message | KiB per worker |"
echo "|---|---|---|---|---|"
for algorithm in $ALGORITHMS; do
    for workers; do
        cat > "$folder/scale.yaml" <<END
name: scale
platform: ${PLATFORM:-piz-daint}
workload: habitat-p100
imbalance: habitat
exchange: {pieces: 1}
workers: $workers
algorithms: [$algorithm]
until: {steps: $steps}
seed: 1
END
        /usr/bin/time -o "$folder/time" -f '%U %S %M' "$dsgd" run "$folder/scale.yaml" --numerics off \
            -j 1 -o "$folder/results" --force > /dev/null 2> "$folder/errors" || { cat "$folder/errors" >&2; exit 1; }
        messages=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "messages") k = i } NR == 2 { print $k }' \
            "$folder/results/runs.csv")
        awk -v name="$algorithm" -v p="$workers" -v n="$steps" -v m="$messages" '{
            cpu = $1 + $2
            each = (m > 0) ? sprintf("%.1f", 1e6 * cpu / m) : "-"
            printf "| %s | %d | %.1f | %s | %.0f |\n", name, p, 1e3 * cpu / n, each, $3 / p
        }' "$folder/time"
    done
done
