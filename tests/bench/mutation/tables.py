"""The result in tables: recall by operator and by package, and each miss with its diff and what the checker said."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

RUNS = ("tests", "no-tests")
Result = Mapping[str, Any]


def recall(results: Sequence[Result], run: str) -> float:
    """The share of the mutants that a run detects."""
    checks = [r["checks"][run] for r in results if run in r["checks"]]
    return sum(c["verdict"] == "detected" for c in checks) / len(checks) if checks else float("nan")


def table(title: str, results: Sequence[Result], group: Callable[[Result], str]) -> str:
    """One row for each group, and one for all."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[group(result)].append(result)
    columns = "detected elsewhere missed recall"
    head = f"{title:<22} {'n':>5}   with tests: {columns}   without: {columns}"
    rows = [head]
    for name, members in [*sorted(groups.items()), ("all", list(results))]:
        cells = [f"{name:<22} {len(members):>5}"]
        for run, wide in (("tests", 23), ("no-tests", 20)):
            found = Counter(r["checks"][run]["verdict"] for r in members if run in r["checks"])
            counts = f"{found['detected']:>{wide}} {found['elsewhere']:>9} {found['missed']:>6}"
            cells.append(f"{counts} {recall(members, run):>6.3f}")
        rows.append(" ".join(cells))
    return "\n".join(rows) + "\n"


def misses(results: Sequence[Result], run: str) -> Iterator[str]:
    """Each mutant that a run does not detect."""
    for result in results:
        check = result["checks"].get(run)
        if check is None or check["verdict"] == "detected":
            continue
        mutant = result["mutant"]
        lines = [f"{check['verdict'].upper()} ({run}) {result['package']} {mutant['key']} {mutant['operator']}"]
        lines.append(f"  {mutant['path']}:{mutant['line']} in {mutant['function']}")
        lines += [f"  - {text}" for text in mutant["before"].splitlines()]
        lines += [f"  + {text}" for text in mutant["after"].splitlines()]
        for fact in result["evidence"]:
            where = f"{fact['path']}:{fact['line']}"
            lines.append(f"  {fact['kind']} at {where}: {fact['code']} {fact['message'][:240]!r} ({fact['test']})")
        lines += [f"  reported: {each}" for each in check["new"]]
        lines += [
            f"  unreached {u['path']}:{u['line']}: {u['reason'][:240]}" for u in check["said"].get("unreached", ())
        ]
        lines += [f"  note: {text}" for text in check["said"].get("notes", ())]
        before, after = check["verified_before"], check["said"].get("claims", {}).get("verified")
        lines.append(f"  claims verified in the package: {before} before, {after} after")
        yield "\n".join(lines) + "\n"


def summary(results: Sequence[Result], judged: Mapping[str, int], *, shown: Sequence[str] = ("tests",)) -> str:
    """All tables, then the misses of the runs in `shown`."""
    counts = ", ".join(f"{name} {number}" for name, number in sorted(judged.items()))
    parts = [f"{len(results)} mutants count, of {sum(judged.values())} judged ({counts})\n"]
    parts.append(table("by package", results, lambda r: str(r["package"])))
    parts.append(table("by operator", results, lambda r: str(r["mutant"]["operator"])))
    kinds = "a claim is contradicted", "only a library raises"
    parts.append(table("by what shows", results, lambda r: kinds[all(e["kind"] == "raised" for e in r["evidence"])]))
    reached = [r for r in results if r.get("verified_without_tests")]
    parts.append(
        f"Without tests, of the {len(reached)} mutants in functions whose claims are verified without them too: "
        f"recall {recall(reached, 'no-tests'):.3f}\n"
    )
    for run in shown:
        places = Counter(r["checks"][run]["place"] for r in results if run in r["checks"])
        found = ", ".join(f"{name} {number}" for name, number in places.most_common() if name)
        parts.append(f"Detected ({run}) at the line of: {found}\n")
        parts += misses(results, run)
    return "\n".join(parts)
