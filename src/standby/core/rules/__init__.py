"""Law: the order of the rules: gates, the provider's own, stop reasons, names, wordings, the status, transient words (SPEC 6)."""

from standby.core.rules import (
    anthropic,
    aws,
    china,
    codes,
    fallback,
    finish,
    gates,
    gateways,
    github,
    google,
    hosts,
    local,
    openai,
    prose,
    requests,
    runtime,
)
from standby.core.rules.book import bind
from standby.core.rules.rule import Family, Rule

FAMILIES: tuple[Family, ...] = (
    runtime.RUNTIME,
    anthropic.ANTHROPIC,
    *openai.FAMILIES,
    google.GOOGLE,
    aws.BEDROCK,
    *hosts.FAMILIES,
    *github.FAMILIES,
    *gateways.FAMILIES,
    *local.FAMILIES,
    *china.FAMILIES,
)
COMMON: tuple[Rule, ...] = (
    *finish.FINISH,
    *codes.CODES,
    *requests.MALFORMED,
    *requests.REFUSALS,
    *requests.MODELS,
    *prose.OVERFLOW,
    *prose.WINDOWS,
    *prose.MONEY,
    *prose.SPEND_WINDOWS,
    *prose.KEYS,
    *requests.CAPABILITY,
    *fallback.TRANSIENT,
    *fallback.STATUS,
    *fallback.WORDS,
)
LAST = fallback.LAST
ATTRIBUTED, OTHERS = bind(gates.GATES, FAMILIES, COMMON)
ALL: tuple[Rule, ...] = (*gates.GATES, *(rule for family in FAMILIES for rule in family.rules), *COMMON, LAST)
"""Every rule once, in the order in which they are held."""
