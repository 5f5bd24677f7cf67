"""docs/reasons.md says what the code does."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_of_reasons_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("build_reasons", DOCS / "build_reasons.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "reasons.md").read_text(encoding="utf-8") == module.page(), "run: python docs/build_reasons.py"
