"""Recall on real code: how many bugs, put into functions whose claims were verified, does the checker report?

    python tests/bench/bench_mutants.py run rlax=CHECKOUTS/rlax --package rlax --out OUT --python ENV/bin/python
    python tests/bench/bench_mutants.py run optax=CHECKOUTS/optax --package optax --out OUT --wanted 60
    python tests/bench/bench_mutants.py check OUT --label after --tool "other/python -m shapecheck"
    python tests/bench/bench_mutants.py report OUT [--label after] [--misses tests no-tests]

`run` takes one package, `name=folder of its checkout`. It copies it below `--out`, and then
  1. runs its tests once under pytest with shapecheck's runtime checks: which tests pass, which lines each of them runs,
     which claims they contradict already (`--suite FILE...` names test files if all of them take too long);
  2. checks a sample of the files with claims, as they are, with tests and without: which claims are verified, what is
     reported already. A file is checked alone, with the quickest tests that run all the lines in question between them;
  3. makes mutants, in an order that a seed decides and that takes operators and functions in turn;
  4. judges one after the other by running the few tests that run its statement, for real, until the first proof: it
     counts if a test now ends with a shape error raised from a line of the package, or if a runtime check contradicts
     a claim that no test contradicted before; what nothing shows is dropped. The checker has no say in this;
  5. checks the file of each mutant that counts, with tests (those of 2, and the proving one) and without: detected is a
     new error or warning on the changed statement, on a claim that became false, or where JAX raised; any other new
     one is "elsewhere".
It ends when `--wanted` mutants count, or after `--seconds`. Everything is kept in `--out` as JSON lines; a run that was
interrupted goes on where it stopped. `check` gives the mutants that count to another version of the checker; results
stand under a label. All processes are forked from servers that have imported JAX already (Linux only), for a mutant
costs little else.

The interpreter of the package (`--python`) needs Python 3.12 or newer, the package's dependencies, pytest, and
shapecheck or its dependencies (`--checker` is then the folder that it is imported from).
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import random
import shlex
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from mutation import detection, tables
from mutation.detection import Checker, CheckerFailedError
from mutation.fork_server import CLOCK, ForkServer
from mutation.judge import CleanTests, Project, judge, run_tests
from mutation.mutants import Mutant, Source
from mutation.operators import code_mutants
from mutation.proof import is_test
from mutation.stale_claims import stale_mutants

MOST_TESTS = 20  # that the checker is given for one file
BASIC = ("jax", "jax.numpy", "jax.export", "pytest")
HARMLESS = frozenset(  # libraries that shapecheck treats as any code: others it watches, or they watch shapes
    {"jax", "jaxlib", "numpy", "scipy", "pytest", "_pytest", "pluggy", "absl", "ml_dtypes", "opt_einsum", "sklearn"}
    | {"tensorflow_probability", "networkx", "sympy", "numba", "matplotlib", "pandas", "tree", "PIL", "unittest"}
)
IGNORED = shutil.ignore_patterns(".git", "__pycache__", ".shapecheck_cache", "*.pyc")


class Package:
    """One package below `--out`: its copies, and the files with what is known."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.settings: dict[str, Any] = json.loads((home / "settings.json").read_text("utf-8"))
        self._used: set[str] = set()

    @classmethod
    def create(cls, home: Path, checkout: Path, settings: dict[str, Any]) -> Package:
        """Copy the checkout, unless that was done."""
        if not (home / "clean").is_dir():
            shutil.copytree(checkout, home / "clean", ignore=IGNORED, symlinks=True)
        home.joinpath("settings.json").write_text(json.dumps(settings, indent=1), "utf-8")
        return cls(home)

    def project(self, use: str) -> Project:
        """A copy of its own for each use, so that the judge's runs and the checker's do not meet."""
        folder = self.home / use
        if not folder.is_dir():
            shutil.copytree(self.home / "clean", folder, symlinks=True)
        elif use not in self._used:
            self._restore(folder)
        self._used.add(use)
        return Project(
            name=self.home.name,
            folder=folder,
            package=self.settings["package"],
            tests=tuple(self.settings["suite"]),
            python=self.settings["python"],
            checker=self.settings["checker"],
            options=tuple(self.settings["pytest_options"]),
        )

    def _restore(self, folder: Path) -> None:
        """Take out the mutant that a run left in which was killed."""
        for file in (self.home / "clean" / self.settings["package"]).rglob("*.py"):
            copy = folder / file.relative_to(self.home / "clean")
            if copy.read_bytes() != file.read_bytes():
                shutil.copy(file, copy)

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


def clean_check(
    package: Package, checker: Checker, label: str, path: str, tests: CleanTests, claims: Sequence[dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The clean copy's reports of one file by run, the verified claims among them; kept for its mutants.

    Of the tests it is given enough that all lines run which any test runs in functions with claims.
    """
    for record in package.lines(f"clean-{label}"):
        if record["path"] == path:
            return dict(record["reports"])
    project = package.project(f"checked-{label}")
    own = [claim for claim in claims if claim["path"] == path]
    chosen = tests.covering(path, claimed_lines(package.source(path), own), MOST_TESTS)
    reports: dict[str, dict[str, Any]] = {}
    for run in tables.RUNS:
        begin = time.perf_counter()
        try:
            report = checker.report(project, [path], chosen if run == "tests" else (), strict=True)
        except CheckerFailedError as error:
            tell(f"clean {path}, {run}: {error}")
            report = {"findings": [], "unreached": own, "claims": {"verified": 0}}
        verified = detection.verified_claims(own, report)
        seconds = round(time.perf_counter() - begin, 1)
        reports[run] = {**report, "verified": verified, "seconds": seconds, "tests": chosen if run == "tests" else []}
        tell(f"clean {path}, {run}: {len(verified)} of {len(own)} claims verified, {len(chosen)} tests, {seconds} s")
    package.add(f"clean-{label}", {"path": path, "reports": reports})
    return reports


def claimed_lines(source: Source, claims: Sequence[dict[str, Any]]) -> set[int]:
    """The lines of all functions that claims belong to, and of the methods of such classes."""
    scopes = {claim["scope"] for claim in claims}
    owners = {*scopes, *(scope.rpartition(".")[0] for scope in scopes)} - {""}
    return {
        line
        for name, function in source.functions().items()
        if any(f"{name}.".startswith(f"{owner}.") for owner in owners)
        for line in range(function.lineno, (function.end_lineno or function.lineno) + 1)
    }


def claimed_files(claims: Sequence[dict[str, Any]], tests: CleanTests, seed: int, most: int) -> list[str]:
    """A sample of the files with claims that tests run; those of many claims as likely as those of three."""
    counts = Counter(claim["path"] for claim in claims if not is_test(claim["path"]) and claim["path"] in tests.ran)
    order = shuffled(sorted(counts), random.Random(seed))  # noqa: S311 - a sample, and no secret
    return sorted(order, key=lambda path: counts[path] < 3)[:most]


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
    project = package.project(f"checked-{label}")
    file = project.folder / mutant.path
    source = file.read_bytes().decode("utf-8")
    paths = {mutant.path, *(fact["path"] for fact in record["evidence"])}
    sources = {p: package.source(p) for p in paths if (package.home / "clean" / p).is_file()}
    right = detection.acceptable(mutant, record["evidence"], sources)
    body = body_of(sources[mutant.path], mutant)
    proving = [fact["test"] for fact in record["evidence"]]
    files = [mutant.path, *elsewhere(mutant, record["evidence"])]
    checks = {}
    for run in tables.RUNS:
        tests = [*dict.fromkeys([*clean[run]["tests"], *proving])] if run == "tests" else []
        before = clean[run]
        begin = time.perf_counter()
        try:
            if files[1:]:
                plain = checker.report(project, files, tests)
                before = {**before, "findings": [*before["findings"], *plain["findings"]]}
            file.write_bytes(mutant.applied(source).encode("utf-8"))
            report = checker.report(project, files, tests)
        except CheckerFailedError as error:
            checks[run] = {"verdict": "missed", "place": "", "new": [], "said": {"notes": [str(error)]}}
            checks[run]["verified_before"] = clean[run]["claims"]["verified"]
            continue
        finally:
            file.write_bytes(source.encode("utf-8"))
        new = detection.new_findings(report, before)
        claims = {(c["path"], c["line"]) for c in clean["tests"]["verified"] if c["line"] in body}
        found, place = detection.verdict(new, right, frozenset(claims))
        checks[run] = {
            "verdict": found,
            "place": place,
            "new": [f"{f['path']}:{f['line']}: {f['code']} {f['message']}" for f in new][:6],
            "said": {} if found == "detected" else detection.said(report, before, mutant.path, body),
            "verified_before": clean[run]["claims"]["verified"],
            "seconds": round(time.perf_counter() - begin, 1),
        }
    return {
        "package": package.home.name,
        "mutant": record["mutant"],
        "evidence": record["evidence"],
        "checks": checks,
        "verified_without_tests": is_verified_without_tests(record["mutant"], clean),
    }


def elsewhere(mutant: Mutant, evidence: Sequence[dict[str, Any]]) -> list[str]:
    """The files in which alone a mutant shows, if it does not in its own: these are checked with it."""
    if any(mutant.path in (fact["path"], *fact.get("callers", ())) for fact in evidence):
        return []
    return sorted({fact["path"] for fact in evidence})


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
    """Judge mutants until as many count as are wanted, or the time is over; check each that does."""
    end = time.monotonic() + arguments.seconds
    tests = clean_tests(package, arguments.suite_seconds)
    with Servers(package, arguments.tool) as servers:
        checker = servers.checker(arguments)
        claims = checker.claims(package.project(f"checked-{arguments.label}"))
        clean = {}
        for path in claimed_files(claims, tests, arguments.seed, arguments.files):
            clean[path] = clean_check(package, checker, arguments.label, path, tests, claims)
        known = {record["mutant"]["key"]: record for record in package.lines("judged")}
        verified = [claim for reports in clean.values() for claim in reports["tests"]["verified"]]
        order = candidates(package, verified, arguments.seed)
        tell(f"{len(order)} mutants to choose from, {len(known)} judged before")
        counted = sum(bool(record["evidence"]) for record in known.values())
        for mutant in order:
            if counted >= arguments.wanted or time.monotonic() > end:
                break
            if mutant.key in known:
                continue
            begin = time.perf_counter()
            body = body_of(package.source(mutant.path), mutant)
            limits = {"most": arguments.most_tests, "patience": arguments.patience, "limit": arguments.test_limit}
            record = {"mutant": mutant.as_json(), **judge(servers.judging, tests, mutant, body, **limits)}
            record["seconds"] = round(time.perf_counter() - begin, 1)
            package.add("judged", record)
            counted += bool(record["evidence"])
            kinds = " ".join(sorted({fact["kind"] for fact in record["evidence"]})) or "dropped"
            tell(f"{counted}/{arguments.wanted} {mutant.key} {mutant.operator}: {kinds} ({record['seconds']} s)")
            check_one(package, checker, arguments.label, record, clean)
        for record in package.lines("judged"):  # those that an interrupted run has judged and not checked
            check_one(package, checker, arguments.label, record, clean)


def check_one(
    package: Package,
    checker: Checker,
    label: str,
    record: dict[str, Any],
    clean: dict[str, dict[str, dict[str, Any]]],
) -> None:
    """Check a mutant that counts, unless that was done."""
    name = f"checks-{label}"
    key, path = record["mutant"]["key"], record["mutant"]["path"]
    if path not in clean or not record["evidence"]:
        return
    if any(each["mutant"]["key"] == key for each in package.lines(name)):
        return
    result = check_mutant(package, checker, label, record, clean[path])
    package.add(name, result)
    checks = [f"{run}: {c['verdict']} {c['place']} ({c.get('seconds')} s)" for run, c in result["checks"].items()]
    tell(f"  {', '.join(checks)}")


def check_again(package: Package, arguments: argparse.Namespace) -> None:
    """Give the mutants that count to another checker, or to another version of it."""
    if arguments.checker is not None:
        package.settings["checker"] = str(Path(arguments.checker).resolve())
    tests = CleanTests.of(package.lines("tests"))
    with Servers(package, arguments.tool) as servers:
        checker = servers.checker(arguments)
        claims = checker.claims(package.project(f"checked-{arguments.label}"))
        records = [record for record in package.lines("judged") if record["evidence"]]
        clean = {}
        for path in sorted({record["mutant"]["path"] for record in records}):
            clean[path] = clean_check(package, checker, arguments.label, path, tests, claims)
        for record in records:
            check_one(package, checker, arguments.label, record, clean)


class Servers:
    """The fork servers for a package: of its interpreter for the judge and for the checker's worker, of the checker's.

    Use as a context manager. The worker's has imported nothing that it watches or patches on import.
    """

    def __init__(self, package: Package, tool: str) -> None:
        self._package, self._tool = package, shlex.split(tool)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Servers:
        judged = self._package.project("judged")
        own = {Path(judged.package).name, "mutation", "shapecheck"}
        collect = ["-m", "pytest", "-q", "--collect-only", "-o", "addopts=", "-p", "no:cacheprovider", *judged.tests]
        server = self._server(judged.python, judged, BASIC, learn=collect, own=own)
        modules = [name for name in server.modules if name.partition(".")[0] in HARMLESS]
        # Of the worker, whose search ends after so many seconds: a busy machine shall not change verdicts.
        environment = {"JAXTYPING_DISABLE": "1", "PYTHONDONTWRITEBYTECODE": "1", CLOCK: "cpu"}
        self._worker = self._server(judged.python, judged, modules, own=own, **environment)
        self._checking = self._tool
        if self._tool[1:] == ["-m", "shapecheck"]:
            smallest = min(judged.folder.glob(f"{judged.package}/**/*.py"), key=lambda file: file.stat().st_size)
            learn = [*self._tool[1:], "check", str(smallest), "--no-cache", "--no-tests", "--python", judged.python]
            command = self._server(self._tool[0], judged, (), learn=learn, own={"jax", "jaxlib", "numpy"})
            self._checking = [command.program, *self._tool[1:]]
            os.environ["SHAPECHECK_PYTHON"] = command.program  # the judge of runtime checks
        self.judging = dataclasses.replace(judged, python=server.program)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def checker(self, arguments: argparse.Namespace) -> Checker:
        """The checker, behind its server and its worker's."""
        return Checker(tool=self._checking, python=self._worker.program, budget=arguments.budget, limit=arguments.limit)

    def _server(
        self, python: str, project: Project, modules: Sequence[str], *, learn: Sequence[str] = (), own: Any, **more: str
    ) -> ForkServer:
        environment = {**project.environment, **more}
        folder = self._package.home
        server = ForkServer(python, folder, environment, modules=modules, learn=learn, own=own, project=project.folder)
        return self._stack.enter_context(server)


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
    run.add_argument("--out", type=_whole_path, required=True)
    run.add_argument("--python", default=sys.executable, help="the package's interpreter")
    run.add_argument("--checker", default="", metavar="FOLDER", help="where its tests import shapecheck from")
    run.add_argument("--pytest-option", action="append", default=[], help="an option for pytest, --pytest-option=-x")
    run.add_argument("--wanted", type=int, default=40, help="mutants that count (default: 40)")
    run.add_argument("--seconds", type=float, default=3600, help="after which no other is judged (default: 3600)")
    run.add_argument("--files", type=int, default=12, help="that are mutated, a sample (default: 12)")
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--suite-seconds", type=float, default=1800, help="for the clean copy's tests (default: 1800)")
    run.add_argument("--most-tests", type=int, default=6, help="for one mutant (default: 6)")
    run.add_argument("--patience", type=float, default=30, help="what these may take on the clean copy, in seconds")
    run.add_argument("--test-limit", type=float, default=180, help="seconds after which they are stopped")
    check = commands.add_parser("check", help="give the mutants that count to another checker")
    check.add_argument("out", type=_whole_path)
    check.add_argument("--checker", default=None, metavar="FOLDER", help="where shapecheck is imported from")
    for each in (run, check):
        each.add_argument("--tool", default=f"{sys.executable} -m shapecheck", help="the checker's command")
        each.add_argument("--budget", type=float, default=240, help="the checker's --budget (default: 240)")
        each.add_argument("--limit", type=float, default=900, help="seconds for one run of the checker")
        each.add_argument("--label", default="before", help="what these results are called (default: before)")
    report = commands.add_parser("report", help="print the tables")
    report.add_argument("out", type=_whole_path)
    report.add_argument("--label", default="before")
    report.add_argument("--misses", nargs="*", choices=tables.RUNS, default=["tests"])
    return parser.parse_args()


def _whole_path(text: str) -> Path:
    """A folder for results; the tests run in another one, so that its path must not depend on that."""
    return Path(text).resolve()


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
            "pytest_options": arguments.pytest_option,
        }
        measure(Package.create(arguments.out / name, Path(folder), settings), arguments)
    elif arguments.command == "check":
        for package in packages(arguments.out):
            check_again(package, arguments)
    else:
        results: list[dict[str, Any]] = []
        judged = {}
        for package in packages(arguments.out):
            judged[package.home.name] = len(package.lines("judged"))
            results += package.lines(f"checks-{arguments.label}")
        print(tables.summary(results, judged, shown=arguments.misses))


if __name__ == "__main__":
    main()
