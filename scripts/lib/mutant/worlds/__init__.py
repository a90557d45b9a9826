# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The worlds, in the order in which they run."""

from .cargo import Cargo
from .device import Device
from .models import Litmus, Proof, Spin, Tla
from .module import Locktorture, Module, Sanitizers
from .python import Python
from .suite import Suite
from .tsan import Tsan

ALL = (Cargo, Spin, Litmus, Proof, Module, Locktorture, Sanitizers, Tsan, Tla, Device, Suite, Python)
