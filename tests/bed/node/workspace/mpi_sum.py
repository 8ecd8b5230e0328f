"""Each rank has its number plus one; together they compute the sum. The first one prints what all have found: mpirun may lose what a remote
rank prints last."""

from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.allreduce(world.Get_rank() + 1)
found = world.gather(f"rank {world.Get_rank()} of {world.Get_size()} on {MPI.Get_processor_name()}: the sum is {total}")
if found:
    print("\n".join(found), flush=True)
