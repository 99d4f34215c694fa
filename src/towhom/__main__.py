"""`python -m towhom` is `towhom`; launchers of many processes want a module."""

from towhom.cli import main

main(prog_name="towhom")
