"""Law: a Messages body becomes one neutral request; what has no neutral place stays in its extras."""

from collections.abc import Mapping
from typing import Any

from standby.wires.common import Dialect, Json, Message, OutputFormat, Request, Role, ThinkingAsk, Tool, ToolChoice
from standby.wires.messages_blocks import parse_content
from standby.wires.reading import Reader, open_body, rejected

_MODES = {"auto": "auto", "any": "required", "none": "none", "tool": "tool"}
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}


def parse_request(body: Mapping[str, Json], raw: bytes | None = None) -> Request:
    """The request; `raw` is what it was decoded from. Raises RequestRejected, naming the member, for what must be
    understood and is not."""
    reader = open_body(body)
    choice, parallel = _choice(reader)
    user, metadata = _metadata(reader)
    output, effort, options = _output_config(reader)
    return Request(
        _messages(reader),
        model=reader.string("model") or "",
        stream=reader.flag("stream") or False,
        tools=_tools(reader),
        tool_choice=choice,
        parallel_tool_calls=parallel,
        max_tokens=reader.positive("max_tokens"),
        temperature=reader.number("temperature"),
        top_p=reader.number("top_p"),
        top_k=reader.integer("top_k"),
        stop=reader.texts("stop_sequences"),
        output=output,
        thinking=_thinking(reader, effort),
        user=user,
        metadata=metadata,
        service_tier=reader.string("service_tier"),
        protocol=Dialect.MESSAGES,
        raw=raw,
        extras={**reader.rest(), **options},
    )


def _messages(reader: Reader) -> tuple[Message, ...]:
    system = reader.take("system")
    messages = []
    if system is not None and system not in ("", []):
        messages.append(Message(Role.SYSTEM, parse_content(system, "system")))
    listed = reader.items("messages")
    if not listed:
        raise rejected("messages", "must be a list with at least one message")
    for at, item in enumerate(listed):
        one = Reader(item, f"messages[{at}]")
        told = one.needed("role")
        if told not in _ROLES:
            raise rejected(one.at("role"), f"unknown role {told[:40]!r}; known are {', '.join(_ROLES)}")
        content = one.take("content")
        if content is None:
            raise rejected(one.at("content"), "is missing")
        messages.append(Message(_ROLES[told], parse_content(content, one.at("content")), extras=one.rest()))
    return tuple(messages)


def _tools(reader: Reader) -> tuple[Tool, ...]:
    listed = reader.items("tools") or []
    return tuple(_tool(Reader(item, f"tools[{at}]")) for at, item in enumerate(listed))


def _tool(reader: Reader) -> Tool:
    kind = reader.string("type") or "custom"
    if kind != "custom":
        name = reader.string("name") or ""
        return Tool(name, kind=kind, cache=reader.cache(), extras=reader.rest())
    name, description, schema = reader.needed("name"), reader.string("description"), reader.mapping("input_schema")
    if schema is None:
        raise rejected(reader.at("input_schema"), "is missing")
    return Tool(name, description, schema, reader.flag("strict"), cache=reader.cache(), extras=reader.rest())


def _choice(reader: Reader) -> tuple[ToolChoice | None, bool | None]:
    told = reader.mapping("tool_choice")
    if told is None:
        return None, None
    choice = Reader(told, "tool_choice")
    kind = choice.needed("type")
    if kind not in _MODES:
        raise rejected("tool_choice.type", f"must be one of {', '.join(_MODES)}")
    single = choice.flag("disable_parallel_tool_use")
    name = choice.needed("name") if kind == "tool" else None
    return ToolChoice(_MODES[kind], name), None if single is None else not single


def _metadata(reader: Reader) -> tuple[str | None, dict[str, Json] | None]:
    told = reader.mapping("metadata")
    if told is None:
        return None, None
    metadata = Reader(told, "metadata")
    return metadata.string("user_id"), metadata.rest() or None


def _output_config(reader: Reader) -> tuple[OutputFormat | None, str | None, dict[str, Any]]:
    told = reader.mapping("output_config")
    if told is None:
        return None, None, {}
    config = Reader(told, "output_config")
    effort = config.string("effort")
    output = None
    shape = config.look("format")
    if isinstance(shape, dict) and shape.get("type") == "json_schema" and shape.keys() == {"type", "schema"}:
        config.take("format")
        output = OutputFormat("json_schema", schema=Reader(shape, "output_config.format").mapping("schema") or {})
    rest = config.rest()
    return output, effort, {"output_config": rest} if rest else {}


def _thinking(reader: Reader, effort: str | None) -> ThinkingAsk | None:
    told = reader.look("thinking")
    if told is not None and not isinstance(told, dict):
        raise rejected("thinking", "must be an object")
    if told is None or not told.keys() <= {"type", "budget_tokens", "display"}:
        return None if effort is None else ThinkingAsk(effort=effort)
    reader.take("thinking")
    asked = Reader(told, "thinking")
    kind, budget, shown = asked.needed("type"), asked.positive("budget_tokens"), asked.string("display")
    if kind == "enabled":
        if budget is None:
            raise rejected("thinking.budget_tokens", "is missing")
        return ThinkingAsk(budget=budget, summary=shown, effort=effort)
    return ThinkingAsk("off" if kind == "disabled" else kind, summary=shown, effort=effort)
