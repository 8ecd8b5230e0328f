"""Each rank has its number plus one; together they compute the sum."""

from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.allreduce(world.Get_rank() + 1)
print(f"rank {world.Get_rank()} of {world.Get_size()} on {MPI.Get_processor_name()}: the sum is {total}", flush=True)
