"""What MkDocs cannot know by itself: the operations of the contract, the decisions, how our pages look.

MkDocs calls the functions that begin with ``on_`` at their moment of the build (mkdocs.yml, hooks).
"""

import logging
import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
DECISIONS = ROOT / "docs" / "decisions"
STATIC = ROOT / "dashboard" / "static"
FONTS = "vendored/@fontsource-variable/inter/*"
OPERATIONS = "<!-- operations -->"
LIST_OF_DECISIONS = "<!-- decisions -->"
METHODS = ("get", "post", "put", "patch", "delete")
# A tag that loads something from elsewhere; a plain link (<a href>) is the reader's own choice.
LOADS = re.compile(
    r"""<(?:script|img|iframe|source|link\b[^>]*?rel="?(?:stylesheet|preload|icon))\b
    [^>]*?\s(?:src|href)="?((?:https?:)?//[^"\s>]+)""",
    re.VERBOSE,
)
# Below this logger a warning fails the strict build.
log = logging.getLogger("mkdocs.hooks.docs")


def on_config(config: Any, **_: Any) -> Any:
    """Put every decision into the last section of the navigation, so that none is forgotten."""
    pages = ["decisions/index.md", *(f"decisions/{path.name}" for path in decisions())]
    (last,) = config["nav"][-1].values()
    last.append({"Decisions": pages})
    return config


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the dashboard's colours, font and logo: they are the documentation's as well."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - tests read the rest without MkDocs

    fonts = (path.relative_to(STATIC).as_posix() for path in STATIC.glob(FONTS))
    for path in ("tokens.css", "logo.svg", *fonts):
        files.append(File(path, str(STATIC), config["site_dir"], use_directory_urls=False))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in what is generated."""
    if OPERATIONS in markdown:
        contract = yaml.safe_load((ROOT / "openapi.yaml").read_text())
        markdown = markdown.replace(OPERATIONS, operations(contract))
    return markdown.replace(LIST_OF_DECISIONS, list_of_decisions())


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Warn of a page that would load something from another host."""
    for address in LOADS.findall(output):
        log.warning("%s loads %s", page.file.src_uri, address)
    return output


def operations(contract: dict[str, Any]) -> str:
    """The operations of a contract by tag, in Markdown."""
    return "\n\n".join(_of_tag(contract, tag) for tag in contract["tags"])


def decisions() -> list[Path]:
    """The files of the decisions, the oldest first."""
    return sorted(DECISIONS.glob("[0-9]*.md"))


def list_of_decisions() -> str:
    """A link to each decision by its title, in Markdown."""
    titles = ((path.name, path.read_text().partition("\n")[0]) for path in decisions())
    return "\n".join(f"- [{title.removeprefix('# ')}]({name})" for name, title in titles)


def _of_tag(contract: dict[str, Any], tag: dict[str, str]) -> str:
    found = [
        (method, path, operation)
        for path, item in contract["paths"].items()
        for method, operation in item.items()
        if method in METHODS and tag["name"] in operation["tags"]
    ]
    sections = [f"## {tag['name'].capitalize()}", tag["description"]]
    return "\n\n".join(sections + [_operation(*one) for one in found])


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    answers = ", ".join(f"`{status}`" for status in operation["responses"])
    heading = f"### {operation['summary']} {{ #{operation['operationId']} }}"
    call = f"`{method.upper()} {path}` (`{operation['operationId']}`)"
    return "\n\n".join([heading, call, operation["description"].strip(), f"Answers: {answers}"])
