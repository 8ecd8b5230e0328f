"""Prints the variables that torchrun has set for this process."""

import os

print(*(os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK", "MASTER_ADDR")), flush=True)
