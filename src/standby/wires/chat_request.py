"""Law: a Chat Completions body becomes one neutral request; what has no neutral place stays in its extras."""

from collections.abc import Mapping
from typing import Any

from standby.wires.chat_messages import parse_messages
from standby.wires.common import Dialect, Json, OutputFormat, Request, ThinkingAsk, Tool, ToolChoice
from standby.wires.reading import Reader, open_body, rejected

_NUMBERS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
_INTEGERS = ("seed", "top_k", "top_logprobs")
_FLAGS = ("parallel_tool_calls", "logprobs", "store")
_STRINGS = ("verbosity", "user", "service_tier")


def parse_request(body: Mapping[str, Json], raw: bytes | None = None) -> Request:
    """The request; `raw` is what it was decoded from. Raises RequestRejected, naming the member, for what must be
    understood and is not."""
    reader = open_body(body)
    values: dict[str, Any] = {name: reader.number(name) for name in _NUMBERS}
    values |= {name: reader.integer(name) for name in _INTEGERS}
    values |= {name: reader.flag(name) for name in _FLAGS}
    values |= {name: reader.string(name) for name in _STRINGS}
    bound, older = reader.positive("max_completion_tokens"), reader.positive("max_tokens")
    include_usage, options = _stream_options(reader)
    return Request(
        parse_messages(reader),
        model=reader.string("model") or "",
        stream=reader.flag("stream") or False,
        tools=_tools(reader),
        tool_choice=_choice(reader),
        max_tokens=older if bound is None else bound,
        stop=reader.texts("stop"),
        n=reader.positive("n"),
        logit_bias=_bias(reader),
        output=_output(reader),
        thinking=_thinking(reader),
        metadata=reader.mapping("metadata") or None,
        cache_key=reader.string("prompt_cache_key"),
        include_usage=include_usage,
        protocol=Dialect.CHAT,
        raw=raw,
        **values,
        extras={**reader.rest(), **options},
    )


def _stream_options(reader: Reader) -> tuple[bool | None, dict[str, Json]]:
    told = reader.mapping("stream_options")
    if told is None:
        return None, {}
    options = Reader(told, "stream_options")
    wanted, rest = options.flag("include_usage"), options.rest()
    return wanted, {"stream_options": rest} if rest else {}


def _bias(reader: Reader) -> dict[str, float] | None:
    told = reader.mapping("logit_bias")
    for token, value in (told or {}).items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise rejected(f"logit_bias.{token}", "must be a number")
    return told


def _output(reader: Reader) -> OutputFormat | None:
    told = reader.look("response_format")
    if not isinstance(told, dict):
        if told is not None:
            raise rejected("response_format", "must be an object")
        return None
    kind = told.get("type")
    if kind in {"text", "json_object"} and len(told) == 1:
        reader.take("response_format")
        return OutputFormat(kind)
    if kind != "json_schema":
        return None
    reader.take("response_format")
    schema = Reader(told.get("json_schema"), "response_format.json_schema")
    return OutputFormat(
        kind, schema.needed("name"), schema.mapping("schema"), schema.flag("strict"), schema.string("description")
    )


def _thinking(reader: Reader) -> ThinkingAsk | None:
    effort = reader.string("reasoning_effort")
    told = reader.look("reasoning")
    if not isinstance(told, dict) or not told.keys() <= {"effort", "max_tokens", "exclude", "enabled"}:
        return None if effort is None else ThinkingAsk("off" if effort == "none" else effort)
    reader.take("reasoning")
    asked = Reader(told, "reasoning")
    level = asked.string("effort") or effort
    if asked.flag("enabled") is False or level == "none":
        level = "off"
    exclude = asked.flag("exclude")
    return ThinkingAsk(level, asked.positive("max_tokens"), include=None if exclude is None else not exclude)


def _tools(reader: Reader) -> tuple[Tool, ...]:
    listed = reader.items("tools") or []
    return tuple(_tool(Reader(item, f"tools[{at}]")) for at, item in enumerate(listed))


def _tool(reader: Reader) -> Tool:
    kind = reader.string("type") or "function"
    if kind not in {"function", "custom"}:
        return Tool("", kind=kind, extras=reader.rest())
    inner = Reader(reader.take(kind), reader.at(kind))
    name, description = inner.needed("name"), inner.string("description")
    if kind == "custom":
        more = {"custom": rest} if (rest := inner.rest()) else {}
        return Tool(name, description, kind=kind, extras={**reader.rest(), **more})
    schema, strict, cache = inner.mapping("parameters"), inner.flag("strict"), reader.cache()
    more = {"function": rest} if (rest := inner.rest()) else {}
    return Tool(name, description, schema, strict, cache=cache, extras={**reader.rest(), **more})


def _choice(reader: Reader) -> ToolChoice | None:
    told = reader.look("tool_choice")
    if isinstance(told, str):
        reader.take("tool_choice")
        if told not in {"auto", "none", "required"}:
            raise rejected("tool_choice", "must be auto, none, required or an object that names a tool")
        return ToolChoice(told)
    if told is None:
        return None
    if not isinstance(told, dict):
        raise rejected("tool_choice", "must be a string or an object")
    kind = told.get("type")
    if kind not in {"function", "custom"}:
        return None  # a choice among some tools: kept as it is
    reader.take("tool_choice")
    return ToolChoice("tool", Reader(told.get(kind), f"tool_choice.{kind}").needed("name"))
