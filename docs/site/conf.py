"""Sphinx over the pages of the tree as they are, in the order of readers that index.md gives (`./dev docs`)."""

import re
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "python"))

project = "Weir"
author = "the developers of Weir"
release = re.search(r"VERSION ([0-9.]+)", (TREE / "CMakeLists.txt").read_text(encoding="utf-8").partition("project(")[2])[1]

root_doc = "docs/site/index"
include_patterns = [
    "*.md", "docs/*.md", "docs/*/*.md", "apps/*/README.md", "tools/*/README.md", "deploy/*/README.md", "plugins/*/README.md",
    "libs/*/*/README.md", "libs/*/*/FORMAT.md", "python/README.md", "tests/*/README.md",
]  # fmt: skip
exclude_patterns = ["build"]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
suppress_warnings = ["toc.not_included"]  # pages of single libraries, figures and decisions: links lead there
autodoc_mock_imports = ["awkward", "crc32c", "google", "h5py", "hist", "pyarrow", "tqdm", "uproot", "zmq"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"

html_theme = "furo"
html_title = f"Weir {release}"
html_show_sphinx = False
html_copy_source = False
highlight_language = "none"

# A link to a folder leads to its README where there is one; other folders are for readers of the tree.
_LINK = re.compile(r"\[([^\]\n]+)\]\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)")


def _of_tree(page: Path):
    def replace(link: re.Match) -> str:
        text, path, anchor = link[1], link[2], link[3] or ""
        target = page.parent / path
        if not target.is_dir():
            return link[0]
        return f"[{text}]({path.rstrip('/')}/README.md{anchor})" if (target / "README.md").is_file() else text

    return replace


def _read(app, name, content):
    # Words after the language of a block are for the tests of the pages.
    text = re.sub(r"^(```\w+) .*$", r"\1", content[0], flags=re.MULTILINE)
    content[0] = _LINK.sub(_of_tree(TREE / f"{name}.md"), text)


def setup(app):
    app.connect("source-read", _read)
