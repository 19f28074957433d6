#!/bin/sh
# Cost against the number of workers, timing only: messages, CPU time (user + system), memory.
#   scale.sh DSGD > scale.csv     DSGD is build/release/dsgd; NETWORKS, COUNTS, ALGORITHMS, STEPS and PLATFORM change what runs
# The start, which grows with the workers, is in the CPU time. A count is left out where the one before took more than LIMIT
# seconds of it.
set -eu
dsgd=$1
: "${NETWORKS:=flows}" "${COUNTS:=64 256 1024 4096 16384 65536}" "${STEPS:=2}" "${PLATFORM:=piz-daint}" "${LIMIT:=8}"
: "${ALGORITHMS:=allreduce eager_solo eager_majority wagma local_sgd dasgd d_psgd sgp osgp ad_psgd a_psgd easgd eamsgd drop_compute slowmo diloco}"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

experiment() { # of a network, an algorithm and a number of workers
    cat << END
name: scale
platform: $PLATFORM
network: $1
workload: habitat-p100
imbalance: habitat
exchange: {pieces: 1}
workers: $3
algorithms: [$2]
until: {steps: $STEPS}
END
}

run=0
echo "run,algorithm,workers,seed,status,steps,messages,cpu_s,memory_kib,wall_s,network"
for network in $NETWORKS; do
    for algorithm in $ALGORITHMS; do
        for workers in $COUNTS; do
            experiment "$network" "$algorithm" "$workers" > "$folder/scale.yaml"
            /usr/bin/time -o "$folder/time" -f '%U %S %M' "$dsgd" run "$folder/scale.yaml" --numerics off -j 1 \
                -o "$folder/results" --force > /dev/null 2> "$folder/errors" || { cat "$folder/errors" >&2; exit 1; }
            messages=$(awk -F, 'NR == 1 { while ($++k != "messages"); } NR == 2 { print $k }' "$folder/results/runs.csv")
            run=$((run + 1))
            awk -v row="$run,$algorithm,$workers,1,ok,$STEPS,$messages" -v network="$network" \
                '{ printf "%s,%.2f,%d,,%s\n", row, $1 + $2, $3, network }' "$folder/time"
            awk -v limit="$LIMIT" '{ exit $1 + $2 > limit }' "$folder/time" || break
        done
    done
done
