"""The steps on the desk: written here, since a template's engine takes five times as long over so many small values."""

from __future__ import annotations

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from annotation.pages import AnnotatePage
from core.templatetags.mathtext import mathtext

register = template.Library()

_STEP = """\
<li class="step{marked}" id="step-{number}" data-step="{number}" tabindex="-1">
          <a class="step-number" href="#step-{number}" aria-label="Step {number}">{number}</a>
          <div class="step-text prose">{text}</div>
          <div class="step-tools"><button type="button" class="step-tool" data-copy \
aria-label="Copy step {number} as TeX">copy TeX</button><button type="button" class="step-tool" data-source \
aria-expanded="false" aria-controls="source-{number}">source</button></div>
          <pre class="step-source" id="source-{number}" hidden>{raw}</pre>
        </li>"""
_OPTION = "<option{selected}>{number}</option>"


@register.simple_tag
def step_list(page: AnnotatePage) -> SafeString:
    """Write the items of the list of steps; the one that is entered as the first false step is marked."""
    entered = page.entered
    false_step = entered.step if entered.first_error == "step" else None
    return format_html_join(
        "\n        ",
        _STEP,
        (
            {
                "number": step.number,
                "marked": " is-first-false" if step.number == false_step else "",
                "text": mathtext(step.text),
                "raw": step.raw,
            }
            for step in page.steps
        ),
    )


@register.simple_tag
def step_options(page: AnnotatePage) -> SafeString:
    """Write an option for each step; the entered one is selected."""
    return format_html_join(
        "",
        _OPTION,
        (
            {"number": step.number, "selected": " selected" if step.number == page.entered.step else ""}
            for step in page.steps
        ),
    )
