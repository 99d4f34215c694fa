"""Reports about a team's chat: who helps whom, which questions stayed open, how long people wait.

`columns` collects the message data, `measures` computes the numbers, `pseudonyms` hides names;
`page` and `tables` show the result, which is plain data: a `Report`.
"""

from towhom.report.columns import Columns, gather
from towhom.report.measures import Report, measure

__all__ = ["Columns", "Report", "gather", "measure"]
