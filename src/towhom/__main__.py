"""Makes `python -m towhom` the same as `towhom`, since launchers of many processes need a module."""

from towhom.cli import main

main(prog_name="towhom")
