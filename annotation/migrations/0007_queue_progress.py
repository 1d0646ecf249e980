"""Counts for the queue, kept beside the traces, and the settings by which it hands traces out."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# annotation.services.tally, as it was when this migration was written; coverage was complete in every study.
TRACES = """
INSERT INTO annotation_traceprogress
    (trace_id, study_id, question_id, token, included, readable, priority, wanted, labels)
SELECT t.id, t.study_id, t.question_id, t.token, q.status = 'included' AND c.id IS NULL,
       t.n_steps IS NOT NULL AND t.cut <> 'text_free', 0,
       CASE WHEN q.status = 'included' AND c.id IS NULL AND t.n_steps IS NOT NULL AND t.cut <> 'text_free'
            THEN s.overlap ELSE 0 END,
       COALESCE(l.number, 0)
FROM annotation_trace t
JOIN annotation_question q ON q.id = t.question_id
JOIN annotation_study s ON s.id = t.study_id
LEFT JOIN annotation_checkitem c ON c.trace_id = t.id
LEFT JOIN (
    SELECT trace_id, COUNT(*) AS number FROM annotation_label
    WHERE arm = 'human' AND revision = 1 GROUP BY trace_id
) l ON l.trace_id = t.id
"""
STUDIES = """
INSERT INTO annotation_studyprogress (study_id, total, labelled, complete, included, readable, human)
SELECT study_id, SUM(CASE WHEN wanted > 0 THEN 1 ELSE 0 END),
       SUM(CASE WHEN wanted > 0 AND labels > 0 THEN 1 ELSE 0 END),
       SUM(CASE WHEN wanted > 0 AND labels >= wanted THEN 1 ELSE 0 END),
       COUNT(*), SUM(CASE WHEN readable THEN 1 ELSE 0 END), SUM(CASE WHEN labels > 0 THEN 1 ELSE 0 END)
FROM annotation_traceprogress WHERE included GROUP BY study_id
"""
PEOPLE = """
INSERT INTO annotation_personprogress (study_id, labeller, mine, passed, cursor, until)
SELECT study_id, labeller, SUM(mine), SUM(passed), '', '' FROM (
    SELECT p.study_id AS study_id, l.labeller AS labeller, 1 AS mine,
           CASE WHEN p.labels < p.wanted THEN 1 ELSE 0 END AS passed
    FROM annotation_traceprogress p JOIN annotation_label l ON l.trace_id = p.trace_id
    WHERE p.wanted > 0 AND l.arm = 'human' AND l.revision = 1
    UNION ALL
    SELECT p.study_id, SUBSTR(u.username, 1, 100), 0, CASE WHEN p.labels < p.wanted THEN 1 ELSE 0 END
    FROM annotation_skip k
    JOIN annotation_traceprogress p ON p.trace_id = k.trace_id
    JOIN core_user u ON u.id = k.person_id
    WHERE p.wanted > 0 AND NOT EXISTS (
        SELECT 1 FROM annotation_label l WHERE l.trace_id = p.trace_id AND l.arm = 'human'
        AND l.labeller = SUBSTR(u.username, 1, 100))
) one GROUP BY study_id, labeller
"""


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0006_debate_rounds"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Assignment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Pause",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="PersonProgress",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("labeller", models.CharField(max_length=100)),
                ("mine", models.PositiveIntegerField(default=0)),
                ("passed", models.PositiveIntegerField(default=0)),
                ("cursor", models.CharField(blank=True, max_length=40)),
                ("until", models.CharField(blank=True, max_length=40)),
            ],
        ),
        migrations.CreateModel(
            name="StudyProgress",
            fields=[
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="progress",
                        serialize=False,
                        to="annotation.study",
                    ),
                ),
                ("total", models.PositiveIntegerField(default=0)),
                ("labelled", models.PositiveIntegerField(default=0)),
                ("complete", models.PositiveIntegerField(default=0)),
                ("included", models.PositiveIntegerField(default=0)),
                ("readable", models.PositiveIntegerField(default=0)),
                ("human", models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="TraceProgress",
            fields=[
                (
                    "trace",
                    models.OneToOneField(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="progress",
                        serialize=False,
                        to="annotation.trace",
                    ),
                ),
                ("token", models.CharField(max_length=24)),
                (
                    "included",
                    models.BooleanField(
                        default=True, help_text="its question is not excluded, and it is no check item"
                    ),
                ),
                ("readable", models.BooleanField(default=True, help_text="it came with its text")),
                (
                    "priority",
                    models.PositiveSmallIntegerField(default=0, help_text="higher is handed out first"),
                ),
                ("wanted", models.PositiveSmallIntegerField(default=0)),
                ("labels", models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.AddField(
            model_name="study",
            name="coverage",
            field=models.CharField(
                choices=[
                    ("complete", "every trace"),
                    ("stratified", "a share of the questions of each subject"),
                ],
                default="complete",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="share",
            field=models.PositiveSmallIntegerField(
                default=100,
                help_text="percent of each subject's questions that people read, under stratified coverage",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="sharing",
            field=models.CharField(
                choices=[
                    ("free", "as they come"),
                    ("together", "all traces of a question to the same people"),
                    ("spread", "traces of a question to different people as far as possible"),
                ],
                default="free",
                max_length=10,
            ),
        ),
        migrations.AddIndex(
            model_name="label",
            index=models.Index(fields=["labeller", "-created_at", "-id"], name="labels_of_a_person_by_time"),
        ),
        migrations.AddIndex(
            model_name="label",
            index=models.Index(
                condition=models.Q(("arm", "debate"), ("revision", 1)),
                fields=["trace"],
                name="labels_of_the_debate",
            ),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=models.Q(("share__gte", 1), ("share__lte", 100)), name="a share is 1 to 100 percent"
            ),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=models.Q(("coverage__in", ["complete", "stratified"])),
                name="coverage is complete or stratified",
            ),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=models.Q(("sharing__in", ["free", "together", "spread"])),
                name="sharing is one of three",
            ),
        ),
        migrations.AddField(
            model_name="assignment",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="assignment",
            name="question",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="assignments",
                to="annotation.question",
            ),
        ),
        migrations.AddField(
            model_name="pause",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="pause",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="pauses", to="annotation.study"
            ),
        ),
        migrations.AddField(
            model_name="personprogress",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.study"
            ),
        ),
        migrations.AddField(
            model_name="traceprogress",
            name="question",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.question"
            ),
        ),
        migrations.AddField(
            model_name="traceprogress",
            name="study",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="annotation.study",
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(
                fields=("question", "person"), name="a question is assigned once"
            ),
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.UniqueConstraint(
                fields=("study", "person"), name="a person is paused once per study"
            ),
        ),
        migrations.AddConstraint(
            model_name="personprogress",
            constraint=models.UniqueConstraint(
                fields=("study", "labeller"), name="one progress per labeller and study"
            ),
        ),
        migrations.AddIndex(
            model_name="traceprogress",
            index=models.Index(
                condition=models.Q(("labels__lt", models.F("wanted"))),
                fields=["study", "priority", "token"],
                name="open_traces_in_order",
            ),
        ),
        *(migrations.RunSQL(statement, migrations.RunSQL.noop) for statement in (TRACES, STUDIES, PEOPLE)),
    ]
