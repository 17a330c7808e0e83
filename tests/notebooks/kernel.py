"""For `pytest --nbval-lax`: what a notebook's kernel sees. Kernels inherit the environment of pytest."""

import os

from tools.build_notebooks import ENVIRONMENT

os.environ.update(ENVIRONMENT)
