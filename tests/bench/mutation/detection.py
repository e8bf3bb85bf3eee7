"""What the checker says of a mutant: a new finding at the right place, elsewhere, or nothing."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mutation.judge import Project
from mutation.mutants import Mutant, Source

REASONS = frozenset({"SC302", "SC303", "SC304"})  # why claims are unreached: notes, and no findings about shapes


class CheckerFailedError(Exception):
    """The checker gave no report."""


@dataclass(frozen=True, kw_only=True)
class Checker:
    """The command, the interpreter that it evaluates with, and the seconds that it is given."""

    tool: Sequence[str]
    python: str
    budget: float
    limit: float

    def report(
        self, project: Project, files: Sequence[str], tests: Collection[str] = (), *, strict: bool = False
    ) -> dict[str, Any]:
        """The JSON report of `check` over files, with these tests of the suite as if there were no others.

        Nothing is remembered from one run to the next: a mutant concerns all that is evaluated for its file.
        """
        command = ["check", *files, "--output-format", "json", "--budget", str(self.budget), "--python", self.python]
        # What is limited by the clock is given more of it than the defaults, which are meant for a machine that idles.
        command += ["--jobs", "1", "--no-cache", "--test-timeout", "60", "--timeout", "240"]
        command += ["--strict-comments"] if strict else []
        if not tests:
            return self._json([*command, "--no-tests"], project, {})
        names, config = project.folder.parent / "tests.names", project.folder / "mutation.toml"
        names.write_text("\n".join(tests), "utf-8")
        files = json.dumps(sorted({test.partition("::")[0] for test in tests}))
        config.write_text(f"[tool.shapecheck]\ntests = {files}\n", "utf-8")
        options = shlex.join(["-p", "mutation.pick_tests", *project.options])
        chosen = {"PYTEST_ADDOPTS": options, "MUTATION_TESTS": str(names)}
        return self._json([*command, "--config", config.name], project, chosen)

    def claims(self, project: Project) -> list[dict[str, Any]]:
        """All claims of the package, as parsed."""
        claims = self._json(["claims", project.package, "--output-format", "json"], project, {})
        return list(claims["claims"])

    def _json(self, arguments: Sequence[str], project: Project, environment: Mapping[str, str]) -> dict[str, Any]:
        try:
            done = subprocess.run(
                [*self.tool, *arguments],
                cwd=project.folder,
                env={**project.environment, **environment},
                capture_output=True,
                text=True,
                timeout=self.limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CheckerFailedError(f"no answer in {self.limit:.0f} s") from None
        try:
            return dict(json.loads(done.stdout))
        except ValueError:
            raise CheckerFailedError(f"exit {done.returncode}: {done.stderr[-800:]}") from None


def verified_claims(claims: Sequence[Mapping[str, Any]], strict: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Claims that are neither unreached nor reported, in a report that names tentative ones that fail too (`strict`).

    The report names lines, so of a line with several claims one that is not verified speaks for all.
    """
    failing = {(f["path"], f["line"]) for f in findings(strict)}
    failing |= {(u["path"], u["line"]) for u in strict["unreached"]}
    return [dict(claim) for claim in claims if (claim["path"], claim["line"]) not in failing]


def findings(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those that count: errors and warnings."""
    return [f for f in report["findings"] if f["severity"] != "note" and f["code"] not in REASONS]


def new_findings(report: Mapping[str, Any], clean: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Findings that the clean copy lacks; mutants keep every line where it is."""
    known = {(f["code"], f["path"], f["line"]) for f in findings(clean)}
    return [f for f in findings(report) if (f["code"], f["path"], f["line"]) not in known]


def acceptable(
    mutant: Mutant, evidence: Sequence[Mapping[str, Any]], sources: Mapping[str, Source]
) -> dict[tuple[str, int], str]:
    """The lines on which a finding is right, and why: the change, a contradicted claim, where JAX raised."""
    lines = {(mutant.path, line): "changed" for line in range(mutant.first_line, mutant.last_line + 1)}
    lines.setdefault((mutant.path, mutant.line), "changed")
    for fact in evidence:
        source = sources.get(fact["path"])
        first, last = (fact["line"], fact["line"])
        if source is not None and fact["kind"] == "raised":
            first, last = source.statement(fact["line"])
        for line in range(first, last + 1):
            lines.setdefault((fact["path"], line), fact["kind"])
        caller = fact.get("callers", {}).get(mutant.path)
        if caller is not None and mutant.path in sources:  # the user's own line, where only this file is checked
            first, last = sources[mutant.path].statement(caller)
            for line in range(first, last + 1):
                lines.setdefault((mutant.path, line), "raised")
    return lines


def verdict(
    new: Sequence[Mapping[str, Any]],
    right: Mapping[tuple[str, int], str],
    claims: frozenset[tuple[str, int]],
) -> tuple[str, str]:
    """`detected`, `elsewhere` or `missed`, and why the place is right.

    `claims` are the lines of the function's claims that were verified before: a finding there says of a claim that it
    became false, which the run may not have shown because its sizes were equal or because it stopped before.
    """
    reasons = []
    for finding in new:
        span = range(finding["line"], max(finding["line"], finding["end_line"] or 0) + 1)
        reasons += [right[finding["path"], line] for line in span if (finding["path"], line) in right]
        if finding["code"].startswith("SC2") and (finding["path"], finding["line"]) in claims:
            reasons.append("claim")
    if reasons:
        order = ("changed", "contradicted", "raised", "claim")
        return "detected", min(reasons, key=order.index)
    return ("elsewhere", "") if new else ("missed", "")


def said(report: Mapping[str, Any], clean: Mapping[str, Any], path: str, lines: range) -> dict[str, Any]:
    """What the checker says instead of a finding: of the function's claims, and by new notes."""
    before = {(n["code"], n["path"], n["line"]) for n in clean["findings"]}
    notes = [f for f in report["findings"] if (f["code"], f["path"], f["line"]) not in before]
    return {
        "claims": report["claims"],
        "unreached": [u for u in report["unreached"] if u["path"] == path and u["line"] in lines],
        "notes": [
            f"{n['path']}:{n['line']}: {n['code']} {n['message']}"[:400] for n in notes if n["severity"] == "note"
        ][:5],
    }
