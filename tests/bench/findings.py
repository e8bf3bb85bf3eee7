"""Every finding on public packages, each judged by hand, and what a change of the checker does to them.

    python tests/bench/findings.py list                                  what to clone and to install
    python tests/bench/findings.py run --sources DIR --python PYTHON     check all of it, compare, print a table
    python tests/bench/findings.py run --sources DIR --reports OUT ott   one package; its JSON report is kept in OUT
    python tests/bench/findings.py compare --sources DIR --reports OUT   compare kept reports again, without a run
    python tests/bench/findings.py compare ... --update                  write what is new into the data file

`DIR` holds a checkout per package, named as `list` names it (`--download` gets those that PyPI has). The packages'
own dependencies must be there: in one environment for all (`--python`), or in one for each (`--environments E`, which
takes `E/NAME/bin/python` where that exists).

Which packages those are stands in packages.toml beside this script, and in findings.tsv a row for each finding that was
ever reported (errors and warnings; notes are none). Read the source, then write a verdict and a reason into the new
rows:

    true        the claim is literally false of the value that it speaks of, in every sensible reading; or JAX would
                raise for real users as well
    debatable   a reader could call it either way
    false       some sensible reading holds, or the text is no claim, or only what we made up fails
    unjudged    nobody has read it yet

Printed are findings that nobody has judged, false ones that came back after they were gone, and true ones that are
lost. The exit status is 1 if there are any of the last two, and 2 if a package gave no report.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from shapecheck.verdicts.baseline import digest

DATA = Path(__file__).with_name("findings.tsv")
VERDICTS = ("true", "debatable", "false", "unjudged")


@dataclass(frozen=True, kw_only=True)
class Package:
    """A public package: where it comes from, and what of it is checked, from which folder.

    `origin` is a commit of the repository, or a version where the checkout is what PyPI has.
    """

    name: str
    repository: str
    origin: str
    checked: str
    run_in: str = ""
    """The folder below the sources; by default the checkout."""

    @property
    def on_pypi(self) -> bool:
        """Whether `origin` is a version."""
        return "." in self.origin


PACKAGES = tuple(
    Package(name=name, **row)
    for name, row in tomllib.loads(Path(__file__).with_name("packages.toml").read_text("utf-8")).items()
)

# The environment that the verdicts were read with (Python 3.12), for all packages together. What needs TensorFlow or
# PyTorch stays unreached there.
REQUIREMENTS = (
    "jax==0.12.0.1 flax dm-haiku equinox optax chex jaxtyping tfp-nightly distrax jraph jmp dm-tree ml_collections "
    "absl-py einops pytest hypothesis gin-config h5py networkx pandas scipy scikit-learn matplotlib seaborn sympy "
    "attrs biopython boto3 huggingface_hub multipledispatch jaxopt lineax diffrax dynamax numba tridiax jaxley-mech "
    "clu grain xarray zarr dask pydantic deprecated sentencepiece pyarrow python-frontmatter jaxline pyscf folx "
    "blackjax jax-tqdm bayesian-optimization regex transformers tokenizers tensorboardX grpcio netCDF4 ase "
    "frozendict pymatgen e3nn_jax optree aqtp pint tree_math dm_env "
    "gymnasium esquilax pytest-mock rlax nir elements ninjax portal coloredlogs "
    "git+https://github.com/google-deepmind/kfac-jax igraph jeig pytreeclass gdstk drone-models drone-controllers "
    "array-api-compat casadi multimethod e3j tqdm-loggable immutabledict einshape lazy_loader objax control "
    "git+https://github.com/mjendrusch/flexloop"
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One finding of the data file.

    `content` is the hash that baselines use (code, text of the line, claim); `occurrence` counts equal ones in one
    file. So a row is found again where its line has moved. `line` and `message` are for the reader. `reported` says
    whether the finding stood in the last run that was written down.
    """

    package: str
    path: str
    line: int
    code: str
    claim: str
    message: str
    content: str
    occurrence: int
    verdict: str = "unjudged"
    reported: str = "yes"
    why: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What makes it the same finding."""
        return self.package, self.path, self.content, self.occurrence

    def __str__(self) -> str:
        return f"{self.package} {self.path}:{self.line}: {self.code} {self.message}"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run over a package gave: its findings, the counts of claims, how long it took, whether it was cut."""

    package: str
    rows: tuple[Row, ...]
    claims: Mapping[str, int]
    seconds: float
    cut: int


@dataclass(kw_only=True)
class Comparison:
    """The rows of some runs beside those of the data file."""

    unjudged: list[Row] = field(default_factory=list)
    returned: list[Row] = field(default_factory=list)
    lost: list[Row] = field(default_factory=list)
    gone: list[Row] = field(default_factory=list)
    """False and debatable ones that are not reported any more."""
    judged: list[Row] = field(default_factory=list)
    """All that the runs reported, with the verdicts of the data file."""


def read_report(package: str, report: Mapping[str, object], seconds: float, run_in: Path) -> Run:
    """Take what we compare out of a JSON report; `run_in` is the folder that its paths start from."""
    rows: list[Row] = []
    seen: Counter[tuple[str, str]] = Counter()
    lines: dict[str, list[str]] = {}
    for finding in _objects(report["findings"]):
        if finding["severity"] == "note":
            continue
        path, number = str(finding["path"]), int(str(finding["line"]))
        if path not in lines:
            lines[path] = source_lines(run_in / path)
        text = lines[path][number - 1] if 0 < number <= len(lines[path]) else ""
        claim = str(finding["claimed"] or "")
        content = line_digest(str(finding["code"]), text, claim)
        rows.append(
            Row(
                package=package,
                path=path,
                line=number,
                code=str(finding["code"]),
                claim=one_line(claim),
                message=one_line(str(finding["message"]).partition("\n")[0]),
                content=content,
                occurrence=seen[path, content],
            )
        )
        seen[path, content] += 1
    claims = report["claims"]
    tests = report.get("tests") or {}
    assert isinstance(claims, dict)
    assert isinstance(tests, dict)
    cut = int(tests.get("cut", 0)) + sum("--budget" in str(entry["reason"]) for entry in _objects(report["entries"]))
    return Run(package=package, rows=tuple(rows), claims=claims, seconds=seconds, cut=cut)


def _objects(values: object) -> list[dict[str, object]]:
    """A list of objects in a JSON report."""
    assert isinstance(values, list)
    return values


def line_digest(code: str, line: str, claim: str) -> str:
    """Hash a finding by what `shapecheck.verdicts.baseline.content` hashes, from the report's plain values."""
    return digest(code, " ".join(line.split()), " ".join(claim.split()))


def source_lines(path: Path) -> list[str]:
    """The lines of a file; none where there is no such file any more."""
    return path.read_text("utf-8", errors="replace").splitlines() if path.is_file() else []


def one_line(text: str) -> str:
    """A text for one cell of the data file: no tabs, no line ends."""
    return " ".join(text.split())


def still_in_source(row: Row, run_in: Path) -> bool:
    """Whether the line and the claim of a row are in the source that was checked (it may be of another commit)."""
    return any(line_digest(row.code, line, row.claim) == row.content for line in source_lines(run_in / row.path))


def compare(known: Iterable[Row], runs: Sequence[Run], in_source: Mapping[str, Path]) -> Comparison:
    """Hold runs against the data file; `in_source` names, for each package, the folder its paths start from.

    A true row is lost if its line still stands there and nothing is reported of it. Rows of packages that were not
    run say nothing.
    """
    by_key = {row.key: row for row in known}
    result = Comparison()
    reported = set()
    for run in runs:
        for row in run.rows:
            reported.add(row.key)
            before = by_key.get(row.key)
            if before is None:
                result.unjudged.append(row)
                result.judged.append(row)
                continue
            result.judged.append(replace(row, verdict=before.verdict, why=before.why, reported=before.reported))
            if before.verdict == "unjudged":
                result.unjudged.append(row)
            elif before.verdict == "false" and before.reported == "no":
                result.returned.append(replace(row, why=before.why))
    ran = {run.package for run in runs}
    for row in by_key.values():
        if row.package not in ran or row.key in reported:
            continue
        if row.verdict == "true":
            if still_in_source(row, in_source[row.package]):
                result.lost.append(row)
        elif row.reported == "yes":
            result.gone.append(row)
    return result


def updated(known: Sequence[Row], runs: Sequence[Run]) -> list[Row]:
    """The rows to write down: verdicts stay, lines and messages follow the source, new rows are unjudged.

    A true row that is lost stays `reported`, so that it goes on to be missed; a false one that is gone does not, so
    that it shows when it comes back.
    """
    ran = {run.package for run in runs}
    now = {row.key: row for run in runs for row in run.rows}
    rows = []
    for row in known:
        seen = now.pop(row.key, None)
        if seen is not None:
            rows.append(replace(seen, verdict=row.verdict, why=row.why))
        elif row.package in ran and row.verdict != "true":
            rows.append(replace(row, reported="no"))
        else:
            rows.append(row)
    return sorted([*rows, *now.values()], key=lambda row: (row.package, row.path, row.line, row.code, row.key))


def read_data(path: Path) -> list[Row]:
    """The rows of the data file; no file is no rows."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        raw = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = []
    for cells in raw:
        numbers = {"line": int(cells.pop("line")), "occurrence": int(cells.pop("occurrence"))}
        row = Row(**cells, **numbers)  # type: ignore[arg-type]  # a column too many or too few is an error here
        if row.verdict not in VERDICTS:
            raise SystemExit(f"{path}: {row.verdict!r} is no verdict: {', '.join(VERDICTS)} ({row})")
        if row.verdict != "unjudged" and not row.why:
            raise SystemExit(f"{path}: a verdict needs its reason in the column `why` ({row})")
        rows.append(row)
    return rows


def write_data(path: Path, rows: Iterable[Row]) -> None:
    """Write the data file whole."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("\t".join(column.name for column in fields(Row)) + "\n")
        for row in rows:
            file.write("\t".join(str(value) for value in asdict(row).values()) + "\n")


def check(
    package: Package, sources: Path, python: Path, budget: float, kept: Path, options: Sequence[str] = ()
) -> None:
    """Run shapecheck over one package, as a user would, from its checkout, and keep the report and the seconds."""
    command = [sys.executable, "-m", "shapecheck", "check", package.checked, "--python", str(python), *options]
    command += ["--jobs", "1", "--budget", str(budget), "--no-cache", "--quiet", "--output-format", "json"]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=run_folder(package, sources), capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    try:
        report = json.loads(done.stdout)
    except ValueError:
        print(f"{package.name}: no report, exit status {done.returncode}\n{done.stderr[-2000:]}", file=sys.stderr)
        kept.unlink(missing_ok=True)
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"seconds": round(seconds, 1), "report": report}), "utf-8")


def run_folder(package: Package, sources: Path) -> Path:
    """The folder that a package is checked from, and that its paths start from."""
    return sources / (package.run_in or package.name)


def download(package: Package, sources: Path) -> None:
    """Unpack what PyPI has of a package into the sources: the source distribution, or else the wheel."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"{package.name}=={package.origin}"]
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run([*pip, "--no-binary", ":all:", "-d", folder], check=False).returncode:
            subprocess.run([*pip, "-d", folder], check=True)
        (archive,) = Path(folder).iterdir()
        unpacked = Path(folder) / "unpacked"
        if archive.suffix == ".whl":
            shutil.unpack_archive(archive, unpacked, format="zip")
            inside = unpacked
        else:
            shutil.unpack_archive(archive, unpacked, filter="data")
            (inside,) = unpacked.iterdir()
        shutil.move(inside, sources / package.name)


HEAD = (
    "| package | commit or version | findings | true | debatable | false | unjudged | claims verified | s |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def table(packages: Sequence[Package], runs: Sequence[Run], judged: Iterable[Row]) -> str:
    """One line a package, and their sum."""
    verdicts = Counter((row.package, row.verdict) for row in judged)
    origins = {package.name: package.origin for package in packages}
    lines = [HEAD]
    for run in runs:
        counts = [verdicts[run.package, verdict] for verdict in VERDICTS]
        lines.append(_line(run.package, origins.get(run.package, ""), counts, run.claims, run.seconds))
    counts = [sum(verdicts[run.package, verdict] for run in runs) for verdict in VERDICTS]
    claims = {key: sum(run.claims[key] for run in runs) for key in ("verified", "total")}
    lines.append(_line("all", "", counts, claims, sum(run.seconds for run in runs)))
    return "\n".join(lines)


def _line(name: str, origin: str, counts: Sequence[int], claims: Mapping[str, int], seconds: float) -> str:
    cells = [name, origin, sum(counts), *counts, f"{claims['verified']} of {claims['total']}", f"{seconds:.0f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def tell(result: Comparison, runs: Sequence[Run]) -> None:
    """Print what somebody has to look at."""
    cut = {run.package: run.cut for run in runs if run.cut}
    for row in result.unjudged:
        print(f"not judged: {row}")
    for row in result.returned:
        print(f"false, and came back: {row}\n    {row.why}")
    now = {(row.package, row.path, row.line): row for row in result.unjudged}
    for row in result.lost:
        print(f"true, and lost: {row}\n    {row.why}")
        if row.package in cut:
            print(f"    the budget cut {cut[row.package]} tests or entries of this package")
        other = now.get((row.package, row.path, row.line))
        if other is not None:
            print(f"    that line has a new finding: {other.code} {other.message}")
    for row in result.gone:
        print(f"{row.verdict}, and gone: {row}")


def main() -> int:
    """Do what the command line says; the exit status is in the docstring of the module."""
    options = _parser().parse_intermixed_args()
    chosen = [p for p in PACKAGES if not options.packages or p.name in options.packages]
    if unknown := set(options.packages) - {p.name for p in PACKAGES}:
        raise SystemExit(f"no such package: {', '.join(sorted(unknown))}; `list` names them")
    if options.command == "list":
        for package in chosen:
            get = f"git clone {package.repository} DIR/{package.name} && git -C DIR/{package.name} checkout"
            print(f"pip download {package.name}=={package.origin}" if package.on_pypi else f"{get} {package.origin}")
        print(f"pip install {REQUIREMENTS}")
        return 0
    status = 0
    sources: Path = options.sources.resolve()
    with tempfile.TemporaryDirectory() as folder:
        reports: Path = options.reports or Path(folder)
        runs = []
        for package in chosen:
            kept = reports / f"{package.name}.json"
            if options.command == "run":
                if options.download and package.on_pypi and not (sources / package.name).exists():
                    download(package, sources)
                own = options.environments and options.environments / package.name / "bin" / "python"
                python = own if own and own.is_file() else options.python
                check(package, sources, python.absolute(), options.budget, kept.absolute())
            if not kept.is_file():
                print(f"{package.name}: no report", file=sys.stderr)
                status = 2
                continue
            read = json.loads(kept.read_text("utf-8"))
            runs.append(read_report(package.name, read["report"], read["seconds"], run_folder(package, sources)))
    known = read_data(options.data)
    result = compare(known, runs, {package.name: run_folder(package, sources) for package in chosen})
    tell(result, runs)
    print(table(chosen, runs, result.judged))
    if options.update:
        write_data(options.data, updated(known, runs))
    return status or int(bool(result.returned or result.lost))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["list", "run", "compare"])
    parser.add_argument("packages", nargs="*", help="only these; by default all")
    parser.add_argument("--sources", type=Path, default=Path(), metavar="DIR", help="a checkout per package")
    parser.add_argument("--reports", type=Path, metavar="OUT", help="where the JSON reports are kept, or stand")
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.executable),
        help="the interpreter that has the packages' dependencies",
    )
    parser.add_argument("--environments", type=Path, metavar="E", help="E/NAME/bin/python is taken where it exists")
    parser.add_argument("--download", action="store_true", help="get from PyPI what it has and DIR has not")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds for each package")
    parser.add_argument("--data", type=Path, default=DATA, help="the file with the verdicts")
    parser.add_argument("--update", action="store_true", help="write new findings and moved lines into it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
