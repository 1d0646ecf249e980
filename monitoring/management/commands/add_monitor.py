"""Add a monitor to a study: a model behind a provider's address, or an offline baseline."""

from __future__ import annotations

import argparse
import json
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from core.management.base import FalsestepCommand
from monitoring.models import Monitor
from monitoring.services import MonitorSettings, add_monitor

PROVIDERS = [name for name in Monitor.Provider.values if name != Monitor.Provider.RELEASED]


class Command(FalsestepCommand):
    help = (
        "Add a monitor to a study. Its key is never stored: --key-env names the environment variable of the "
        "workers that holds it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--slug", required=True, help="the monitor's name in this study")
        parser.add_argument("--provider", choices=PROVIDERS, default=Monitor.Provider.OPENAI_COMPATIBLE)
        parser.add_argument("--model", default="", help="the model's name at its provider")
        parser.add_argument(
            "--base-url",
            default="",
            metavar="URL",
            help="such as https://host/v1; anthropic and google: by default their own",
        )
        parser.add_argument("--key-env", default="", metavar="NAME")
        parser.add_argument("--input-price", type=_price, metavar="USD", help="per million input tokens")
        parser.add_argument("--output-price", type=_price, metavar="USD", help="per million output tokens")
        parser.add_argument("--temperature", type=_temperature, default=0.0, metavar="T", help="or none")
        parser.add_argument("--max-tokens", type=int, default=4000, metavar="N")
        parser.add_argument("--reasoning-effort", default="", metavar="WORD")
        parser.add_argument("--seed", type=int, metavar="N")
        parser.add_argument("--json-mode", action="store_true", help="ask the provider for a JSON object")
        parser.add_argument("--concurrency", type=int, default=16, metavar="N", help="requests in flight")
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            type=_option,
            metavar="NAME=VALUE",
            help="of a provider (thinking_tokens=2000) or an offline monitor (rate=0.3, monitor=SLUG)",
        )

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        monitor = add_monitor(
            study=study,
            settings=MonitorSettings(
                **{name: options[name] for name in vars(MonitorSettings(slug="-")) if name != "options"},
                options=dict(options["option"]),
            ),
            actor=None,
        )
        priced = "" if monitor.has_price else "; tell its prices before it can run"
        self.say(f"monitor {monitor.slug} added to {study.slug}{priced}")


def _price(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no price in USD") from error


def _temperature(text: str) -> float | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no temperature") from error


def _option(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
