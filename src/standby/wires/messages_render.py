"""Law: a neutral request becomes one Anthropic Messages body; what that cannot express is listed or refused."""

from typing import Any

from standby.wires import thinking
from standby.wires.common import Dialect, Request, ThinkingAsk, Tool
from standby.wires.flavor import Flavor, Rendered, Scribe
from standby.wires.messages_parts import cache_member, conversation

DEFAULT = Flavor()

_FOREIGN = (
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "verbosity",
    "store",
    "cache_key",
)
"""Neutral members that the protocol has no place for."""

_TIERS = {"auto": "auto", "default": "standard_only"}
"""OpenAI's service tiers in Anthropic's words; the others have no counterpart."""


def render_request(request: Request, model: str, *, stream: bool, dialect: Flavor = DEFAULT) -> Rendered:
    """The body for one call. Raises RequestRejected where leaving something out would change the question."""
    scribe = Scribe(request, Dialect.MESSAGES, dialect)
    _refuse(scribe)
    system, turns = conversation(scribe)
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens or dialect.default_max_tokens,
        "messages": turns,
    }
    if system:
        body["system"] = system
    _tools(scribe, body)
    _thinking(scribe, body)
    _scalars(scribe, body)
    scribe.merge(body)
    if stream:
        body["stream"] = True
    return scribe.finish(body)


def _refuse(scribe: Scribe) -> None:
    request = scribe.request
    if request.n is not None and request.n > 1:
        raise scribe.refusal(f"{request.n} choices", "n")
    if request.previous_response_id:
        raise scribe.refusal("a conversation kept by the provider", "previous_response_id")
    spoken = request.extras.get("modalities")
    if request.extras.get("audio") is not None or (isinstance(spoken, list) and "audio" in spoken):
        raise scribe.refusal("audio output", "modalities")
    if not scribe.own and request.extras.get("functions"):
        raise scribe.refusal("the deprecated `functions` (use `tools`)", "functions")
    for name in _FOREIGN:
        if getattr(request, name) is not None:
            scribe.drop(name)


def _scalars(scribe: Scribe, body: dict[str, Any]) -> None:
    request = scribe.request
    _sampling(scribe, body)
    if request.stop:
        body["stop_sequences"] = list(request.stop)
    metadata: dict[str, Any] = dict(request.metadata or {}) if scribe.own else {}
    if request.metadata and not scribe.own:
        scribe.drop("metadata")
    if request.user is not None:
        metadata["user_id"] = request.user
    if metadata:
        body["metadata"] = metadata
    if request.service_tier is not None:
        tier = request.service_tier if scribe.own else _TIERS.get(request.service_tier)
        if tier is None:
            scribe.drop("service_tier")
        else:
            body["service_tier"] = tier
    _output(scribe, body)


def _sampling(scribe: Scribe, body: dict[str, Any]) -> None:
    """Temperature and its kin. Callers of other protocols do not know that thinking forbids them, or that 1 is the top."""
    request = scribe.request
    thinks = body.get("thinking", {}).get("type") in {"enabled", "adaptive"} and not scribe.own
    for name in ("temperature", "top_p", "top_k"):
        value = getattr(request, name)
        if value is None:
            continue
        if thinks:
            scribe.drop(name)
        elif name == "temperature" and not scribe.own and value > 1:
            scribe.drop("temperature above 1")
            body[name] = 1.0
        else:
            body[name] = value


def _thinking(scribe: Scribe, body: dict[str, Any]) -> None:
    ask = scribe.request.thinking
    if ask is None:
        return
    if not scribe.own and body.get("tool_choice", {}).get("type") in {"any", "tool"} and ask.level != "off":
        scribe.drop("thinking")  # it forbids a forced tool, and the tool is what the caller insists on
        return
    shape = _shape(scribe, ask, body)
    if shape:
        body["thinking"] = {
            **shape,
            **({"display": ask.summary} if ask.summary and shape["type"] in {"enabled", "adaptive"} else {}),
        }
    effort = ask.effort
    if effort is None and shape.get("type") == "adaptive":
        effort = thinking.EFFORTS.get(ask.level or "")
    if effort is not None:
        body.setdefault("output_config", {})["effort"] = effort


def _shape(scribe: Scribe, ask: ThinkingAsk, body: dict[str, Any]) -> dict[str, Any]:
    """The `thinking` member; empty where the ask is about effort alone."""
    if ask.level == "off":
        return {"type": "disabled"}
    if ask.budget is not None and (scribe.own or not scribe.flavor.adaptive_thinking):
        return _enabled(scribe, ask, body)
    if ask.level in thinking.BUDGETS and not scribe.flavor.adaptive_thinking:
        return _enabled(scribe, ask, body)
    if ask.level in thinking.BUDGETS or ask.level == "adaptive" or ask.budget is not None:
        return {"type": "adaptive"}
    return {"type": ask.level} if ask.level else {}


def _enabled(scribe: Scribe, ask: ThinkingAsk, body: dict[str, Any]) -> dict[str, Any]:
    if scribe.own and ask.budget is not None:
        return {"type": "enabled", "budget_tokens": ask.budget}
    if scribe.request.max_tokens is None:
        # Nobody bounded the output: make room for the thinking beside the answer.
        body["max_tokens"] += ask.budget or thinking.BUDGETS.get(ask.level or "", 0)
    budget = thinking.budget_of(ask, body["max_tokens"])
    if budget is None:
        scribe.drop("thinking")
        return {}
    return {"type": "enabled", "budget_tokens": budget}


def _output(scribe: Scribe, body: dict[str, Any]) -> None:
    output = scribe.request.output
    if output is None or output.kind == "text":
        return
    if output.kind != "json_schema" or output.schema is None:
        scribe.drop("response_format")
        return
    body.setdefault("output_config", {})["format"] = {"type": "json_schema", "schema": output.schema}


def _tools(scribe: Scribe, body: dict[str, Any]) -> None:
    request = scribe.request
    tools = [rendered for tool in request.tools if (rendered := _tool(scribe, tool)) is not None]
    if tools:
        body["tools"] = tools
    choice = _choice(scribe, tools)
    if choice and (tools or scribe.own):
        body["tool_choice"] = choice


def _tool(scribe: Scribe, tool: Tool) -> dict[str, Any] | None:
    if tool.kind != "function":
        if not scribe.own:
            scribe.drop(f"tools[{tool.kind}]")
            return None
        named = {"name": tool.name} if tool.name else {}
        return {"type": tool.kind, **named, **cache_member(tool.cache), **tool.extras}
    body: dict[str, Any] = {
        "name": tool.name,
        "input_schema": tool.parameters or {"type": "object", "properties": {}},
    }
    if tool.description is not None:
        body["description"] = tool.description
    if tool.strict is not None:
        body["strict"] = tool.strict
    return {**body, **cache_member(tool.cache), **scribe.extras(tool.extras, "tools[].")}


_MODES = {"auto": "auto", "required": "any", "none": "none", "tool": "tool"}


def _choice(scribe: Scribe, tools: list[dict[str, Any]]) -> dict[str, Any]:
    request = scribe.request
    choice = request.tool_choice
    if not scribe.own and isinstance(request.extras.get("tool_choice"), dict):
        raise scribe.refusal("a choice among some of the tools", "tool_choice")
    body: dict[str, Any] = {}
    if choice is not None:
        body["type"] = _MODES.get(choice.mode, "auto")
        if choice.mode == "tool":
            if not scribe.own and all(tool.get("name") != choice.name for tool in tools):
                raise scribe.refusal(
                    f"the forced tool {choice.name!r}, which is a tool of the vendor's own,", "tool_choice"
                )
            body["name"] = choice.name
    parallel = request.parallel_tool_calls
    if parallel is not None and body.get("type") != "none" and (body or not parallel):
        body.setdefault("type", "auto")
        body["disable_parallel_tool_use"] = not parallel
    return body
