# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""Planted bugs: catalogues (catalogue), the page of claims (claims), the run (engine) and its worlds."""
