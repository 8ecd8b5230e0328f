"""What docs/checkpoints.md has: the programs by the name of their file, and the runtime."""

import re

import yaml

from paths import ROOT

_TEXT = (ROOT / "docs" / "checkpoints.md").read_text()
PROGRAMS = dict(re.findall(r"(?ms)^```python\n# (\S+\.py)\n(.*?)^```$", _TEXT))
RUNTIME = yaml.safe_load(re.search(r"(?ms)^```yaml\n(.*?)^```$", _TEXT)[1])
