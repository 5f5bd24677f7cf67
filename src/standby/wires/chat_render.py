"""Law: a neutral request becomes one Chat Completions body; what that cannot express is listed, or refused (SPEC 2)."""

from collections.abc import Mapping
from typing import Any

from standby.wires import thinking
from standby.wires.chat_parts import cache_member, messages
from standby.wires.common import Dialect, OutputFormat, Request, Tool, ToolChoice
from standby.wires.flavor import Flavor, Rendered, Scribe, present

DEFAULT = Flavor()

_SAME = (
    "temperature",
    "top_p",
    "seed",
    "n",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "verbosity",
    "user",
    "store",
)
"""Members that are called the same on both sides."""

_TIERS = {"standard_only": "default"}
"""Anthropic's service tiers in OpenAI's words."""

_TO_CHAT = {"off": "none"}
"""Neutral thinking levels that Chat Completions calls otherwise."""


def render_request(request: Request, model: str, *, stream: bool, dialect: Flavor = DEFAULT) -> Rendered:
    """The body for one call. Raises RequestRejected where leaving something out would change the question."""
    scribe = Scribe(request, Dialect.CHAT, dialect)
    if request.previous_response_id:
        raise scribe.refusal("a conversation kept by the provider", "previous_response_id")
    body: dict[str, Any] = {"model": model, "messages": messages(scribe)}
    _scalars(scribe, body)
    _tools(scribe, body)
    if request.output is not None:
        body["response_format"] = _output(request.output)
    _thinking(scribe, body)
    scribe.merge(body)
    if stream:
        body["stream"] = True
        _stream_options(scribe, body)
    else:
        body.pop("stream_options", None)
    return scribe.finish(body)


def _scalars(scribe: Scribe, body: dict[str, Any]) -> None:
    request = scribe.request
    for name in _SAME:
        if (value := getattr(request, name)) is not None:
            body[name] = value
    if request.max_tokens is not None:
        body[scribe.flavor.max_tokens] = request.max_tokens
    if request.stop:
        body["stop"] = list(request.stop)
    if request.logit_bias is not None:
        body["logit_bias"] = dict(request.logit_bias)
    if request.cache_key is not None:
        body["prompt_cache_key"] = request.cache_key
    if request.service_tier is not None:
        body["service_tier"] = (
            request.service_tier if scribe.own else _TIERS.get(request.service_tier, request.service_tier)
        )
    if request.top_k is not None:
        if scribe.flavor.top_k:
            body["top_k"] = request.top_k
        else:
            scribe.drop("top_k")
    if request.metadata:
        body["metadata"] = dict(request.metadata)


def _stream_options(scribe: Scribe, body: dict[str, Any]) -> None:
    # Usage is asked for whatever the caller wants to see: the account of the turn needs it.
    if scribe.flavor.stream_options:
        told = body.get("stream_options")
        body["stream_options"] = {**(told if isinstance(told, Mapping) else {}), "include_usage": True}
    else:
        body.pop("stream_options", None)


def _thinking(scribe: Scribe, body: dict[str, Any]) -> None:
    ask = scribe.request.thinking
    if ask is None:
        return
    level = thinking.level_of(ask)
    if not scribe.flavor.reasoning:
        scribe.drop("thinking")
    elif scribe.flavor.reasoning == "reasoning":
        body["reasoning"] = _reasoning(level, ask.budget, ask.include)
    elif level is not None:
        body["reasoning_effort"] = _TO_CHAT.get(level, level)


def _reasoning(level: str | None, budget: int | None, include: bool | None) -> dict[str, Any]:
    """OpenRouter's object: effort or budget, never both."""
    asked: dict[str, Any] = {}
    if level == "off":
        asked["enabled"] = False
    elif budget is not None:
        asked["max_tokens"] = budget
    elif level is not None:
        asked["effort"] = level
    else:
        asked["enabled"] = True
    if include is not None:
        asked["exclude"] = not include
    return asked


def _output(output: OutputFormat) -> dict[str, Any]:
    if output.kind != "json_schema":
        return {"type": output.kind}
    told = present(description=output.description, schema=output.schema, strict=output.strict)
    return {"type": "json_schema", "json_schema": {"name": output.name or "answer", **told}}


def _tools(scribe: Scribe, body: dict[str, Any]) -> None:
    request = scribe.request
    tools = [rendered for tool in request.tools if (rendered := _tool(scribe, tool)) is not None]
    if tools:
        body["tools"] = tools
    if request.tool_choice is not None and (tools or scribe.own):
        body["tool_choice"] = _choice(scribe, request.tool_choice, tools)
    if request.parallel_tool_calls is not None and (tools or scribe.own):
        body["parallel_tool_calls"] = request.parallel_tool_calls


def _tool(scribe: Scribe, tool: Tool) -> dict[str, Any] | None:
    extras = dict(scribe.extras(tool.extras, "tools[].")) if tool.kind == "function" or scribe.own else {}
    if tool.kind == "function":
        told = present(description=tool.description, parameters=tool.parameters, strict=tool.strict)
        inner = {"name": tool.name, **told, **extras.pop("function", {})}
        return {"type": "function", "function": inner, **cache_member(scribe, tool.cache), **extras}
    if not scribe.own:
        scribe.drop(f"tools[{tool.kind}]")
        return None
    if tool.kind == "custom":
        described = {"description": tool.description} if tool.description is not None else {}
        return {
            "type": "custom",
            "custom": {"name": tool.name, **described, **extras.pop("custom", {})},
            **extras,
        }
    return {"type": tool.kind, **extras}


def _choice(scribe: Scribe, choice: ToolChoice, tools: list[dict[str, Any]]) -> Any:
    if choice.mode != "tool":
        return choice.mode
    kind = next((tool["type"] for tool in tools if tool.get("custom", {}).get("name") == choice.name), "function")
    if not scribe.own and all(tool.get("function", {}).get("name") != choice.name for tool in tools):
        raise scribe.refusal(f"the forced tool {choice.name!r}, which is a tool of the vendor's own,", "tool_choice")
    return {"type": kind, kind: {"name": choice.name}}
