"""Joins JAX's coordinator as a program under Slurm does, without arguments, and prints its rank and its number on its node."""

import os

import jax

jax.distributed.initialize()
print(jax.process_index(), jax.process_count(), os.environ["SLURM_LOCALID"], flush=True)
jax.distributed.shutdown()
