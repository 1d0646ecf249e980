"""`make pictures`: the demo in a scratch home, and a picture of every page in docs/pictures, light and dark.

Needs Debian's chromium. Pictures are PNG files with few colours, so that the repository stays small.
"""

from __future__ import annotations

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
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
STUDY = "/studies/sample"
PREPARE = """
from adjudication.models import Dispute
from adjudication.services.disputes import recompute_disputes
from annotation.models import Label, Study, Trace
from annotation.services.labels import submit_label
from core.models import User

study = Study.objects.get(slug="sample")
chloe = User.objects.get(username="chloe")
unread = Trace.objects.filter(study=study).exclude(labels__person=chloe)
print("TOKEN", unread.filter(n_steps__range=(8, 14)).order_by("question__external_id").first().token)
# An open dispute: chloe reads a trace that everybody else called right and free of error otherwise.
trace = unread.filter(n_steps__gte=6, disputes__isnull=True).order_by("-question__external_id").first()
submit_label(trace=trace, person=chloe, final_correct=True, first_error_step=2)
recompute_disputes(study=study)
print("DISPUTE", Dispute.objects.get(trace=trace).token)
"""


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


def signed_in(
    browser: Browser, address: str, person: str, password: str, scheme: str, *, width: int = 1280
) -> Page:
    """Open a window of a person, in light or dark; 400 px wide it is as high as a telephone."""
    context = browser.new_context(
        base_url=address,
        viewport={"width": width, "height": 860 if width > 600 else 800},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
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
    page = browser.new_page(
        viewport={"width": 1280, "height": 860}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page.goto(f"{address}/accounts/login/")
    take(page, f"sign-in-{scheme}")

    page = signed_in(browser, address, "chloe", password, scheme)
    for name, path in (
        ("home", "/"),
        ("study", f"{STUDY}/"),
        ("queue", f"{STUDY}/queue/"),
        ("guideline", f"{STUDY}/guideline/"),
        ("training", f"{STUDY}/training/"),
    ):
        page.goto(path)
        take(page, f"{name}-{scheme}")
    page.goto(f"{STUDY}/traces/{found['TOKEN']}/")
    page.locator("#step-3").click()
    page.keyboard.press("x")
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    take(page, f"desk-{scheme}")

    page = signed_in(browser, address, "adam", password, scheme)
    for name, path in (
        ("questions", f"{STUDY}/questions/"),
        ("human-arm", f"{STUDY}/arm/"),
        ("guideline-edit", f"{STUDY}/guideline/edit/"),
        ("adjudication-rules", f"{STUDY}/adjudication/"),
        ("debates", f"{STUDY}/debates/"),
        ("disputes", f"{STUDY}/disputes/"),
        ("dispute", f"{STUDY}/disputes/{found['DISPUTE']}/"),
        ("standards", f"{STUDY}/standards/"),
        ("standard", f"{STUDY}/standards/1/"),
        ("report", f"{STUDY}/report/1/"),
    ):
        page.goto(path)
        take(page, f"{name}-{scheme}")

    page = signed_in(browser, address, "olga", password, scheme)
    for name, path in (
        ("who-reads-what", f"{STUDY}/queue/rules/"),
        ("labels", f"{STUDY}/labels/"),
        ("monitors", f"{STUDY}/monitors/"),
        ("batch-plan", f"{STUDY}/batches/new/"),
        ("batch", f"{STUDY}/batches/1/"),
    ):
        page.goto(path)
        take(page, f"{name}-{scheme}")


def visit_narrow(browser: Browser, address: str, password: str, scheme: str, found: dict[str, str]) -> None:
    """Take the pictures that are 400 px wide."""
    page = signed_in(browser, address, "chloe", password, scheme, width=400)
    for name, path in (("home", "/"), ("study", f"{STUDY}/"), ("queue", f"{STUDY}/queue/")):
        page.goto(path)
        take(page, f"{name}-narrow-{scheme}")
    page.goto(f"{STUDY}/traces/{found['TOKEN']}/")
    page.locator("#step-2").click()
    page.wait_for_timeout(300)
    take(page, f"desk-narrow-{scheme}")
    page = signed_in(browser, address, "adam", password, scheme, width=400)
    for name, path in (
        ("dispute", f"{STUDY}/disputes/{found['DISPUTE']}/"),
        ("report", f"{STUDY}/report/1/"),
    ):
        page.goto(path)
        take(page, f"{name}-narrow-{scheme}")


def main() -> None:
    """Make the demo and take every picture."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("pictures need Debian's chromium")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="falsestep-pictures-") as home:
        manage(home, "demo")
        lines = manage(home, "shell", "--verbosity", "0", "--command", PREPARE).splitlines()
        found = dict(line.split(" ", 1) for line in lines if " " in line)
        password = (Path(home) / "demo_password").read_text(encoding="ascii").strip()
        with site(home) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            for scheme in ("light", "dark"):
                visit(browser, address, password, scheme, found)
                visit_narrow(browser, address, password, scheme, found)
            browser.close()


if __name__ == "__main__":
    main()
