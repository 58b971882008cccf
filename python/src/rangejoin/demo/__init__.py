"""The demo: real flights joined with real weather, against stock Spark."""

from rangejoin.demo.extent import FULL, SHORT, Extent
from rangejoin.demo.job import run_demo

__all__ = ["FULL", "SHORT", "Extent", "run_demo"]
