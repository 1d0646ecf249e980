"""`make pictures`: the demo in a scratch home, and a picture of every page in docs/pictures, light and dark.

Needs Debian's chromium. Pictures are PNG files with few colours, so that the repository stays small.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import django
from django.urls import reverse
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
BUILD = "import json; from tests.scene import build; print(json.dumps(build()))"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@dataclass(frozen=True)
class Shot:
    """A picture: the page's name in the address table, who looks at it, and the arguments of its address.

    An argument in capitals is looked up in what `tests.scene.build` made. A step is clicked before the picture.
    """

    name: str
    view: str
    person: str | None
    arguments: tuple[str, ...] = ()
    click: str = ""
    narrow: bool = False
    study: str = "sample"
    query: str = ""

    def path(self, found: dict[str, str]) -> str:
        """Return the address."""
        arguments = [found.get(one, one) for one in self.arguments]
        if self.study:
            arguments.insert(0, self.study)
        return reverse(self.view, args=arguments) + self.query


SHOTS = (
    Shot("sign-in", "login", None, study=""),
    Shot("home", "home", "chloe", study="", narrow=True),
    Shot("tokens", "tokens", "chloe", study=""),
    Shot("invitation", "invitation", None, ("INVITATION",), study=""),
    Shot("confirm", "confirm", "olga", study="", query="?next=/"),
    Shot("password", "password", "chloe", study=""),
    Shot("guide", "guide", "chloe", ("annotator",), study=""),
    Shot("study", "study", "chloe", narrow=True),
    Shot("queue", "queue", "chloe", narrow=True),
    Shot("desk", "annotate", "chloe", ("TOKEN",), click="#step-3", narrow=True),
    Shot("guideline", "guideline", "chloe"),
    Shot("training", "training", "chloe", study="training"),
    Shot("gate", "gate", "chloe", study="training"),
    Shot("gate-item", "gate_item", "chloe", ("GATE",), study="training"),
    Shot("questions", "questions", "adam"),
    Shot("human-arm", "arm", "adam"),
    Shot("pilot", "pilot", "olga", study="pilot"),
    Shot("guideline-edit", "guideline_edit", "adam"),
    Shot("adjudication-rules", "adjudication_rules", "adam"),
    Shot("disputes", "disputes", "adam"),
    Shot("dispute", "dispute", "adam", ("DISPUTE",), narrow=True),
    Shot("dispute-decided", "dispute", "adam", ("DEBATE",)),
    Shot("debates", "debates", "adam"),
    Shot("debate", "debate", "adam", ("DEBATE",)),
    Shot("standards", "standards", "adam"),
    Shot("standard", "standard", "adam", ("1",)),
    Shot("standard-difference", "standard_difference", "adam", ("1", "2")),
    Shot("standard-figures", "standard_figures", "adam", ("1", "2")),
    Shot("critical-roles", "critical_roles", "adam", ("1",)),
    Shot("critical-role", "critical_role", "adam", ("1", "CRITICAL")),
    Shot("verification", "verification", "adam"),
    Shot("verification-trace", "verify_trace", "adam", ("CHECKED",)),
    Shot("experts", "experts", "adam"),
    Shot("expert-item", "expert_item", "adam", ("ITEM",)),
    Shot("key-audits", "key_audits", "adam", study="blocks"),
    Shot("key-audit", "key_audit", "adam", ("AUDITED",), study="blocks"),
    Shot("grading", "grading", "adam"),
    Shot("report", "report", "olga", ("1",), narrow=True),
    Shot("graders", "study_graders", "olga", ("1",)),
    Shot("who-reads-what", "queue_rules", "olga"),
    Shot("people", "people", "olga"),
    Shot("labels", "exports", "olga"),
    Shot("webhooks", "webhooks", "olga"),
    Shot("monitors", "monitors", "olga"),
    Shot("debate-order", "debate_order", "olga"),
    Shot("generation-order", "generation_order", "olga"),
    Shot("concerns", "concerns", "olga"),
    Shot("batches", "batches", "olga"),
    Shot(
        "batch-plan",
        "batch_new",
        "olga",
        query="?monitors=rules&monitors=oracle&conditions=BLIND&conditions=CERT&standard=1",
    ),
    Shot("batch", "batch", "olga", ("1",)),
    Shot("run", "run", "olga", ("1", "rules", "BLIND")),
    Shot("run-trace", "run_trace", "olga", ("1", "rules", "BLIND", "CRITICAL")),
)
# Addresses that a person may open and that are no page of their own.
NOT_PICTURED = {
    "healthz": "for machines",
    "metrics": "for machines",
    "guides": "the first guide",
    "oidc_authentication_init": "leads to the provider",
    "oidc_authentication_callback": "leads back from the provider",
    "report_json": "a file",
    "report_methods": "a file",
    "run_download": "a file",
    "download_labels": "a file",
    "batch_progress": "a part of the batch's page",
    "report_latest": "leads to the report",
    "study_graders_latest": "leads to the graders",
    "guideline_version": "looks as the guideline does",
    "report_traces": "looks as the run's list does",
}


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def site(home: str) -> Iterator[str]:
    """Serve a home and yield the address."""
    port = free_port()
    env = {**os.environ, "FALSESTEP_HOME": home}
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "config.wsgi",
        "--bind",
        f"127.0.0.1:{port}",
        "--threads",
        "4",
    ]
    process = subprocess.Popen([*command, "--log-level", "error"], cwd=ROOT, env=env)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{address}/healthz", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def manage(home: str, *arguments: str) -> str:
    """Run a command in a home and return what it printed."""
    env = {**os.environ, "FALSESTEP_HOME": home, "SERVE": "0"}
    env.pop("DATABASE_URL", None)
    env.pop("REDIS_URL", None)
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def window(
    browser: Browser, address: str, person: str | None, password: str, scheme: str, *, width: int
) -> Page:
    """Open a window, of a person or of nobody, in light or dark; 400 px wide it is as high as a telephone."""
    context = browser.new_context(
        base_url=address,
        viewport={"width": width, "height": 860 if width > 600 else 800},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    if person is None:
        return page
    page.goto("/accounts/login/")
    page.fill("[name=username]", person)
    page.fill("[name=password]", password)
    page.click("button:has-text('Sign in')")
    return page


def take(page: Page, name: str) -> None:
    """Write the window as a PNG of 64 colours."""
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(64, method=Image.Quantize.MEDIANCUT).save(path, optimize=True)


def visit(browser: Browser, address: str, password: str, scheme: str, found: dict[str, str]) -> None:
    """Take the pictures of one colour scheme."""
    windows: dict[tuple[str | None, int], Page] = {}
    for shot in SHOTS:
        for width in (1280, 400) if shot.narrow else (1280,):
            key = (shot.person, width)
            if key not in windows:
                windows[key] = window(browser, address, shot.person, password, scheme, width=width)
            page = windows[key]
            answer = page.goto(shot.path(found))
            if answer is None or answer.status != 200:
                raise SystemExit(f"{shot.name}: {page.url} answered {answer and answer.status}")
            if shot.click:
                page.locator(shot.click).click()
                page.mouse.move(0, 0)
                page.wait_for_timeout(300)
            take(page, f"{shot.name}{'-narrow' if width == 400 else ''}-{scheme}")


def main() -> None:
    """Make the demo and take every picture."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("pictures need Debian's chromium")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="falsestep-pictures-") as home:
        manage(home, "demo")
        made = manage(home, "shell", "--verbosity", "0", "--command", BUILD)
        found: dict[str, str] = json.loads(made.splitlines()[-1])
        password = (Path(home) / "demo_password").read_text(encoding="ascii").strip()
        with site(home) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            for scheme in ("light", "dark"):
                visit(browser, address, password, scheme, found)
            browser.close()


if __name__ == "__main__":
    main()
