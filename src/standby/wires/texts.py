"""Law: a block that only its own protocol understands is told to another one in words, or not at all."""

from typing import Any


def plain_text(value: Any) -> str:
    """A search result or a text-made document as text; empty for what cannot be told in words."""
    if not isinstance(value, dict):
        return ""
    if value.get("type") == "search_result":
        return "\n".join(
            line for line in (_str(value.get("title")), _str(value.get("source")), _texts(value.get("content"))) if line
        )
    source = value.get("source")
    if value.get("type") == "document" and isinstance(source, dict) and source.get("type") == "content":
        return "\n".join(line for line in (_str(value.get("title")), _texts(source.get("content"))) if line)
    return ""


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> str:
    if isinstance(value, str):
        return value
    blocks = value if isinstance(value, list) else []
    return "\n".join(text for block in blocks if isinstance(block, dict) and (text := _str(block.get("text"))))
