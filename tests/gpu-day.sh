#!/usr/bin/env bash
# The first day on a GPU: all that the emulation cannot say, in at most half an hour and offline, with a report at the end.
#   tests/gpu-day.sh pack BUILD FOLDER    here: programs, libraries and expected checksums of a release build, to take there; and
#                                         the same as FOLDER.tar.gz
#   FOLDER/gpu-day.sh run [REPORT [STEP...]]  there: writes REPORT (FOLDER/report.md) and all output beside it; some steps only, so that
#                                         one by one they fit a short lease, or those that time nothing run side by side
#   tests/gpu-day.sh rehearse BUILD       here: both, on the emulated GPU, with small numbers and few tests, to try this script; twice,
#                                         on a machine with all tools and on one with hardly any (stand-ins: tests/cuda/stand-ins)
# Each step has a limit of time, all of them GPU_DAY_S seconds (1740); what a machine lacks (profilers, PyTorch) is reported as missing.
# Exit status: 0 when every step that could be done did what was predicted or measured something, 1 otherwise.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# --- here -----------------------------------------------------------------------------------------------------------------------------

pack() { # BUILD FOLDER
    local build=$1 to=$2 program library
    local emulated=$build/tests/dsgd_cuda_emulated.so
    mkdir -p "$to/lib" "$to/data"
    for program in dsgd dsgd_tests dsgd_test_cuda dsgd_bench_cuda dsgd_bench_values dsgd_cuda_checksums; do
        cp "$build/$program" "$to/" || return 1
    done
    cp "$build/tests/dsgd_cuda_null.so" "$to/" || return 1
    cp "$build/dsgd_cuda.so" "$to/" 2>/dev/null || echo "no dsgd_cuda.so in $build: build it with nvcc"
    cp -r "$here/../traces" "$to/data/"
    cp "$here/gpu-day.sh" "$here/bench/torch_replicas.py" "$to/"
    ldd "$to"/dsgd "$to"/dsgd_tests "$to"/dsgd_bench_cuda | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
        grep -vE '/(libc|libm|libdl|librt|libpthread)\.so' | while read -r library; do cp -L "$library" "$to/lib/"; done
    DSGD_CUDA_MODULE=$emulated "$build/dsgd_cuda_checksums" >"$to/checksums.txt" || return 1
    strip "$to"/dsgd* "$to"/lib/* 2>/dev/null
    if python3 "$here/bench/kernels.py" --times >"$to/predicted.txt" 2>/dev/null; then :; else rm -f "$to/predicted.txt"; fi
    git -C "$here" rev-parse --short HEAD >"$to/commit.txt"
    sed -n 's/.*code=\[compute_\([0-9]*\)\].*/\1/p' "$build/build.ninja" | sort -n | tail -n 1 >"$to/ptx.txt"
    tar czf "$to.tar.gz" -C "$(dirname "$to")" "$(basename "$to")" # a third of it, to be unpacked there
    du -sh "$to" "$to.tar.gz"
}

# What was packed is unpacked elsewhere, as on another machine.
rehearse() { # BUILD
    local folder tools place ended=0
    folder=$(mktemp -d /tmp/dsgd-gpu-day-XXXXXX)
    pack "$1" "$folder/packed" || return 1
    for tools in many few; do
        place=$folder/$tools
        mkdir "$place" && tar xzf "$folder/packed.tar.gz" -C "$place" --strip-components 1 || return 1
        cp "$1/tests/dsgd_cuda_emulated.so" "$place/dsgd_cuda.so" && touch "$place/emulated"
        PATH=$here/cuda/stand-ins/$tools:$PATH "$place/gpu-day.sh" run || ended=1
        cat "$place/report.md"
        complete "$place/report.md" "$tools" || ended=1
    done
    if [ $ended -eq 0 ]; then rm -r "$folder"; else echo "all of it: $folder"; fi
    return $ended
}

# Whether a report has a line for each step that this machine, with many tools or few, can do.
complete() { # REPORT TOOLS
    local step steps="machine devices checksums bench, means, the.store,.cuda the.store,.null dsgd_test_cuda conformance -j.1.. -j.12 PTX no.GPU"
    case $2 in
    many) steps+=" ncu:.matmul ncu:.mlp memcheck racecheck initcheck PyTorch.*1.1.x" ;;
    few) steps+=" nsys:.*matmul launches.one.by.one no.PyTorch" ;;
    esac
    for step in $steps; do
        grep -q "^|.*$step" "$1" || { echo "the report says nothing of: $step" && return 1; }
    done
    ! grep -q "/tmp/\|$here\|FAILED\|too long" "$1" || { echo "the report has a failure, or a path of this machine" && return 1; }
}

# --- there ----------------------------------------------------------------------------------------------------------------------------

n_failed=0

row() { # step, predicted, measured, verdict
    printf '| %s | %s | %s | %s |\n' "${@//$folder\//}" >>"$report"
    [[ "$4" != FAILED && "$4" != "too long" ]] || n_failed=$((n_failed + 1))
    echo "$1: $3 ($4)"
}

left_s() {
    echo $((all_s - SECONDS))
}

# Runs a command with a limit of time: its output is in $out/NAME.txt, its exit status in $status, 124 where it took too long.
try() { # NAME SECONDS COMMAND...
    local name=$1 limit=$2
    shift 2
    [ "$limit" -le "$(left_s)" ] || limit=$(left_s)
    status=124
    echo "no time was left" >"$out/$name.txt"
    [ "$limit" -gt 0 ] || return 0
    timeout -k 5 "$limit" "$@" >"$out/$name.txt" 2>&1
    status=$?
    return 0
}

verdict() {
    case $status in
    0) echo ok ;;
    77) echo skipped ;;
    124) echo "too long" ;;
    *) echo FAILED ;;
    esac
}

last() { # NAME: the last line of its output
    tail -n 1 "$out/$1.txt" 2>/dev/null | tr '|' '/' | cut -c1-160
}

machine() {
    try machine 60 nvidia-smi --query-gpu=name,memory.total,memory.used,driver_version,compute_cap,clocks.max.sm --format=csv,noheader
    row machine "" "$(uname -r); $(nproc) cores; $(last machine)" "$([ $status -eq 0 ] && echo ok || echo missing)"
    try devices 120 "$folder/dsgd" list devices
    row "dsgd list devices" "an NVIDIA GPU" "$(last devices)" "$(grep -q 'an NVIDIA GPU' "$out/devices.txt" && echo ok || echo FAILED)"
}

checksums() {
    try checksums 120 "$folder/dsgd_cuda_checksums"
    local n
    n=$(diff "$folder/checksums.txt" "$out/checksums.txt" | grep -c '^>')
    row "checksums without exp, tanh, log" "those of the emulation" "$n of $(wc -l <"$folder/checksums.txt") differ" \
        "$(cmp -s "$folder/checksums.txt" "$out/checksums.txt" && echo ok || echo FAILED)"
}

# try(), side by side with others; settle NAME sets its $status.
beside() { # NAME SECONDS COMMAND...
    (
        try "$@"
        echo "$status" >"$out/$1.status"
    ) &
}

settle() { # NAME
    status=$(cat "$out/$1.status" 2>/dev/null || echo 124)
}

# A simulation is a process with a context of its own, so a few algorithms, a process each.
tests() {
    local algorithm
    for algorithm in $algorithms; do
        beside "conformance-$algorithm" "$tests_s" env DSGD_TEST_DEVICE=cuda \
            ${checks:+CK_RUN_CASE=$checks} DSGD_TEST_ALGORITHMS="$algorithm" "$folder/dsgd_tests" "$suite"
    done
    beside test_cuda "$tests_s" env ${only:+CK_RUN_CASE=$only} "$folder/dsgd_test_cuda"
    wait
    settle test_cuda
    row "dsgd_test_cuda" "no failure" "$(grep -a '^[0-9]*%' "$out/test_cuda.txt" || last test_cuda)" "$(verdict)"
    grep -qa ':[FE]:' "$out/test_cuda.txt" && row "its failures" none "$(grep -a ':[FE]:' "$out/test_cuda.txt" | head -n 3 | tr '|\n' '/ ' | cut -c1-300)" FAILED
    for algorithm in $algorithms; do
        settle "conformance-$algorithm"
        row "conformance on CUDA, $algorithm" "no failure; signal 11: a stack of 128 KiB" \
            "$(grep -a '^[0-9]*%' "$out/conformance-$algorithm.txt" || last "conformance-$algorithm")" "$(verdict)"
    done
}

sanitizers() {
    local tool
    if ! command -v compute-sanitizer >/dev/null; then
        row compute-sanitizer "no error" "not on this machine; CUDA_LAUNCH_BLOCKING=1 instead" missing
        try blocking 200 env CUDA_LAUNCH_BLOCKING=1 "$folder/dsgd_bench_cuda" 8 "$few" 1
        row "bench of 8 workers, launches one by one" "checks its answers" "$(last blocking)" "$(verdict)"
        return
    fi
    for tool in memcheck racecheck initcheck; do
        beside "$tool" 240 compute-sanitizer --tool "$tool" --error-exitcode 9 "$folder/dsgd_bench_cuda" 2 "$few" 1
    done
    wait
    for tool in memcheck racecheck initcheck; do
        settle "$tool"
        row "$tool" "no error" "$(grep -a -m 1 'ERROR SUMMARY\|RACECHECK SUMMARY' "$out/$tool.txt" || last "$tool")" "$(verdict)"
    done
}

benches() {
    local n line predicted
    for n in $sizes; do
        try "bench_$n" 180 "$folder/dsgd_bench_cuda" "$n" "$numbers"
        [ $status -eq 0 ] || row "bench, $n workers" "" "$(last "bench_$n")" "$(verdict)"
        grep -a '^mlp\|^cnn' "$out/bench_$n.txt" | while IFS= read -r line; do
            case "$n $line" in
            "1024 mlp"*) predicted="0.61 ms on an H100, 3 launches; batched PyTorch 1.6" ;;
            "1024 cnn"*) predicted="6.5 ms on an H100, 20 launches; batched PyTorch 40" ;;
            *) predicted="launches as at 1,024 while the workspace holds all" ;;
            esac
            printf '| bench, %s workers | %s | %s | ok |\n' "$n" "$predicted" "$line" >>"$report"
        done
        line=$(grep -a '^means' "$out/bench_$n.txt") && row "means, $n" "a copy's rate, 2,970 GB/s on an H100" "$line" ok
    done
}

# What the store's host and the GPU take together, and the host alone, with a GPU that takes no time.
host() {
    local device
    if [ ! -d /usr/share/datasets/fashion-mnist ]; then
        row "a step of the store" "1,024 workers: 0.5 ms" "Fashion-MNIST (Debian: dataset-fashion-mnist) is not on this machine" missing
        return
    fi
    for device in cuda null; do
        try "host_$device" 120 env $([ $device = cuda ] || echo "DSGD_CUDA_MODULE=$folder/dsgd_cuda_null.so") \
            "$folder/dsgd_bench_values" "${sizes%% *}" 1 32 16 "$device"
        row "a step of the store, $device" "1,024 workers: 0.5 ms" "$(last "host_$device")" "$(verdict)"
    done
}

# Of each kernel the launch that took longest: ncu's raw page is a line of names, one of units, and a line per launch.
slowest_kernels() {
    awk -F '","' '
        { sub(/^"/, ""); sub(/"$/, "") }
        !names && /"Kernel Name"/ { for (i = 1; i <= NF; i++) at[$i] = i; names = NR; n = NF }
        names && NR > names + 1 && NF == n && match($at["Kernel Name"], /[a-z_]+_global(<[^>]*>)?/) {
            kernel = substr($at["Kernel Name"], RSTART, RLENGTH)
            time = $at["gpu__time_duration.sum"]; gsub(/,/, "", time)
            if (time + 0 > slowest[kernel]) {
                slowest[kernel] = time + 0
                rest[kernel] = sprintf("%s %% of the issue slots, %s %% of the memory rate, grid %s", $at["smsp__issue_active.avg.pct_of_peak_sustained_active"],
                                       $at["dram__throughput.avg.pct_of_peak_sustained_elapsed"], $at["Grid Size"])
            }
        }
        END { for (kernel in slowest) printf "%s\t%.1f us; %s\n", kernel, slowest[kernel] / 1000, rest[kernel] }' "$out/ncu.txt" | sort
}

profile() {
    local kernel measured predicted="its line in the table below"
    if command -v ncu >/dev/null; then
        try ncu 240 ncu --clock-control none --csv --page raw --print-units base -k 'regex:_global' -c 200 --metrics \
            gpu__time_duration.sum,smsp__issue_active.avg.pct_of_peak_sustained_active,dram__throughput.avg.pct_of_peak_sustained_elapsed \
            "$folder/dsgd_bench_cuda" "${sizes%% *}" "$numbers"
        row "ncu, 200 launches" "" "$(last ncu | cut -c1-60)" "$(verdict)"
        while IFS=$'\t' read -r kernel measured; do
            row "ncu: $kernel" "$predicted" "$measured" ok
        done < <(slowest_kernels)
    elif command -v nsys >/dev/null; then
        try nsys 240 nsys profile --force-overwrite true --stats=true -o "$out/profile" "$folder/dsgd_bench_cuda" "${sizes%% *}" "$numbers"
        row "nsys" "" "$(grep -c . "$out/nsys.txt") lines of output" "$(verdict)"
        while read -r measured; do # share, total ns, launches, mean, median, least, most, deviation, name
            row "nsys: ${measured##* }" "$predicted" "$(awk '{printf "%s launches, median %.1f us, most %.1f us", $3, $5 / 1000, $7 / 1000}' <<<"$measured")" ok
        done < <(grep -a '^ *[0-9.]* .*_global' "$out/nsys.txt" | sed 's/(anonymous namespace):://g; s/([a-z ]*)//g; s/, /,/g; s/(.*//')
    else
        row "ncu, nsys" "" "not on this machine" missing
    fi
}

torch() {
    local n
    try torch 60 python3 -c 'import torch; assert torch.cuda.is_available()'
    if [ $status -ne 0 ]; then
        row "batched PyTorch" "ratio 1 or more at MLP-32" "no PyTorch with CUDA on this machine" missing
        return
    fi
    for n in $sizes; do
        try "torch_$n" 120 python3 "$folder/torch_replicas.py" cuda "$folder/dsgd_bench_cuda" "$n"
        row "batched PyTorch, $n workers" "2.6 x (MLP-32) and 6.3 x (cnn) at 1,024 on an H100" "$(grep -a '^mlp,\|^cnn,' "$out/torch_$n.txt" | tr '\n' ' ' || last "torch_$n")" "$(verdict)"
    done
}

experiment() {
    cat >"$out/jobs.yaml" <<END
platform: idle-switch
workload: {bytes: 1M, step: 100ms, samples: 8}
workers: $workers
seed: [1, 2, 3, 4, 5, 6]
algorithms: [d_psgd, ad_psgd]
until: {steps: 20}
learn:
  model: {name: mlp, hidden: [64]}
  data: {name: sequences, features: 8, points: 512}
  optimizer: {lr: 0.02, momentum: 0.9}
  evaluate: {every: 10}
END
}

# What became of the only PTX, that of the newest architecture. A machine without one, as the emulated GPU, ignores the variable.
jitted() {
    case $as_expected in
    no*) echo "compute_$ptx is newer than this device, whose driver says so" ;;
    *) last jit ;;
    esac
}

# One of several -j: the time it took, and whether its curves are those of the first.
jobs() {
    local j start hide ptx cap as_expected="an NVIDIA GPU"
    experiment
    ptx=$(cat "$folder/ptx.txt")
    cap=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
    [[ -e "$folder/emulated" || ! "$cap" =~ ^[0-9]+$ || "${ptx:-0}" -le "$cap" ]] || as_expected="no kernel image"
    for j in 1 4 12; do
        start=$SECONDS
        try "jobs_$j" 240 "$folder/dsgd" run "$out/jobs.yaml" --numerics cuda -j "$j" -o "$out/jobs-$j" --force
        [ $status -ne 0 ] || cmp -s "$out/jobs-1/curves.csv" "$out/jobs-$j/curves.csv" || status=1
        row "12 runs of $workers workers, -j $j" "curves of -j 1; less time while cores are free" "$((SECONDS - start)) s; $([ $status -eq 0 ] && echo the same bytes || last "jobs_$j")" "$(verdict)"
    done
    start=$SECONDS
    try jit 200 env CUDA_FORCE_PTX_JIT=1 "$folder/dsgd" list devices
    row "PTX compiled by the driver" "seconds, once; refused by a device older than it" "$((SECONDS - start)) s; $(jitted)" \
        "$([ $status -eq 0 ] && grep -q "$as_expected" "$out/jit.txt" && echo ok || echo FAILED)"
    [ -e "$folder/emulated" ] && hide="EMULATED_DEVICES=0" || hide="CUDA_VISIBLE_DEVICES="
    try hidden 200 env "$hide" "$folder/dsgd" run "$out/jobs.yaml" --only 1 -o "$out/hidden" --force
    grep -q 'computed on: cpu' "$out/hidden.txt" || status=1
    row "no GPU to be seen" "the CPU, and a line that names it" "$(grep -a 'computed on: cpu' "$out/hidden.txt" | cut -c1-140)" "$(verdict)"
    try refused 100 env "$hide" "$folder/dsgd" run "$out/jobs.yaml" --only 1 --numerics cuda -o "$out/refused" --force
    row "no GPU, but --numerics cuda" "exit status 4 and a sentence" "$(last refused)" "$([ $status -eq 4 ] && echo ok || echo FAILED)"
}

run() { # REPORT STEP...
    folder=$here
    report=${1:-$folder/report.md}
    shift
    [ $# -gt 0 ] || set -- machine checksums benches host profile torch tests sanitizers jobs # what tells most comes first
    out=$(dirname "$report")/gpu-day-output
    mkdir -p "$out"
    all_s=${GPU_DAY_S:-1740} sizes="1024 64 4096" numbers=1048576 few=1024 workers=256 tests_s=300 suite=conformance checks=declared only=
    algorithms="allreduce local_sgd d_psgd ad_psgd eager_solo wagma easgd"
    if [ -e "$folder/emulated" ]; then
        sizes=2 numbers=256 few=256 workers=8 suite=status checks= only=mlp algorithms=d_psgd
    fi
    export LD_LIBRARY_PATH=$folder/lib:${LD_LIBRARY_PATH:-} DSGD_DATA=$folder/data CK_TIMEOUT_MULTIPLIER=5
    {
        echo "# A day on a GPU"
        echo
        echo "$(date -u +%F), commit $(cat "$folder/commit.txt")$([ ! -e "$folder/emulated" ] || echo ", a rehearsal on the emulated GPU: times mean nothing"). Predictions are a model of an H100, +-40 %."
        echo
        echo "| step | predicted | measured | |"
        echo "|---|---|---|---|"
    } >"$report"
    local step
    for step; do "$step"; done
    {
        echo
        echo "$n_failed steps failed; $SECONDS s in all."
        if [ -s "$folder/predicted.txt" ]; then
            printf '\nPredicted from the machine code (tests/bench/kernels.py):\n\n'
            sed 's/^/    /' "$folder/predicted.txt"
        fi
    } >>"$report"
    echo "report: $report"
    [ $n_failed -eq 0 ]
}

case "${1:-} $#" in
"pack 3") pack "$2" "$3" ;;
"run "*) run "${2:-}" "${@:3}" ;;
"rehearse 2") rehearse "$2" ;;
*)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
