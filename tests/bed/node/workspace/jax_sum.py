"""Each process has its number plus one; together they compute the sum."""

import os

import jax
import numpy

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(os.environ["JAX_COORDINATOR_ADDRESS"], int(os.environ["JAX_NUM_PROCESSES"]), int(os.environ["JAX_PROCESS_ID"]))

from jax.experimental import multihost_utils  # noqa: E402: needs what the lines above have set

gathered = multihost_utils.process_allgather(numpy.array([jax.process_index() + 1.0]))
print(f"process {jax.process_index()} of {jax.process_count()}: the sum is {gathered.sum():.0f}", flush=True)
