"""A response bank: answers that people have given, found by the questions that they answer.

`tables` has its columns, `store` opens it, `writing` changes it, `slots` replaces names, `filters` decides
what is worth keeping, `search` finds responses by vectors, and `phrases` by rare words. `towhom.live.banking`
builds a bank from logs, and `towhom.live.responding` searches it for answers.
"""

from towhom.bank.store import Bank, Response

__all__ = ["Bank", "Response"]
