#!/usr/bin/env bash
# A sweep of 200 runs, killed twice at random and taken up again, has the bytes of an undisturbed one.
#   machines.sh BUILD jobs|parallel|ssh|slurm|snakemake|jube|libensemble [SEED]
# by the processes of one `dsgd run`, by GNU parallel, here or at an sshd that is started here, by a Slurm that is started
# here, in a folder of its own, or by the shipped examples for Snakemake, JUBE and libEnsemble.
# 77: skipped, with the reason.
set -euo pipefail
build=$(cd "$1" && pwd)
by=$2
RANDOM=${3:-$$}
echo "random moments from seed ${3:-$$}"
dsgd=$build/dsgd
DSGD_DATA=$(cd "$(dirname "$0")/../.." && pwd)
export DSGD_DATA
export PATH=$build:$PATH # of which the examples take dsgd

skip() {
    echo "skipped: $*"
    exit 77
}

case $by in
parallel) command -v parallel >/dev/null || skip "there is no GNU parallel" ;;
ssh)
    for program in parallel sshd ssh ssh-keygen; do
        PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip "there is no $program"
    done
    ;;
snakemake | jube) command -v "$by" >/dev/null || skip "there is no $by" ;;
libensemble) python3 -c 'import libensemble' 2>/dev/null || skip "there is no libEnsemble for python3" ;;
slurm)
    for program in slurmctld slurmd sbatch squeue scancel munged mungekey; do
        PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip "there is no $program"
    done
    ;;
esac

folder=$(mktemp -d)
daemons=()
end() {
    local status=$?
    trap - EXIT
    [ "$by" != slurm ] || scancel --full --signal=KILL -u "$(id -un)" >/dev/null 2>&1 || true
    for ((k = ${#daemons[@]} - 1; k >= 0; k--)); do
        kill "${daemons[k]}" 2>/dev/null || true
        wait "${daemons[k]}" 2>/dev/null || true
    done
    [ $status -eq 0 ] || [ $status -eq 77 ] || tail -n 20 "$folder"/*.log "$folder"/*.tasks/*.log 2>/dev/null || true
    rm -rf "$folder"
    exit $status
}
trap end EXIT
cd "$folder"

cat >e.yaml <<END
platform: idle-switch
workload: {bytes: 1M, step: 100ms, samples: 8}
workers: [4, 8]
algorithms: [allreduce, ad_psgd]
seed: [$(seq -s, 1 50)]
until: {steps: 10}
imbalance: [{kind: delay, seconds: 50ms}]
learn:
  model: hyperplane
  data: {name: hyperplane, features: 16, points: 512}
  split: dirichlet
  optimizer: {lr: 0.02}
  evaluate: {every: 5}
END

# Waits for more parts of results, or for the end of what makes them.
wait_for_parts() { # how many, and a command that holds while it goes on
    local least=$1
    shift
    until [ "$(find . -path "./$by*" -name '*.part' | wc -l)" -ge "$least" ] || ! "$@"; do
        sleep 0.02
    done
}

assert_same() { # folders
    local file wall
    for file in curves workers staleness steps; do
        cmp "$1/$file.csv" "$2/$file.csv"
    done
    wall=$(head -n 1 "$1/runs.csv" | tr , '\n' | grep -nx wall_s | cut -d: -f1)
    cmp <(cut -d, --complement -f "$wall" "$1/runs.csv") <(cut -d, --complement -f "$wall" "$2/runs.csv")
    [ "$(wc -l <"$2/runs.csv")" -eq 201 ]
    [ -z "$(find "$2" -name '*.new')" ]
}

kill_session() { # all processes of one that was started here
    # shellcheck disable=SC2046
    kill -KILL $(ps -o pid= -s "$1") 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}

by_jobs() {
    for least in $((1 + RANDOM % 90)) $((91 + RANDOM % 90)); do
        setsid "$dsgd" run e.yaml -o jobs -j 2 >>jobs.log 2>&1 &
        wait_for_parts "$least" kill -0 $!
        if [ $((RANDOM % 2)) -eq 0 ]; then
            kill_session $!
        else
            kill -KILL $! 2>/dev/null || true # the parent alone
            wait $! 2>/dev/null || true
        fi
        echo "killed with $(find jobs -name '*.part' | wc -l) runs done"
    done
    "$dsgd" run e.yaml -o jobs -j 2 >>jobs.log 2>&1
    assert_same whole jobs
}

shard=("$dsgd" run e.yaml --shard "{}/40" -j 1) # of GNU parallel

by_parallel() {
    for least in $((1 + RANDOM % 90)) $((91 + RANDOM % 90)); do
        setsid parallel -j 2 "${shard[@]}" -o parallel.tasks/{} ::: {1..40} >>parallel.log 2>&1 &
        wait_for_parts "$least" kill -0 $!
        if [ $((RANDOM % 2)) -eq 0 ]; then
            kill_session $!
        else
            kill -TERM $! 2>/dev/null && kill -TERM $! 2>/dev/null || true # once: no more jobs; twice: at once
            wait $! 2>/dev/null || true
            kill_session $!
        fi
        echo "killed with $(find parallel.tasks -name '*.part' | wc -l) runs done"
    done
    parallel -j 2 "${shard[@]}" -o parallel.tasks/{} ::: {1..40} >>parallel.log 2>&1
    "$dsgd" merge parallel.tasks/* -o parallel
    assert_same whole parallel
}

# A shipped example, killed twice and done again, each time by the line with which it begins.
by_example() { # its name
    local line
    sed "s/delays\.yaml/e.yaml/; s,results/delays,$by-results,g; s/40/20/; s/-j 4/-j 2/; s/procs: 4/procs: 2/; s/nworkers 4/nworkers 2/" \
        "$DSGD_DATA/packaging/examples/$1" >"$1"
    line=$(sed -n '1s/^# //p' "$1")
    echo "$line"
    for least in $((1 + RANDOM % 90)) $((91 + RANDOM % 90)); do
        setsid bash -c "$line" >>"$by.log" 2>&1 &
        wait_for_parts "$least" kill -0 $!
        kill_session $!
        echo "killed with $(find "$by-results.tasks" -name '*.part' | wc -l) runs done"
    done
    bash -c "$line" >>"$by.log" 2>&1
    assert_same whole "$by-results"
}

by_snakemake() { by_example Snakefile; }

by_jube() { by_example jube.yaml; }

by_libensemble() { by_example ensemble.py; }

# An sshd for whoever runs this, and an ssh that knows it.
start_sshd() {
    local port=$((20000 + RANDOM % 20000))
    mkdir -m 700 ssh
    ssh-keygen -q -t ed25519 -N '' -f ssh/host
    ssh-keygen -q -t ed25519 -N '' -f ssh/user
    cat >ssh/sshd_config <<END
Port $port
ListenAddress 127.0.0.1
HostKey $folder/ssh/host
AuthorizedKeysFile $folder/ssh/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
MaxStartups 100
END
    cat >ssh/ssh <<END
#!/bin/sh
exec ssh -F none -p $port -i $folder/ssh/user -o IdentitiesOnly=yes -o BatchMode=yes -o LogLevel=ERROR \\
    -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "\$@"
END
    chmod 755 ssh/ssh "$folder"
    "$(PATH=$PATH:/usr/sbin command -v sshd)" -D -e -f ssh/sshd_config >sshd.log 2>&1 &
    daemons+=($!)
    for ((k = 0; k < 50; k++)); do
        ! ssh/ssh 127.0.0.1 true 2>/dev/null || return 0
        sleep 0.1
    done
    skip "an sshd does not start here: $(tail -n 1 sshd.log)"
}

is_at_work() { # whether a run of this test goes on, whoever started it
    local process
    for process in /proc/[0-9]*; do
        [ "$(cat "$process/comm" 2>/dev/null)" != dsgd ] || [ "$(readlink "$process/cwd")" != "$folder" ] || return 0
    done
    return 1
}

by_ssh() {
    start_sshd
    export PARALLEL_SSH=$folder/ssh/ssh
    for least in $((1 + RANDOM % 90)) $((91 + RANDOM % 90)); do
        setsid parallel --sshlogin 2/127.0.0.1 --wd . "${shard[@]}" -o ssh-results.tasks/{} ::: {1..40} >>ssh.log 2>&1 &
        wait_for_parts "$least" kill -0 $!
        kill_session $!
        while is_at_work; do sleep 0.1; done # parallel's wrapper there sees that nobody is here, and ends them
        echo "killed with $(find ssh-results.tasks -name '*.part' | wc -l) runs done"
    done
    parallel --sshlogin 2/127.0.0.1 --wd . "${shard[@]}" -o ssh-results.tasks/{} ::: {1..40} >>ssh.log 2>&1
    "$dsgd" merge ssh-results.tasks/* -o ssh-results
    assert_same whole ssh-results
}

start_slurm() {
    local port=$((20000 + RANDOM % 20000)) name
    PATH=$PATH:/usr/sbin
    name=$(hostname -s)
    mkdir -m 700 slurm slurm/state slurm/spool
    mungekey --create --keyfile="$folder/slurm/key"
    chmod 755 "$folder"
    chmod 711 slurm
    munged --foreground --force --key-file="$folder/slurm/key" --socket="$folder/slurm/munge" --pid-file="$folder/slurm/munged.pid" \
        --seed-file="$folder/slurm/seed" --log-file="$folder/slurm/munged.log" >munged.log 2>&1 &
    daemons+=($!)
    cat >slurm/slurm.conf <<END
ClusterName=dsgd
SlurmctldHost=$name(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$folder/slurm/munge
CryptoType=crypto/munge
StateSaveLocation=$folder/slurm/state
SlurmdSpoolDir=$folder/slurm/spool
SlurmctldPidFile=$folder/slurm/slurmctld.pid
SlurmdPidFile=$folder/slurm/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=1,sched_interval=1,sched_min_interval=0
SchedulerType=sched/builtin
NodeName=$name NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=YES
END
    sed -i '/^CryptoType/d' slurm/slurm.conf
    export SLURM_CONF=$folder/slurm/slurm.conf
    for ((k = 0; k < 100; k++)); do [ ! -S slurm/munge ] || break; sleep 0.1; done
    slurmctld -D -f "$SLURM_CONF" >slurmctld.log 2>&1 &
    daemons+=($!)
    slurmd -D -N "$name" -f "$SLURM_CONF" >slurmd.log 2>&1 &
    daemons+=($!)
    for ((k = 0; k < 100; k++)); do
        [ "$(sinfo -h -o %t 2>/dev/null)" != idle ] || return 0
        sleep 0.2
    done
    skip "Slurm does not start here: $(tail -n 1 slurmctld.log) $(tail -n 1 slurmd.log)"
}

is_queued() { [ -n "$(squeue -h)" ]; }

by_slurm() {
    start_slurm
    mkdir slurm-results.tasks
    cat >job.sh <<END
#!/bin/bash
#SBATCH --array=1-40
#SBATCH --mem=200M
#SBATCH --open-mode=append
#SBATCH --output=slurm-results.tasks/%a.log
exec "$dsgd" run e.yaml --shard "\$SLURM_ARRAY_TASK_ID/40" -j 1 -o "slurm-results.tasks/\$SLURM_ARRAY_TASK_ID"
END
    by=slurm-results
    for least in $((1 + RANDOM % 90)) $((91 + RANDOM % 90)); do
        sbatch job.sh
        wait_for_parts "$least" is_queued
        scancel --full --signal=KILL -u "$(id -un)" || true
        scancel -u "$(id -un)"
        while is_queued; do sleep 0.2; done
        echo "killed with $(find slurm-results.tasks -name '*.part' | wc -l) runs done"
    done
    sbatch job.sh
    while is_queued; do sleep 0.2; done
    "$dsgd" merge slurm-results.tasks/*/ -o slurm-results
    by=slurm
    assert_same whole slurm-results
}

"$dsgd" run e.yaml -o whole -j 2 >whole.log 2>&1
"by_$by"
