"""Recall on real code: how many bugs, put into functions whose claims were verified, does the checker report?

    python tests/bench/bench_mutants.py run rlax=CHECKOUTS/rlax --package rlax --out OUT --python ENV/bin/python
    python tests/bench/bench_mutants.py run optax=CHECKOUTS/optax --package optax --out OUT --wanted 60
    python tests/bench/bench_mutants.py check OUT --label after --tool "other/python -m shapecheck"
    python tests/bench/bench_mutants.py report OUT [--label after] [--misses tests no-tests]

`run` takes one package, `name=folder of its checkout`. It copies it below `--out`, and then
  1. checks the clean copy, with tests and without: which claims are verified, what is reported already;
  2. runs its tests once under pytest with shapecheck's runtime checks: which tests pass, which lines each of them runs,
     which claims they contradict already (`--suite FILE...` names test files if all of them take too long: the checker
     is then given the same ones);
  3. makes mutants, in an order that a seed decides and that takes operators and functions in turn;
  4. judges one after the other by running the few tests that run its statement, for real: it counts if one of them now
     ends with a shape error raised from a line of the package, or if a runtime check contradicts a claim that no test
     contradicted before; what nothing shows is dropped. The checker has no say in this;
  5. checks each mutant that counts, with tests and without: detected is a new error or warning on the changed
     statement, on a claim that became false, or where JAX raised; any other new one is "elsewhere". For a package
     in which one edit concerns hundreds of tests and models, `--narrow` checks the edited file with its tests.
It ends when `--wanted` mutants count. Everything is kept in `--out` as JSON lines; a run that was interrupted goes on
where it stopped. `check` gives the mutants that count to another version of the checker; results stand under a label.

The interpreter of the package (`--python`) needs Python 3.12 or newer, the package's dependencies, pytest, and
shapecheck or its dependencies (`--checker` is then the folder that it is imported from).
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from mutation import detection, tables
from mutation.detection import Checker, CheckerFailedError
from mutation.judge import CleanTests, Project, is_test, judge, run_tests
from mutation.mutants import Mutant, Source
from mutation.operators import code_mutants
from mutation.stale_claims import stale_mutants

IGNORED = shutil.ignore_patterns(".git", "__pycache__", ".shapecheck_cache", "*.pyc")


class Package:
    """One package below `--out`: its copies, and the files with what is known."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.settings: dict[str, Any] = json.loads((home / "settings.json").read_text("utf-8"))

    @classmethod
    def create(cls, home: Path, checkout: Path, settings: dict[str, Any]) -> Package:
        """Copy the checkout, unless that was done."""
        if not (home / "clean").is_dir():
            shutil.copytree(checkout, home / "clean", ignore=IGNORED, symlinks=True)
            if settings["suite"]:  # the checker evaluates the tests that the judge runs, and no others
                tests = json.dumps(settings["suite"])
                with (home / "clean" / "pyproject.toml").open("a", encoding="utf-8") as file:
                    file.write(f"\n[tool.shapecheck]\ntests = {tests}\n")
        home.joinpath("settings.json").write_text(json.dumps(settings, indent=1), "utf-8")
        return cls(home)

    def project(self, use: str) -> Project:
        """A copy of its own for each use, so that the judge's runs and the checker's do not meet."""
        folder = self.home / use
        if not folder.is_dir():
            shutil.copytree(self.home / "clean", folder, symlinks=True)
        return Project(
            name=self.home.name,
            folder=folder,
            package=self.settings["package"],
            tests=tuple(self.settings["suite"]),
            python=self.settings["python"],
            checker=self.settings["checker"],
            options=tuple(self.settings["pytest_options"]),
        )

    def source(self, path: str) -> Source:
        """A file of the clean copy."""
        return Source(path, (self.home / "clean" / path).read_bytes().decode("utf-8"))

    def lines(self, name: str) -> list[dict[str, Any]]:
        """What a file of JSON lines holds; nothing if there is none."""
        path = self.home / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def add(self, name: str, record: dict[str, Any]) -> None:
        """Append a record."""
        with (self.home / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def clean_checks(package: Package, checker: Checker, label: str, path: str = "") -> dict[str, dict[str, Any]]:
    """The clean copy's reports by run, the verified claims among them; kept, with the cache, for the mutants.

    They are of the package, or of one file with the tests that run it.
    """
    name = f"{label}-{path.replace('/', '-')}" if path else label
    kept = package.home / f"clean-{name}.json"
    if kept.exists():
        return dict(json.loads(kept.read_text("utf-8")))
    project = package.project(f"checked-{label}")
    if path:
        tests = CleanTests.of(package.lines("tests")).ran.get(path, {})
        files = json.dumps(sorted({test.partition("::")[0] for ran in tests.values() for test in ran}))
        (project.folder / f"{name}.toml").write_text(f"[tool.shapecheck]\ntests = {files}\n", "utf-8")
    claims = checker.claims(project)
    reports = {}
    for run in tables.RUNS:
        shutil.rmtree(project.folder / detection.CACHE, ignore_errors=True)
        begin = time.perf_counter()
        report = check_copy(package, checker, project, name, path, run)
        seconds = time.perf_counter() - begin
        shutil.rmtree(package.home / f"cache-{name}-{run}", ignore_errors=True)
        shutil.copytree(project.folder / detection.CACHE, package.home / f"cache-{name}-{run}")
        strict = check_copy(package, checker, project, name, path, run, "--strict-comments")
        verified = detection.verified_claims([c for c in claims if path in ("", c["path"])], report, strict)
        reports[run] = {**report, "verified": verified, "seconds": seconds}
        tell(f"clean {path}, {run}: {len(verified)} claims verified, {seconds:.0f} s")
    kept.write_text(json.dumps(reports), "utf-8")
    return reports


def check_copy(
    package: Package, checker: Checker, project: Project, name: str, path: str, run: str, *extra: str
) -> dict[str, Any]:
    """The report over the checker's copy as it is."""
    if path:
        extra = ("--config", f"{name}.toml", *extra)
    return checker.report(project, path or package.settings["package"], tests=run == "tests", extra=extra)


def clean_tests(package: Package, seconds: float) -> CleanTests:
    """What the tests show of the clean copy."""
    if not (package.home / "tests.jsonl").exists():
        project = package.project("judged")
        begin = time.perf_counter()
        records = run_tests(project, project.tests, package.home / "tests.tmp", lines=True, seconds=seconds)
        for record in records:
            package.add("tests", record)
        passed = sum(record["outcome"] == "passed" for record in records)
        tell(f"{len(records)} tests, {passed} passed, {time.perf_counter() - begin:.0f} s")
        if not passed:
            raise SystemExit(f"no test passed: {records[0]}")
    return CleanTests.of(package.lines("tests"))


def candidates(package: Package, verified: Sequence[dict[str, Any]], seed: int) -> list[Mutant]:
    """All mutants, in the order in which they are tried: operators in turn, and of each operator functions in turn."""
    by_file = defaultdict(list)
    for claim in verified:
        if not is_test(claim["path"]):
            by_file[claim["path"]].append(claim)
    groups: dict[str, dict[str, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for path, claims in sorted(by_file.items()):
        source = package.source(path)
        functions = {claim["scope"] for claim in claims}
        builders = {f"{name.rpartition('.')[0]}.{made}" for name in functions for made in ("__init__", "setup")}
        for mutant in [*code_mutants(source, functions, builders), *stale_mutants(source, claims)]:
            groups[mutant.operator][f"{path}:{mutant.function}"].append(mutant)
    order = random.Random(seed)  # noqa: S311 - a sample, and no secret
    queues = [
        list(in_turn([shuffled(group, order) for group in shuffled(list(by.values()), order)]))
        for by in groups.values()
    ]
    return list(in_turn(queues))


def shuffled(things: list[Any], order: random.Random) -> list[Any]:
    """Another order, decided by the seed."""
    return order.sample(things, len(things))


def in_turn(queues: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """The first of each, then the second of each, and so on."""
    waiting = [list(queue) for queue in queues]
    while waiting:
        for queue in waiting:
            yield queue.pop(0)
        waiting = [queue for queue in waiting if queue]


def check_mutant(
    package: Package, checker: Checker, label: str, record: dict[str, Any], clean: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """What the checker says of one mutant that counts, with tests and without."""
    mutant = Mutant.from_json(record["mutant"])
    narrow = mutant.path if package.settings.get("narrow") else ""
    name = f"{label}-{narrow.replace('/', '-')}" if narrow else label
    if narrow:
        clean = clean_checks(package, checker, label, narrow)
    project = package.project(f"checked-{label}")
    file = project.folder / mutant.path
    source = file.read_bytes().decode("utf-8")
    paths = {mutant.path, *(fact["path"] for fact in record["evidence"])}
    sources = {p: package.source(p) for p in paths if (package.home / "clean" / p).is_file()}
    right = detection.acceptable(mutant, record["evidence"], sources)
    body = body_of(sources[mutant.path], mutant)
    checks = {}
    for run in tables.RUNS:
        detection.restore(package.home / f"cache-{name}-{run}", project.folder)
        begin = time.perf_counter()
        file.write_bytes(mutant.applied(source).encode("utf-8"))
        try:
            report = check_copy(package, checker, project, name, narrow, run)
        except CheckerFailedError as error:
            checks[run] = {"verdict": "missed", "place": "", "new": [], "said": {"notes": [str(error)]}}
            continue
        finally:
            file.write_bytes(source.encode("utf-8"))
        new = detection.new_findings(report, clean[run])
        claims = {(c["path"], c["line"]) for c in clean["tests"]["verified"] if c["line"] in body}
        found, place = detection.verdict(new, right, frozenset(c for c in claims if c[0] == mutant.path))
        checks[run] = {
            "verdict": found,
            "place": place,
            "new": [f"{f['path']}:{f['line']}: {f['code']} {f['message']}" for f in new][:6],
            "said": {} if found == "detected" else detection.said(report, clean[run], mutant.path, body),
            "verified_before": clean[run]["claims"]["verified"],
            "seconds": round(time.perf_counter() - begin, 1),
        }
    return {
        "package": package.home.name,
        "mutant": record["mutant"],
        "evidence": record["evidence"],
        "checks": checks,
    }


def is_verified_without_tests(mutant: dict[str, Any], clean: dict[str, dict[str, Any]]) -> bool:
    """Whether all claims of the mutated function (of its class, for a constructor) that are verified are so without."""
    name, _, last = mutant["function"].rpartition(".")
    outer = name if last in ("__init__", "setup") else mutant["function"]

    def lines(run: str) -> set[int]:
        own = [claim for claim in clean[run]["verified"] if claim["path"] == mutant["path"]]
        return {
            c["line"]
            for c in own
            if f"{c['scope']}.".startswith(f"{outer}.") or f"{outer}.".startswith(f"{c['scope']}.")
        }

    return bool(lines("tests")) and lines("tests") <= lines("no-tests")


def body_of(source: Source, mutant: Mutant) -> range:
    """The lines of the mutant's function, or of the statement alone where that is in none."""
    function = source.functions().get(mutant.function)
    if function is None:
        return range(mutant.first_line, mutant.last_line + 1)
    return range(function.lineno, (function.end_lineno or function.lineno) + 1)


def measure(package: Package, arguments: argparse.Namespace) -> None:
    """Judge mutants until as many count as are wanted; check each that does."""
    checker = Checker(tool=arguments.tool, budget=arguments.budget, limit=arguments.limit)
    clean = clean_checks(package, checker, arguments.label)
    tests = clean_tests(package, arguments.suite_seconds)
    known = {record["mutant"]["key"]: record for record in package.lines("judged")}
    order = candidates(package, clean["tests"]["verified"], arguments.seed)
    tell(f"{len(order)} mutants to choose from, {len(known)} judged before")
    counted = sum(bool(record["evidence"]) for record in known.values())
    for mutant in order:
        if counted >= arguments.wanted:
            break
        if mutant.key in known:
            continue
        begin = time.perf_counter()
        body = body_of(package.source(mutant.path), mutant)
        limits = {"most": arguments.most_tests, "patience": arguments.patience, "limit": arguments.test_limit}
        record = {"mutant": mutant.as_json(), **judge(package.project("judged"), tests, mutant, body, **limits)}
        record["seconds"] = round(time.perf_counter() - begin, 1)
        package.add("judged", record)
        counted += bool(record["evidence"])
        kinds = " ".join(sorted({fact["kind"] for fact in record["evidence"]})) or "dropped"
        tell(f"{counted}/{arguments.wanted} {mutant.key} {mutant.operator}: {kinds} ({record['seconds']} s)")
        if record["evidence"]:
            check_one(package, checker, arguments.label, record, clean)
    for record in package.lines("judged"):  # those that an interrupted run has judged and not checked
        check_one(package, checker, arguments.label, record, clean)


def check_one(
    package: Package, checker: Checker, label: str, record: dict[str, Any], clean: dict[str, dict[str, Any]]
) -> None:
    """Check a mutant that counts, unless that was done."""
    name = f"checks-{label}"
    key = record["mutant"]["key"]
    if not record["evidence"] or any(each["mutant"]["key"] == key for each in package.lines(name)):
        return
    result = check_mutant(package, checker, label, record, clean)
    package.add(name, result)
    tell(
        "  "
        + ", ".join(f"{run}: {c['verdict']} {c['place']} ({c.get('seconds')} s)" for run, c in result["checks"].items())
    )


def tell(text: str) -> None:
    """Progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def packages(out: Path) -> list[Package]:
    """All packages below a folder."""
    return [Package(path.parent) for path in sorted(out.glob("*/settings.json"))]


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="judge and check mutants of one package")
    run.add_argument("checkout", metavar="NAME=FOLDER")
    run.add_argument("--package", required=True, help="the folder to mutate, relative to the checkout")
    run.add_argument(
        "--suite", nargs="+", default=[], metavar="FILE", help="what pytest is given; all tests if left out"
    )
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--python", default=sys.executable, help="the package's interpreter")
    run.add_argument("--checker", default="", metavar="FOLDER", help="where its tests import shapecheck from")
    run.add_argument("--pytest-option", action="append", default=[], help="an option for pytest, --pytest-option=-x")
    run.add_argument("--narrow", action="store_true", help="check the mutated file alone, with the tests that run it")
    run.add_argument("--wanted", type=int, default=40, help="mutants that count (default: 40)")
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--suite-seconds", type=float, default=1800, help="for the clean copy's tests (default: 1800)")
    run.add_argument("--most-tests", type=int, default=6, help="for one mutant (default: 6)")
    run.add_argument("--patience", type=float, default=30, help="what these may take on the clean copy, in seconds")
    run.add_argument("--test-limit", type=float, default=180, help="seconds after which they are stopped")
    check = commands.add_parser("check", help="give the mutants that count to another checker")
    check.add_argument("out", type=Path)
    check.add_argument("--checker", default=None, metavar="FOLDER", help="where shapecheck is imported from")
    for each in (run, check):
        each.add_argument("--tool", default=f"{sys.executable} -m shapecheck", help="the checker's command")
        each.add_argument("--budget", type=float, default=240, help="the checker's --budget (default: 240)")
        each.add_argument("--limit", type=float, default=900, help="seconds for one run of the checker")
        each.add_argument("--label", default="before", help="what these results are called (default: before)")
    report = commands.add_parser("report", help="print the tables")
    report.add_argument("out", type=Path)
    report.add_argument("--label", default="before")
    report.add_argument("--misses", nargs="*", choices=tables.RUNS, default=["tests"])
    return parser.parse_args()


def main() -> None:
    """Run one of the commands."""
    arguments = parse()
    if arguments.command == "run":
        name, _, folder = arguments.checkout.partition("=")
        settings = {
            "package": arguments.package,
            "suite": arguments.suite,
            "python": arguments.python,
            "checker": str(Path(arguments.checker).resolve()) if arguments.checker else "",
            "narrow": arguments.narrow,
            "pytest_options": arguments.pytest_option,
        }
        measure(Package.create(arguments.out / name, Path(folder), settings), arguments)
    elif arguments.command == "check":
        checker = Checker(tool=arguments.tool, budget=arguments.budget, limit=arguments.limit)
        for package in packages(arguments.out):
            if arguments.checker is not None:
                package.settings["checker"] = str(Path(arguments.checker).resolve())
            clean = clean_checks(package, checker, arguments.label)
            for record in package.lines("judged"):
                check_one(package, checker, arguments.label, record, clean)
    else:
        results, judged = [], {}
        for package in packages(arguments.out):
            judged[package.home.name] = len(package.lines("judged"))
            for result in package.lines(f"checks-{arguments.label}"):
                clean = json.loads((package.home / f"clean-{arguments.label}.json").read_text("utf-8"))
                reached = is_verified_without_tests(result["mutant"], clean)
                results.append({**result, "verified_without_tests": reached})
        print(tables.summary(results, judged, shown=arguments.misses))


if __name__ == "__main__":
    main()
