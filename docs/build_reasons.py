"""Law: docs/reasons.md says what the traits and the rules say: `python docs/build_reasons.py` writes it anew."""

from pathlib import Path

from standby.core.reasons import TRAITS, FailureReason, Mark, Traits
from standby.core.rules import ALL, FAMILIES

PAGE = Path(__file__).with_name("reasons.md")

MEANING: dict[FailureReason, str] = {
    FailureReason.AUTH: "the provider does not accept this credential now",
    FailureReason.AUTH_PERMANENT: "the key, account or workspace is revoked or switched off",
    FailureReason.BILLING: "the account has no money or no plan left for it",
    FailureReason.RATE_LIMIT: "a limit or window that passes by itself",
    FailureReason.OVERLOADED: "the provider or the model is at capacity",
    FailureReason.SERVER_ERROR: "the provider failed inside",
    FailureReason.TIMEOUT: "no answer in time, or the connection broke",
    FailureReason.TLS_CERTIFICATE: "the certificate of the other side cannot be trusted",
    FailureReason.MODEL_NOT_FOUND: "the model is missing, retired or not open to this account",
    FailureReason.FORMAT: "the request's shape or a parameter is not taken",
    FailureReason.CONTEXT_OVERFLOW: "the request is larger than the model or a limit takes",
    FailureReason.SESSION_EXPIRED: "the conversation stored at the provider is gone",
    FailureReason.REFUSAL: "the content was refused",
    FailureReason.EMPTY_RESPONSE: "nothing came back, and no error either",
    FailureReason.NO_ERROR_DETAILS: "an error without any details",
    FailureReason.UNCLASSIFIED: "nothing matched; the preview is kept",
    FailureReason.UNKNOWN: "a runtime's own placeholder text",
    FailureReason.LOCAL: "our own fault",
    FailureReason.ABORTED: "the caller's abort",
    FailureReason.NONE: "not a failure",
}
MARKS: dict[Mark, str] = {
    Mark.NOTHING: "nothing",
    Mark.COOLDOWN: "account cools",
    Mark.MODEL_COOLDOWN: "that model cools on the account",
    Mark.DISABLE: "account disabled",
    Mark.ROUTE: "route only",
}


def page() -> str:
    """The whole page."""
    return "\n".join([*_head(), *_reasons(), *_rules(), ""])


def _head() -> list[str]:
    return [
        "# Reasons",
        "",
        "Every failure gets one of these names. Written by `python docs/build_reasons.py`; do not edit.",
        "A rule may override a column for its own evidence: a daily limit is not retried, for instance.",
        "",
    ]


def _reasons() -> list[str]:
    rows = [f"| {_row(reason, TRAITS[reason])} |" for reason in FailureReason]
    return [
        "| reason | meaning | scope | same model again | other account | next model | marks | shown status |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]


def _row(reason: FailureReason, traits: Traits) -> str:
    again = "yes" if traits.retry_same else "no"
    if traits.retries is not None:
        again = f"at most {traits.retries}"
    account = "once" if traits.one_rotation else "yes" if traits.rotate else "no"
    following = "yes" if traits.fallback else "no"
    status = "" if traits.http_status is None else str(traits.http_status)
    cells = [f"`{reason}`", MEANING[reason], traits.scope, again, account, following, MARKS[traits.marks], status]
    return " | ".join(cells)


def _rules() -> list[str]:
    lines = ["## Rules", "", f"{len(ALL)} rules, first match wins. Those of one provider apply to it alone:", ""]
    lines += [
        f"- {', '.join(sorted(family.providers))}: {_listed([rule.id for rule in family.rules])}" for family in FAMILIES
    ]
    own = {rule.id for family in FAMILIES for rule in family.rules}
    lines += ["", "For every provider, by reason:", ""]
    for reason in FailureReason:
        ids = [rule.id for rule in ALL if rule.reason is reason and rule.id not in own]
        if ids:
            lines.append(f"- `{reason}`: {_listed(ids)}")
    return lines


def _listed(ids: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in ids)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
