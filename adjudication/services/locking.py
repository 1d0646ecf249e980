"""The one order in which locks are taken on PostgreSQL, so that no two orders wait for each other.

1. the study's counting lock (`annotation.services.tally.hold`): shared by whoever writes one label or skip, alone
   for whoever rules, freezes, patches, sets rules, imports or recounts;
2. the study's row, by those who hold the first alone;
3. rows of disputes, then of questions, then of progress;
4. the head of the audit chain, last.

A person who revises a label locks its dispute and may then open another one, which needs the study's row; a ruling
that excludes a question locks the study's row and then every dispute of the question. Without the first lock each
could hold what the other waits for. SQLite has one writer at a time and needs none of this.
"""

from __future__ import annotations

from annotation.models import Study
from annotation.services import tally


def lock_study(study_id: int) -> Study:
    """Lock a study for what reads many of its rows and must find them unmoved; return it as it stands now.

    To be called first in the transaction.
    """
    tally.hold(study_id, recount=True)
    return Study.objects.select_for_update().get(pk=study_id)
