"""Joins JAX's coordinator as a program under the runtime jax-distributed does, and prints its rank.
jax.distributed.initialize() reads the coordinator's address from JAX_COORDINATOR_ADDRESS; the two numbers are arguments.
"""

import os

import jax

jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=int(os.environ["JAX_PROCESS_ID"]))
print(jax.process_index(), jax.process_count(), flush=True)
jax.distributed.shutdown()
