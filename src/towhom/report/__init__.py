"""What a team wants to know of its chat: who helps whom, what stayed open, how long people wait.

`columns` gathers what is needed of every message, `measures` computes the numbers, `pseudonyms` hides names;
`page` and `tables` show the result, which is plain data: a `Report`.
"""

from towhom.report.columns import Columns, gather
from towhom.report.measures import Report, measure

__all__ = ["Columns", "Report", "gather", "measure"]
