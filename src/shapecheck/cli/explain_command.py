"""`shapecheck explain`: what a rule means."""

from __future__ import annotations

import click

from shapecheck.cli.terminal import CLEAN, deliver
from shapecheck.rules import RULES, Rule, as_code, nearest_code


@click.command(short_help="Say what a rule means, or list all rules.")
@click.argument("code", required=False)
def explain(code: str | None) -> int:
    """Say what a rule means, with a bad and a good example; without CODE, list all rules."""
    if code is None:
        deliver("".join(f"{rule.code}  {rule.severity:<7}  {rule.name}\n" for rule in RULES.values()), None)
        return CLEAN
    rule = RULES.get(as_code(code) or "")
    if rule is None:
        several = [each for each in RULES if each.startswith(code.upper())] if code else []
        hint = f"did you mean one of {', '.join(several)}?" if several else f"did you mean {nearest_code(code)!r}?"
        raise click.UsageError(f"There is no rule {code!r}; {hint}")
    deliver(_explanation(rule), None)
    return CLEAN


def _explanation(rule: Rule) -> str:
    head = f"{rule.code} {rule.name} ({rule.severity})\n\n{click.wrap_text(rule.why, 100)}\n\n    {rule.message}\n"
    examples = [("Gives it", rule.bad), ("Gives nothing", rule.good)]
    if rule.lock:
        examples.append(("Where shapes.lock has", rule.lock))
    return head + "".join(f"\n{title}:\n\n{_indent(text)}" for title, text in examples)


def _indent(text: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))
