"""What evaluation proved, written into the source: comments behind assignments, or annotations of functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from shapecheck import files
from shapecheck.claims import read_module
from shapecheck.claims.value_sites import OpenPlace, Style, defaulted_integers, with_open_places
from shapecheck.commands.check import Progress
from shapecheck.commands.check_inputs import read_texts
from shapecheck.commands.evaluation import EvaluationContext, evaluate
from shapecheck.commands.module_plans import outermost_function, plan
from shapecheck.commands.module_reader import ModuleReader
from shapecheck.config import Config, ConfigError
from shapecheck.model import Module, is_test_file
from shapecheck.rewrite import RewriteError
from shapecheck.rewrite.write_claims import write_annotations, write_comments
from shapecheck.shapes.claim_text import ClaimText
from shapecheck.syntax.source_text import read_source
from shapecheck.verdicts.findings import runs_for_claims
from shapecheck.verdicts.proved_shapes import ProvedShape, dialect_of, prove_shapes
from shapecheck.worker.entry_phase import CUTS
from shapecheck.worker.messages.plans import ModulePlan
from shapecheck.worker.supervisor import RunResult

_NO_ROOM = "the line would be too long, or the comment be read as something else"
_ANNOTATION = ClaimText('Float[Array, "', (), " ", '"]', in_annotation=True)


@dataclass(frozen=True)
class AnnotatedFile:
    """A file before and after, and how many claims were written; or the `problem` for which none is."""

    path: str
    before: bytes
    after: bytes
    written: int = 0
    problem: str = ""


@dataclass(frozen=True)
class AnnotateRequest:
    """Which claims to write: of a style, in functions whose qualified names match one of `only`, if there are any."""

    style: Style = "comments"
    only: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AnnotateResult:
    """The files of a run, and how many places without a claim it looked at.

    Nothing is proved where calls were `cut` that might show other shapes: tests, entries or whole files. `others` has
    the reasons for which nothing is written, and at how many places; `troubles` what kept code from being evaluated,
    and how often; `bugs` tracebacks of ours.
    """

    files: tuple[AnnotatedFile, ...] = ()
    places: int = 0
    unread: Mapping[str, str]
    cut: int = 0
    others: Mapping[str, int] = field(default_factory=dict)
    troubles: Mapping[str, int] = field(default_factory=dict)
    bugs: tuple[str, ...] = ()


def annotate(
    paths: Sequence[Path], config: Config, request: AnnotateRequest, *, progress: Progress | None = None
) -> AnnotateResult:
    """Evaluate files and folders, and give the files with what was proved; nothing is written here.

    Raises ConfigError for what the user must put right first.
    """
    unread: files.UnreadPaths = {}
    texts = read_texts(paths, config, unread)
    reader = ModuleReader(config, dict(texts.values()))
    modules: dict[str, Module] = {}
    places: dict[str, tuple[OpenPlace, ...]] = {}
    plans: list[ModulePlan] = []
    unparsed: list[AnnotatedFile] = []
    for shown, (file, data) in texts.items():
        source = read_source(shown, data)
        module, found = with_open_places(reader.read_file(file, data, shown), source, request.style)
        modules[shown] = module
        if not module.parsed:
            unparsed.append(AnnotatedFile(shown, data, data, problem=_why_unparsed(module)))
        is_left = is_test_file(shown) and not any(Path(path) == file or path == Path(shown) for path in paths)
        places[shown] = () if is_left else tuple(each for each in found if _is_wanted(module, each, request.only))
        outermost = (outermost_function(module, each.scope) for each in places[shown])
        wanted = {scope for scope in outermost if scope is not None}
        made = plan(file, module, config)
        # What is written shall hold for other integers than the defaults as well.
        names = (*made.names, *((scope, (name,)) for scope, name in defaulted_integers(source)))
        plans.append(replace(made, claimed=tuple(sorted({*made.claimed, *wanted})), names=names))
    _require_functions(modules.values(), request.only)
    tests = config.tests if config.tests is not None else files.find_tests([file for file, _ in texts.values()])
    around = EvaluationContext([file for file, _ in texts.values()], tests, None, progress, echo=False)
    evaluated = evaluate(plans, modules, config, around)
    looked_at = sum(map(len, places.values()))
    left, bugs = tuple(unparsed), tuple(evaluated.bugs)
    result = AnnotateResult(files=left, places=looked_at, unread=unread, troubles=_troubles(evaluated), bugs=bugs)
    if cut := _count_cut(evaluated):
        return replace(result, cut=cut)
    dialects = {
        path: _ANNOTATION if request.style == "annotations" else dialect_of(module) for path, module in modules.items()
    }
    sites = {path: {each.site for each in open_places} for path, open_places in places.items() if open_places}
    proof = prove_shapes(modules, runs_for_claims(evaluated.runs), sites, dialects)
    proved: dict[str, list[ProvedShape]] = {}
    for shape in proof.shapes:
        proved.setdefault(shape.path, []).append(shape)
    written = tuple(
        _write(path, texts[path][1], [(by_site[shape.site], shape) for shape in shapes], request.style, dialects[path])
        for path, shapes in proved.items()
        for by_site in [{each.site: each for each in places[path]}]
    )
    others = Counter(proof.others.values())
    others[_NO_ROOM] = len(proof.shapes) - sum(each.written for each in written if not each.problem)
    others[_NO_ROOM] -= sum(len(proved[each.path]) for each in written if each.problem)
    return replace(result, files=(*left, *written), others=+others)


def _why_unparsed(module: Module) -> str:
    return module.problems[0].message if module.problems else "it cannot be parsed"


def _require_functions(modules: Iterable[Module], only: Sequence[str]) -> None:
    """Raise ConfigError if no function is called as the user says."""
    names = {scope.qualname for module in modules for scope in module.scopes if scope.kind == "function"}
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in names):
            alike = get_close_matches(pattern, sorted(names), 1)
            meant = f"; did you mean {alike[0]!r}?" if alike else ""
            raise ConfigError(f"no function is called {pattern!r}{meant}")


def _troubles(evaluated: RunResult) -> Counter[str]:
    """What kept code from being evaluated, and how often."""
    found = Counter(f"{each.subject}: {each.reason}" for each in evaluated.troubles if each.reason not in CUTS)
    found.update(evaluated.tests.problems if evaluated.tests is not None else ())
    found.update(evaluated.failures)
    return found


def _count_cut(evaluated: RunResult) -> int:
    """The tests, entries and files for which there was no time."""
    tests = evaluated.tests.cut if evaluated.tests is not None else 0
    return evaluated.cut + tests + sum(trouble.reason in CUTS for trouble in evaluated.troubles)


def _is_wanted(module: Module, place: OpenPlace, only: Sequence[str]) -> bool:
    name = module.scopes[place.scope].qualname
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def _write(
    path: str, data: bytes, shapes: Sequence[tuple[OpenPlace, ProvedShape]], style: Style, dialect: ClaimText
) -> AnnotatedFile:
    try:
        if style == "annotations":
            wanted = {
                (place.line, place.column, place.name): (shape.dtype, " ".join(shape.dims)) for place, shape in shapes
            }
            return AnnotatedFile(path, data, write_annotations(path, data, wanted), len(shapes))
        comments = {place.line: dialect.with_dims(shape.dims) for place, shape in shapes}
        readable = _read_back(path, write_comments(path, data, comments))
        meant = {place.line: str(dialect.spec_of(shape.dims)) for place, shape in shapes}
        kept = {line: text for line, text in comments.items() if meant[line] in readable.get(line, ())}
        return AnnotatedFile(path, data, write_comments(path, data, kept), len(kept))
    except RewriteError as error:
        return AnnotatedFile(path, data, data, problem=str(error))


def _read_back(path: str, data: bytes) -> Mapping[int, set[str]]:
    """What the comments on each line are read as: one that is long, or beside such words, may not be what is meant."""
    found: dict[int, set[str]] = {}
    for claim in read_module(path, data).claims:
        found.setdefault(claim.span.line, set()).add(claim.spec)
    return found
