"""The demo: real flights joined with real weather, against stock Spark."""

from rangejoin.demo.job import run_demo

__all__ = ["run_demo"]
