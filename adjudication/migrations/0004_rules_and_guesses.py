"""Rules of one-arm traces and expected labels; guesses and opened arguments; roles that are taken back."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from core.guards import GuardFinalRows, UnguardFinalRows


class Migration(migrations.Migration):
    dependencies = [
        ("adjudication", "0003_corrections_by_decision"),
        ("annotation", "0006_debate_rounds"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # SQLite makes the table anew for its constraint, without its triggers.
        UnguardFinalRows("adjudication_criticalrole"),
        migrations.CreateModel(
            name="Guess",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        blank=True, choices=[("human", "Human"), ("debate", "Debate")], max_length=10
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name_plural": "guesses",
            },
        ),
        migrations.CreateModel(
            name="OpenedArguments",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name_plural": "opened arguments",
            },
        ),
        migrations.CreateModel(
            name="Rules",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "one_arm",
                    models.CharField(
                        choices=[
                            ("none", "none"),
                            ("all", "all of them"),
                            ("critical", "the critical ones: answer right, with an error"),
                            ("sample", "a seeded sample"),
                        ],
                        default="none",
                        help_text="which traces of one arm only go to the lead",
                        max_length=10,
                    ),
                ),
                ("sample_percent", models.PositiveSmallIntegerField(default=20)),
                ("sample_seed", models.PositiveIntegerField(default=0)),
                (
                    "debate_expected",
                    models.CharField(
                        choices=[
                            ("auto", "once the debate arm has begun"),
                            ("yes", "on every trace"),
                            ("no", "not at all"),
                        ],
                        default="auto",
                        max_length=5,
                    ),
                ),
                (
                    "arguments_open",
                    models.BooleanField(default=False, help_text="whether a lead may open the arguments"),
                ),
                (
                    "own_labels",
                    models.BooleanField(
                        default=False,
                        help_text="whether a lead may settle a trace that they labelled themselves",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "rules",
            },
        ),
        migrations.CreateModel(
            name="StatedGap",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reason", models.CharField(max_length=500)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="criticalrole",
            name="a critical role is one of four",
        ),
        migrations.RemoveConstraint(
            model_name="dispute",
            name="a dispute differs in something",
        ),
        migrations.RemoveIndex(
            model_name="dispute",
            name="dispute_by_status",
        ),
        migrations.AddField(
            model_name="dispute",
            name="awaits_labels",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="dispute",
            name="by_rule",
            field=models.CharField(
                blank=True, help_text="the rule that sent a trace of one arm only to the lead", max_length=10
            ),
        ),
        migrations.AlterField(
            model_name="criticalrole",
            name="kind",
            field=models.CharField(
                blank=True,
                choices=[
                    ("repaired_or_exploratory", "Repaired or exploratory"),
                    ("supplementary_claim", "Supplementary claim"),
                    ("robust_numerical_or_algebraic", "Robust numerical or algebraic"),
                    ("substantive", "Substantive"),
                ],
                max_length=40,
            ),
        ),
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(fields=["study", "status", "token"], name="dispute_in_order"),
        ),
        migrations.AddConstraint(
            model_name="criticalrole",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            "repaired_or_exploratory",
                            "supplementary_claim",
                            "robust_numerical_or_algebraic",
                            "substantive",
                        ],
                    ),
                    models.Q(("kind", ""), ("revision__gt", 1)),
                    _connector="OR",
                ),
                name="a critical role is one of four, or taken back",
            ),
        ),
        migrations.AddConstraint(
            model_name="dispute",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("differs_in_answer", True),
                    ("differs_in_presence", True),
                    ("differs_in_step", True),
                    ("by_rule__in", ["all", "critical", "sample"]),
                    _connector="OR",
                ),
                name="a dispute differs in something or a rule sent it",
            ),
        ),
        migrations.AddField(
            model_name="guess",
            name="decision",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="guesses",
                to="adjudication.decision",
            ),
        ),
        migrations.AddField(
            model_name="guess",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="openedarguments",
            name="dispute",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="opened_arguments",
                to="adjudication.dispute",
            ),
        ),
        migrations.AddField(
            model_name="openedarguments",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="rules",
            name="study",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="adjudication_rules",
                to="annotation.study",
            ),
        ),
        migrations.AddField(
            model_name="statedgap",
            name="stated_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="statedgap",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="stated_gaps", to="annotation.study"
            ),
        ),
        migrations.AddField(
            model_name="statedgap",
            name="trace",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="stated_gaps",
                to="annotation.trace",
            ),
        ),
        migrations.AddConstraint(
            model_name="guess",
            constraint=models.UniqueConstraint(
                fields=("decision", "person"), name="one guess per decision and person"
            ),
        ),
        migrations.AddConstraint(
            model_name="guess",
            constraint=models.CheckConstraint(
                condition=models.Q(("source__in", ["human", "debate", ""])),
                name="a guess is human, debate or none",
            ),
        ),
        migrations.AddConstraint(
            model_name="openedarguments",
            constraint=models.UniqueConstraint(
                fields=("dispute", "person"), name="arguments are opened once per lead and dispute"
            ),
        ),
        migrations.AddConstraint(
            model_name="rules",
            constraint=models.CheckConstraint(
                condition=models.Q(("one_arm__in", ["none", "all", "critical", "sample"])),
                name="one-arm traces go by one of four rules",
            ),
        ),
        migrations.AddConstraint(
            model_name="rules",
            constraint=models.CheckConstraint(
                condition=models.Q(("sample_percent__gte", 1), ("sample_percent__lte", 100)),
                name="a sample is 1 to 100 percent",
            ),
        ),
        migrations.AddConstraint(
            model_name="rules",
            constraint=models.CheckConstraint(
                condition=models.Q(("debate_expected__in", ["auto", "yes", "no"])),
                name="the debate is expected, not, or once it began",
            ),
        ),
        migrations.AddConstraint(
            model_name="statedgap",
            constraint=models.UniqueConstraint(fields=("trace",), name="one stated gap per trace"),
        ),
        migrations.AddConstraint(
            model_name="statedgap",
            constraint=models.UniqueConstraint(
                condition=models.Q(("trace__isnull", True)),
                fields=("study",),
                name="one stated gap for a whole study",
            ),
        ),
        migrations.AddConstraint(
            model_name="statedgap",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True), name="a stated gap says why"
            ),
        ),
        GuardFinalRows("adjudication_criticalrole"),
        GuardFinalRows("adjudication_guess"),
        GuardFinalRows("adjudication_openedarguments"),
        GuardFinalRows("adjudication_statedgap"),
    ]
