"""Joins JAX's coordinator as a program under the runtime jax-distributed does, and says who it is there.

jax.distributed.initialize() finds the coordinator in JAX_COORDINATOR_ADDRESS by itself; the two numbers it is told.
"""

import os

import jax

jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=int(os.environ["JAX_PROCESS_ID"]))
print(jax.process_index(), jax.process_count(), flush=True)
jax.distributed.shutdown()
