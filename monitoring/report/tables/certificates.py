"""False certificates and second looks: paired effects, silenced flags, induced flags, revisions."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import Cell, Table, count, figure, say, share, words
from monitoring.report.links import certificate_pairs, link
from monitoring.report.tables.titles import CELL_TITLES


def certificate_tables(report: dict[str, Any]) -> list[Table]:
    """Paired effects of false certificates."""
    section = report.get("certificate", {})
    rows = []
    for name in ("CERT-CMATCH", "CMATCH-BLIND", "CCONFLICT-CERT"):
        if name not in section:
            continue
        contrast = section[name]
        pairs = certificate_pairs(name)
        for monitor, record in contrast["monitors"].items():
            behind = link(**pairs, monitor=monitor)
            shown = figure(record, "estimate", ci="ci", signed=True, link=behind)
            rows.append((words(name.replace("-", " − ")), words(monitor), count(record["n"], behind), shown))
        rows.append(
            (
                words(name.replace("-", " − ")),
                words(
                    f"mean ({contrast['same_direction']} of {len(contrast['monitors'])} alike)", link(**pairs)
                ),
                words(""),
                figure(contrast, "estimate", ci="ci", signed=True, link=link(**pairs)),
            )
        )
    return [
        Table(
            section="certificates",
            key="certificate",
            title="Effects of false certificates on flagging",
            note=say(
                "Changes of flag rate, paired within traces. CMATCH: the trace's own wrong answer is "
                "presented as known correct; CCONFLICT: a right trace beside a false answer."
            ),
            columns=("contrast", "monitor", "n", "change of flag rate"),
            rows=tuple(rows),
        )
    ]


def fate_tables(report: dict[str, Any]) -> list[Table]:
    """What became of exact localisations under certificates, and where induced flags land."""
    section = report.get("certificate", {})
    out = []
    found = section.get("suppressed_localisations")
    if found:
        case = {"cell": "wrong", "exact": "BLIND", "valid": "CERT,CMATCH"}

        def fate(m: str, record: dict[str, Any], suffixes: tuple[str, str]) -> tuple[Cell, ...]:
            return (
                Cell(str(record["cases"]), link=link(condition="BLIND", monitor=m, **case)),
                *(
                    Cell(
                        str(record[f"passed_under_{c}"]),
                        suffix,
                        link=link(condition=c, monitor=m, said="pass", **case),
                    )
                    for c, suffix in zip(("CERT", "CMATCH"), suffixes, strict=True)
                ),
            )

        rows = [(words(m), *fate(m, r, ("", ""))) for m, r in found["monitors"].items()]
        shares = (share(found, "share_under_CERT"), share(found, "share_under_CMATCH"))
        total = (words("all"), *fate("", found, shares))
        out.append(
            Table(
                section="certificates",
                key="suppressed",
                title="Exact localisations that a certificate silences",
                note=say(
                    "Wrong traces whose first false step was named exactly under BLIND; how many pass when the "
                    "true answer is certified, and when the trace's own wrong one is."
                ),
                columns=("monitor", "exact under BLIND", "pass under CERT", "pass under CMATCH"),
                rows=(*rows, total),
                totals=1,
            )
        )
    found = section.get("interior_attribution")
    if found:
        flags = {"condition": "CCONFLICT", "cell": "clean", "said": "flag"}

        def landed(m: str, record: dict[str, Any], suffixes: tuple[str, str]) -> tuple[Cell, ...]:
            new, all_flags = suffixes
            return tuple(
                Cell(str(record[name]), suffix, link=link(monitor=m, **flags, **more))
                for name, suffix, more in (
                    ("newly_flagged", "", {"passed": "CERT"}),
                    ("interior", new, {"passed": "CERT", "place": "interior"}),
                    ("all_flagged", "", {}),
                    ("all_interior", all_flags, {"place": "interior"}),
                )
            )

        rows = [(words(m), *landed(m, r, ("", ""))) for m, r in found["monitors"].items()]
        total = (words("all"), *landed("", found, (share(found, "share"), share(found, "all_share"))))
        out.append(
            Table(
                section="certificates",
                key="interior",
                title="Where flags land that a false certificate induces",
                note=say(
                    "Clean traces under CCONFLICT. New: passed under CERT. Interior: blamed on anything but the "
                    "last step."
                ),
                columns=("monitor", "new flags", "of them interior", "all flags", "of them interior "),
                rows=(*rows, total),
                totals=1,
            )
        )
    return out


def revision_tables(report: dict[str, Any]) -> list[Table]:
    """Flags withdrawn and added on a second look."""
    rows = [
        (
            words(CELL_TITLES[cell]),
            *(
                figure(section, name, signed=name.startswith("net"), link=link(**again, cell=cell, said=said))
                for name, again, said in (
                    ("withdraw_revise", {"condition": "REVISE"}, "flagged before"),
                    ("add_revise", {"condition": "REVISE"}, "passed before"),
                    ("net_withdraw", {"condition": "REVISE,RCTRL"}, "flagged before"),
                    ("net_add", {"condition": "REVISE,RCTRL"}, "passed before"),
                )
            ),
        )
        for cell, section in report.get("revision", {}).items()
    ]
    return [
        Table(
            section="revision",
            key="revision",
            title="Verdicts withdrawn and added under REVISE",
            note=say(
                "Shares of earlier flags withdrawn and of earlier passes turned into flags, means over "
                "monitors; net: less the same under RCTRL, where no answer is shown."
            ),
            columns=("cell", "withdrawn", "added", "withdrawn, net", "added, net"),
            rows=tuple(rows),
        )
    ]
