"""The prototype of docs/design/slurm.md: the variables that srun would give the processes of a TrainJob."""

# What libraries read, by that page.
READ_BY = {
    "jax": {"SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"},
    "lightning": {"SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NODELIST", "SLURM_JOB_ID",
                  "SLURM_JOB_NAME"},
    "submitit": {"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_JOB_NUM_NODES", "SLURM_NODEID", "SLURM_JOB_NODELIST", "SLURM_PROCID", "SLURM_LOCALID"},
}
OF_A_PROCESS = {"SLURM_PROCID", "SLURM_LOCALID"}
# Starts the processes of a node. The first one that fails ends the others, and its status is the node's.
LAUNCHER = """
for local in $(seq 0 $((SLURM_NTASKS_PER_NODE - 1))); do
    SLURM_LOCALID=$local SLURM_PROCID=$((SLURM_NODEID * SLURM_NTASKS_PER_NODE + local)) "$@" &
done
trap 'kill $(jobs -p)' TERM
status=0
for local in $(seq "$SLURM_NTASKS_PER_NODE"); do
    wait -n || { status=$?; kill $(jobs -p); break; }
done
wait
exit $status
"""


def number_of(uid):
    """Returns a number for SLURM_JOB_ID that is the same in all Pods of a TrainJob."""
    return int(uid.replace("-", "")[:7], 16)


def variables(name, number, hosts, node, processes):
    """Returns the variables of the Pod with the index `node`, with that number of processes in each Pod."""
    nodes, tasks, host_list = str(len(hosts)), str(len(hosts) * processes), ",".join(hosts)
    return {
        "SLURM_JOB_ID": str(number), "SLURM_JOBID": str(number), "SLURM_JOB_NAME": name, "SLURM_STEP_ID": "0",
        "SLURM_JOB_NUM_NODES": nodes, "SLURM_NNODES": nodes, "SLURM_STEP_NUM_NODES": nodes,
        "SLURM_JOB_NODELIST": host_list, "SLURM_NODELIST": host_list, "SLURM_STEP_NODELIST": host_list,
        "SLURM_NTASKS": tasks, "SLURM_NPROCS": tasks, "SLURM_STEP_NUM_TASKS": tasks,
        "SLURM_NTASKS_PER_NODE": str(processes), "SLURM_TASKS_PER_NODE": f"{processes}(x{nodes})",
        "SLURM_NODEID": str(node), "SLURMD_NODENAME": hosts[node]}
