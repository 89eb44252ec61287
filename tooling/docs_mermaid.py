"""Adds Mermaid, which draws the diagrams of the documentation, to the site.

Without it, the theme would load the script from another host (mkdocs.yml, hooks).
"""

from pathlib import Path
from typing import Any

SCRIPT = "mermaid.tiny.js"
BLOCK = '<pre class="mermaid"><code>'
# Mermaid's default look colours boxes inline. This one takes the colours of the theme, also in dark mode.
# The theme does not colour arrowheads. This grey is visible on light and dark.
LOOK = """---
config:
  theme: default
  look: classic
  themeVariables:
    signalColor: "#7f8c86"
    actorLineColor: "#7f8c86"
---
"""
FOLDER = Path(__file__).resolve().parent.parent / "node_modules/@mermaid-js/tiny/dist"


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the library to the site."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - tests read the rest without MkDocs

    files.append(File(SCRIPT, str(FOLDER), config["site_dir"], use_directory_urls=False))
    return files


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Load the library only on pages with a diagram, because it is large."""
    if BLOCK not in html:
        return html
    up = "../" * page.url.count("/")
    return f'{html.replace(BLOCK, BLOCK + LOOK)}\n<script src="{up}{SCRIPT}"></script>'
