"""Adds the decisions, and the dashboard's colours, font and logo, to the documentation.

MkDocs calls the functions named ``on_...`` during the build (mkdocs.yml, hooks).
"""

import logging
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DECISIONS = ROOT / "docs" / "decisions"
STATIC = ROOT / "dashboard" / "static"
FONTS = "vendored/@fontsource-variable/inter/*"
LIST_OF_DECISIONS = "<!-- decisions -->"
SEARCH = '<div class="md-search" data-md-component="search" role="dialog"'
# A tag that loads a file from another host. A plain link (<a href>) is fine: the reader decides.
LOADS = re.compile(
    r"""<(?:script|img|iframe|source|link\b[^>]*?rel="?(?:stylesheet|preload|icon))\b
    [^>]*?\s(?:src|href)="?((?:https?:)?//[^"\s>]+)""",
    re.VERBOSE,
)
# A warning of this logger or its children fails the strict build.
log = logging.getLogger("mkdocs.hooks.docs")


def on_config(config: Any, **_: Any) -> Any:
    """Add every decision to the last section of the navigation."""
    pages = ["decisions/index.md", *(f"decisions/{path.name}" for path in decisions())]
    (last,) = config["nav"][-1].values()
    last.append({"Decisions": pages})
    return config


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the dashboard's colours, font and logo, which the documentation shares."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - tests read the rest without MkDocs

    fonts = (path.relative_to(STATIC).as_posix() for path in STATIC.glob(FONTS))
    for path in ("tokens.css", "logo.svg", *fonts):
        files.append(File(path, str(STATIC), config["site_dir"], use_directory_urls=False))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the list of decisions."""
    return markdown.replace(LIST_OF_DECISIONS, list_of_decisions())


def on_page_content(html: str, **_: Any) -> str:
    """Make empty headers of tables plain cells: a screen reader would announce a header without a name."""
    return html.replace("<th></th>", "<td></td>")


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Warn about files that a page would load from another host, and name its search dialog."""
    for address in LOADS.findall(output):
        log.warning("%s loads %s", page.file.src_uri, address)
    return with_search_named(output)


def on_post_template(output_content: str, **_: Any) -> str:
    """Name the search dialog of the page for unknown addresses."""
    return with_search_named(output_content)


def with_search_named(output: str) -> str:
    """The page with a name for the theme's search dialog, which screen readers announce."""
    return output.replace(SEARCH, f'{SEARCH} aria-label="Search"')


def decisions() -> list[Path]:
    """The files of the decisions, the oldest first."""
    return sorted(DECISIONS.glob("[0-9]*.md"))


def list_of_decisions() -> str:
    """A link to each decision by its title, in Markdown."""
    titles = ((path.name, path.read_text().partition("\n")[0]) for path in decisions())
    return "\n".join(f"- [{title.removeprefix('# ')}]({name})" for name, title in titles)
