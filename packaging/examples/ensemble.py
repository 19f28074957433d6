# python3 ensemble.py --nworkers 4 delays.yaml results/delays 40 && dsgd merge results/delays.tasks/* -o results/delays
import subprocess
import numpy
from libensemble import Ensemble
from libensemble.alloc_funcs.give_pregenerated_work import give_pregenerated_sim_work
from libensemble.specs import AllocSpecs, ExitCriteria, SimSpecs

def simulate(H, _, sim_specs):
    experiment, results, n = sim_specs["user"]["words"]
    for k in H["k"]:
        subprocess.run(["dsgd", "run", experiment, "--shard", f"{k}/{n}", "-o", f"{results}.tasks/{k}"], check=True)
    return numpy.zeros(len(H), dtype=sim_specs["out"])

if __name__ == "__main__":
    ensemble = Ensemble(parse_args=True)
    ensemble.H0 = numpy.array([(k, k + 1) for k in range(int(ensemble.extra_args[2]))], dtype=[("sim_id", int), ("k", int)])
    ensemble.sim_specs = SimSpecs(sim_f=simulate, inputs=["k"], out=[("done", int)], user={"words": ensemble.extra_args})
    ensemble.alloc_specs = AllocSpecs(alloc_f=give_pregenerated_sim_work)
    ensemble.exit_criteria = ExitCriteria(sim_max=len(ensemble.H0))
    ensemble.run()
