"""Parses the commands of TrainJobs' Pods by torchtune's command line: a JSON list of {command, environment} on standard input.
Prints the parsed settings of each. The first argument is the directory of torchtune's installation.
"""

import argparse
import importlib.machinery
import json
import os
import pathlib
import sys
import types

sys.path.append(sys.argv[1])  # last: PyTorch and NumPy are the system's

# The package without its own __init__, which imports libraries for training: only its command line is used.
package = types.ModuleType("torchtune")
package.__path__ = [os.path.join(sys.argv[1], "torchtune")]
package.__file__ = os.path.join(package.__path__[0], "__init__.py")
package.__spec__ = importlib.machinery.ModuleSpec("torchtune", None, is_package=True)
sys.modules["torchtune"] = package

import yaml  # noqa: E402
from torchtune._cli.run import ROOT, Run  # noqa: E402


def read(command, environment):
    sys.argv = command
    os.environ.update(environment)
    try:
        parser = argparse.ArgumentParser(prog="tune")
        run = Run(parser.add_subparsers())
        arguments = parser.parse_args(command[1:])
    finally:
        for name in environment:
            del os.environ[name]
    recipe = run._get_recipe(arguments.recipe)
    config = run._get_config(arguments.recipe_args[arguments.recipe_args.index("--config") + 1], recipe)
    settings = yaml.safe_load(pathlib.Path(ROOT / "recipes" / "configs" / config.file_path).read_text())
    return {
        "nodes": arguments.nnodes, "rank": arguments.node_rank, "processes": arguments.nproc_per_node,
        "endpoint": arguments.rdzv_endpoint, "recipe": recipe.name, "config": config.name,
        "config belongs to recipe": config in recipe.configs,
        "torchrun": run._is_distributed_args(arguments), "may use torchrun": recipe.supports_distributed,
        "unknown settings": [word for word in arguments.recipe_args[2:] if word.split("=")[0].split(".")[0] not in settings],
    }


json.dump([read(**case) for case in json.load(sys.stdin)], sys.stdout)
