"""From the shapes that comments state to claims: of which value, how surely, and in which readings."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from shapecheck.claims.changed_operands import changed_variable, describes_operand, shapes_between
from shapecheck.claims.claim_sites import SiteKey, Sites, describe_expression, name_place, value_place
from shapecheck.claims.comment_labels import CommentLabels
from shapecheck.claims.comment_lines import CommentLine, PlacedSegment, comment_span
from shapecheck.claims.comment_targets import CommentTarget, CommentTargets
from shapecheck.claims.comment_text import Segment
from shapecheck.claims.comments_above import CommentsAbove
from shapecheck.claims.drafted_claims import ClaimDraft, DraftedClaims, value_row
from shapecheck.claims.function_heads import FunctionHeads
from shapecheck.claims.known_dims import shape_of
from shapecheck.claims.literal_tuples import has_entries
from shapecheck.claims.other_places import OtherPlaces
from shapecheck.claims.result_phrases import read_results
from shapecheck.claims.signature_lines import ARROW, is_random_key, read_signature
from shapecheck.model import Claim, Problem
from shapecheck.shapes import FixedDim, print_spec
from shapecheck.syntax.comment_tokens import Comment
from shapecheck.syntax.owners import Behind, CommentOwner, Inside, OwnedComments, UnreadableError
from shapecheck.syntax.scopes import Function, PlacedStatement, Tables, dotted_name, result_count
from shapecheck.syntax.source_text import SourceText

_SEVERAL = 2  # results
_SHORT = 4  # words in front of a shape: more than these are a sentence, which may speak of anything
_LONG_NAME = re.compile(r"(?<![\w.])[a-z][a-z0-9]*_\w+")  # no word of a sentence
_VARIABLE_HEADING = re.compile(r"#+\s*+`?[a-z_]\w*+`?\s*+:")
_WHAT_TAKES_IT = re.compile(r"\b(?:because|since|as)\s.*\b(?:expects?|needs?|wants?|takes?|requires?)\b", re.IGNORECASE)
_OF_EXPRESSION = re.compile(r"\([^()]*\w\s*[-+*/@]\s*\w[^()]*\)\s*:\s*$")
# "batch shape (3, 2), last dim is xyz" is about some axes of all
_OF_SOME_AXES = re.compile(r"\b(?:batch|event|leading|trailing|sample|inner|outer)[\s_-]+shapes?\W*$", re.IGNORECASE)
# "what f expects, (n, d)", behind a call of it
_OF_INPUTS = re.compile(
    r"\b(?:inputs?|args?|arguments?|expect\w*|takes?|accepts?|needs?|before|was|old)\b", re.IGNORECASE
)
_EQUATED = re.compile(r"([^\W\d]\w*)\s*=(?!=)")
_POINTS_UP = re.compile(r"#+\s*+\^")


class CommentClaimReader:
    """Reads the comments of one file, of which these `lines` state shapes.

    `known` are names of dims that make claims sure; those in marked comments are added. `taught` are further ones.
    """

    def __init__(
        self,
        source: SourceText,
        tables: Tables,
        sites: Sites,
        known: set[str],
        taught: set[str],
        lines: Sequence[CommentLine],
        new_group: Callable[[], int],
    ) -> None:
        self.source = source
        self.tables = tables
        self.sites = sites
        self.known = known
        self.taught = taught
        self.lines = lines
        self.new_group = new_group
        self.labels = CommentLabels(tables)
        self._owners: Mapping[Comment, CommentOwner] = {}
        self.other_places = OtherPlaces(source, tables)
        self.anchors = CommentTargets(source, tables, {}, self.other_places)
        self.heads = FunctionHeads(tables, self.anchors, self.labels)
        self._above = CommentsAbove(source, tables, self.anchors, {})
        self.problems: list[Problem] = []  # what nobody can read

    def claims(self) -> list[Claim]:
        """All claims of comments, in order."""
        lines = self.lines
        owned = self._read_owners([line.comment for line in lines])
        self._owners = owned.owners
        self.anchors = CommentTargets(self.source, self.tables, self._owners, self.other_places)
        self.heads = FunctionHeads(self.tables, self.anchors, self.labels)
        claims = list(self._unread_claims(lines, owned.unread))
        lines = [line for line in lines if line.comment not in owned.unread]
        self._above = CommentsAbove(self.source, self.tables, self.anchors, self._owners)
        for line in lines:
            for stated in line.stated:
                if stated.segment.marked and stated.segment.prose <= _SHORT:
                    self.known.update(stated.segment.names)
        writer = DraftedClaims(self.source, self.sites, self.known, self.new_group, self.other_places)
        drafts = ((line.comment, draft) for line in lines for draft in self._drafts(line))
        return claims + [claim for comment, draft in drafts for claim in writer.claims(comment, draft)]

    @functools.cached_property
    def _words_of_code(self) -> frozenset[str]:
        """The names that the code of the file has."""
        nodes = ast.walk(self.source.tree) if self.source.tree is not None else ()
        found: set[str] = set()
        for node in nodes:
            found.update(
                str(name) for each in ("id", "attr", "arg", "name", "asname") if (name := getattr(node, each, None))
            )
        return frozenset(found)

    def _read_owners(self, candidates: Sequence[Comment]) -> OwnedComments:
        """What these comments hang on."""
        if not candidates or self.source.tree is None:
            return OwnedComments({}, {})
        from shapecheck.syntax.comment_owners import comment_owners  # noqa: PLC0415  # loads libcst

        try:
            return comment_owners(self.source, candidates)
        except UnreadableError as error:
            reason = f"the shape comments of this file are not checked: {error}"
            return OwnedComments({}, dict.fromkeys(candidates, reason))

    def _unread_claims(self, lines: Sequence[CommentLine], unread: Mapping[Comment, str]) -> Iterator[Claim]:
        """The shapes of comments of which nobody knows what they hang on; each reason is a problem, too."""
        reported: set[str] = set()
        for line in lines:
            reason = unread.get(line.comment, "")
            if not reason:
                continue
            if reason not in reported:
                reported.add(reason)
                self.problems.append(Problem("", comment_span(line.comment, 0, 1), reason))
            for stated in line.stated:
                for shape in stated.segment.shapes:
                    span = comment_span(line.comment, stated.offset + shape.start, stated.offset + shape.end)
                    yield Claim(
                        path=self.source.path,
                        span=span,
                        notation="comment",
                        text=shape.text,
                        spec=print_spec(shape.spec),
                        dtype=shape.dtype,
                        target="?",
                        scope=0,
                        sites=(),
                        sure=False,
                        unread=reason,
                    )

    def _drafts(self, line: CommentLine) -> Iterator[ClaimDraft]:
        placed, targets = self._targets(line)
        if placed is None:
            return
        several = list(self._of_mapping(line, placed)) or list(self._in_row(line, placed, targets))
        if several:
            yield from several
            return
        direct = False
        each = self._in_signature(line, placed)
        for index, stated in enumerate(line.stated):
            segment = stated.segment
            if each:
                targets = [each[index] if len(each) == len(line.stated) else _any_of(each)]
            alone = not (segment.prose or segment.labels)
            if segment.spaced and len(segment.shapes) not in {
                len(each.elements) or len(value_row(each.code)) for each in targets[:1]
            }:
                continue  # `(1, n)   (d, n)` above a product
            if not segment.marked and ((direct and segment.prose) or (line.spoiled and alone)):
                continue
            if line.comment.own_line and (self._is_narrative(line, segment) or _lists_variables(segment, placed)):
                continue
            if _is_bare_list(segment) and self.labels.may_be_code(segment, placed):
                continue  # `# a, r` names the arrays that were joined
            if _reads_shape(placed) and not _bound_names(placed).isdisjoint(_EQUATED.findall(segment.shapes[0].text)):
                continue  # `n, dim0, dim1 = x.shape  # dim0=height, dim1=width` says what these sizes are
            if line.continued and alone and segment.tail.strip(" .,;:"):
                segment = replace(segment, prose=_SHORT + 1)
            direct = direct or not (segment.prose or segment.labels)
            yield from self._of_segment(line, PlacedSegment(stated.offset, segment), placed, targets)

    def _of_mapping(self, line: CommentLine, placed: PlacedStatement) -> Iterator[ClaimDraft]:
        """What a comment says of a function with several results: `# x: (n, d) -> mean (d,), cov (d, d)`."""
        if not any(each.segment.arrow for each in line.stated) or len({each.offset for each in line.stated}) > 1:
            return
        function: ast.AST = placed.node
        if line.comment.own_line and self.labels.begins(placed):
            function = self.tables.nodes[self.tables.function_scope(placed.scope)]
        if not isinstance(function, Function):
            return
        *parameters, result = self.anchors.signature(self.tables.by_node[function])
        targets = {each.name: each for each in parameters}
        by_place = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        required = [name for name in by_place[: len(by_place) - len(function.args.defaults)] if name in targets]
        first = line.stated[0]
        count = result_count(function)
        text = line.comment.text[first.offset :]
        found = read_signature(text, list(targets), required, self.known, count=count) if count >= _SEVERAL else None
        if found is None:
            return
        plain = replace(first.segment, taken=(), labels=(), arrow=False, prose=0, tail="")
        for name, bracket in found.taken:
            own = replace(plain, shapes=(bracket,))
            yield ClaimDraft(segment=own, offset=first.offset, target=targets[name], sure=False, explicit=False)
        for each in found.given:
            own = replace(plain, shapes=(each.bracket,))
            select = () if each.place is None else (each.place,)
            yield ClaimDraft(segment=own, offset=first.offset, target=result, sure=True, explicit=True, select=select)

    def _in_row(
        self, line: CommentLine, placed: PlacedStatement, targets: Sequence[CommentTarget]
    ) -> Iterator[ClaimDraft]:
        """What a comment behind several values says of each by a word for it: `return h, y  # carry (n,), out (m,)`."""
        row = value_row(placed.node)
        segments = [each.segment for each in line.stated]
        if line.comment.own_line or len(targets) != 1 or not len(segments) == len(row) > 1:
            return
        named = (self.labels.find_variables(line.comment, each, placed, targets) for each in segments)
        if any(each.arrow or not each.labels for each in segments) or any(map(bool, named)):
            return
        offset = line.stated[0].offset
        names = [dotted_name(each) or "" for each in row]
        found = read_results(line.comment.text[offset:], 0, count=len(row), known=self.known, returned=names)
        if len(found) != len(row):
            return
        for each in found:
            place = each.place or 0
            own = replace(segments[0], shapes=(each.bracket,), labels=(), colon=False, prose=0, tail="")
            target = targets[0].elements[place] if targets[0].elements else targets[0]
            select = () if targets[0].elements else (f"{place}/{len(row)}",)
            yield ClaimDraft(segment=own, offset=offset, target=target, sure=True, explicit=False, select=select)

    def _is_narrative(self, line: CommentLine, segment: Segment) -> bool:
        """Whether a text above code tells what something does, or how it is, and not what the next value is."""
        if segment.arrow and segment.prose:
            in_words = not ARROW.search(line.comment.text)  # "reshape what has shape () to (1,)"
            return line.continued or (segment.numeric and in_words)  # "will map an array of shape (n, b) -> (b,)"
        far = self._above.is_far(line) and not self._above.neighbours(line)[1]
        return far and bool(segment.prose) and (segment.generic or not segment.labels)

    def _in_signature(self, line: CommentLine, placed: PlacedStatement) -> tuple[CommentTarget, ...]:
        """What several comments behind a `def` line may describe: `# shape (n, 3)  # shape (n,)`."""
        several = len({stated.offset for stated in line.stated}) > 1
        on_one_line = line.comment.line == placed.node.lineno
        return self.anchors.signature(placed) if several and on_one_line and not line.comment.own_line else ()

    def _targets(self, line: CommentLine) -> tuple[PlacedStatement | None, list[CommentTarget]]:
        """The statement whose scope counts, and what a shape without label may describe, the most natural first."""
        owner = self._owners.get(line.comment)
        if isinstance(owner, Behind):
            placed = self.tables.by_node[owner.statement]
            target = self.anchors.behind(line.comment, placed)
            return placed, [] if target is None else [target]
        if isinstance(owner, Inside):
            placed = self.tables.by_node[owner.statement]
            target = self.anchors.inside(line.comment, placed, owner)
            return placed, [] if target is None else [target]
        following, previous = self._above.neighbours(line)
        if previous is not None and _POINTS_UP.match(line.comment.text):
            following = None
        found = [self.anchors.above(line.comment, following)] if following is not None else []
        found += [self.anchors.statement(previous)] if previous is not None else []
        targets = [each for each in found if each is not None]
        if (
            following is not None
            and line.is_plain
            and self._above.ends_block(line)
            and self._above.is_trailed(following)
        ):
            left = self.other_places.taken_anew(following)  # what is below has a shape of its own
            if left is not None:
                targets = [CommentTarget(scope=left.scope, name=left.name, places=(left,), statement=following)]
        if following is not None and following.compound and found[0] is None:
            targets = [replace(each, unsure=True) for each in targets]  # it may head what stands inside
        return following or previous, targets

    def _of_segment(
        self, line: CommentLine, stated: PlacedSegment, placed: PlacedStatement, targets: list[CommentTarget]
    ) -> Iterator[ClaimDraft]:
        segment, own = stated.segment, line.comment.own_line
        if segment.shapes and _OF_SOME_AXES.search(line.comment.text[: stated.offset + segment.shapes[0].start]):
            return
        signature = self.heads.signature(line, segment, placed, targets)
        if signature and len(segment.taken) == len(segment.labels) == 1:
            taken = replace(segment, shapes=segment.taken, taken=(), arrow=False, tail="")
            yield from self._of_segment(line, PlacedSegment(stated.offset, taken), placed, targets)
        elif signature and not segment.labels and (parameters := _arrays_among(signature[:-1], len(segment.taken))):
            # Perhaps in this order: it describes what nothing else does, and accuses nobody.
            for shape, parameter in zip(segment.taken, parameters, strict=True):
                alone = replace(segment, shapes=(shape,), taken=())
                yield ClaimDraft(segment=alone, offset=stated.offset, target=parameter, sure=False, explicit=False)
            if not own:
                targets = [signature[-1]]
        elif not signature and (before := self._changed_variable(segment, placed, targets)) is not None:
            taken = replace(segment, shapes=segment.taken, taken=(), arrow=False, labels=(), prose=0, tail="")
            yield ClaimDraft(segment=taken, offset=stated.offset, target=before, sure=not own, explicit=True)
        for shape, step in zip(segment.way, self._steps(line, segment, placed, targets), strict=False):
            alone = replace(segment, shapes=(shape,), taken=(), way=(), labels=(), prose=0, tail="")
            yield ClaimDraft(segment=alone, offset=stated.offset, target=step, sure=True, explicit=True)
        named = self.labels.find_variables(line.comment, segment, placed, targets)
        if segment.assigned and (named is None or self.labels.may_be_code(segment, placed)):
            return
        if segment.may_be_values:
            named = self.labels.arrays_of_numbers(named or (), placed)
        if named is not None:
            # `if y.ndim == 2:  # y: (b, t)` tells of that case.
            behind_if = targets if isinstance(placed.node, ast.If) and not own else []
            in_arm = {each.name: each for each in behind_if if any(place.when == "before" for place in each.places)}
            for target in (in_arm.get(each.name, each) for each in named):
                if own:
                    target = self._with_step(line, segment, self._above.with_later(line, target))  # noqa: PLW2901
                    if (expanded := self.other_places.expanded_variable(placed, target.name)) is not None:
                        target = replace(target, places=(*target.places, expanded))  # noqa: PLW2901
                yield ClaimDraft(
                    segment=segment,
                    offset=stated.offset,
                    target=target,
                    sure=not segment.hedged and not (own and _is_worked_example(line, segment)),
                    explicit=segment.explicit,
                )
            return
        if own and (argument := self.heads.argument(segment, placed)) is not None:
            sure = not segment.hedged
            yield ClaimDraft(
                segment=segment, offset=stated.offset, target=argument, sure=sure, explicit=segment.explicit
            )
            return
        if own and (result := self.heads.result(line, segment, placed)) is not None:
            # What stands behind it may tell of further results.
            sure = not segment.hedged and not segment.prose and not segment.tail.strip(" .`")
            yield ClaimDraft(segment=segment, offset=stated.offset, target=result, sure=sure, explicit=segment.explicit)
            return
        if not targets or not (self._speaks_of_value(segment) or self._ends_with(segment, line, stated.offset)):
            return
        if own and segment.taken and _OF_EXPRESSION.search(line.comment.text[: stated.offset + segment.taken[0].start]):
            return  # `(x - mean): (n, m) - (n, 1) -> (n, m)` tells of a part of what is below
        if own and _reads_shape(placed) and any(each.segment.arrow for each in line.stated):
            return  # "a [b, n, c] at indices [b, n, k] => [b, n, k, c]": nothing becomes of `x` in `b, n = x.shape`
        if own and self._above.is_far(line) and len(targets) > 1:
            targets.reverse()  # it stands right below the one, a blank line above the other
        if own and segment.arrow and len(targets) > 1 and self._above.is_below(line, segment, targets):
            targets = targets[1:]
        sure = self._may_be_certain(line, segment, targets[0]) and (segment.arrow or not targets[0].unsure)
        if line.turn[1] > 1 and line.is_plain:
            if len(targets[0].elements) == line.turn[1]:
                targets = [targets[0].elements[line.turn[0]]]
            else:
                sure = False  # only one of the lines can describe the statement
        if own and (each := self._above.one_by_one(line, segment, targets[0])):
            yield from self._claims_of_each(segment, stated.offset, each, sure)
            return
        if own and segment.prose and not signature and (again := self._above.said_again(line, segment)) is not None:
            targets = [again]
        elif own:
            heading = self._above.below_heading(line, segment, targets[0])
            given = signature[-1:]
            # Of names beside each other only one can be what an arrow leads to.
            first = [*given, *targets[:1]] if given and targets[0].elements else [*targets[:1], *heading, *given]
            targets = [*first, *targets[1:]]
        places = tuple(dict.fromkeys(place for target in targets for place in target.places))
        if places and (not own or segment.arrow) and _has_axis_of_one(segment):
            widened = self.other_places.widened_operand(placed)
            places = places if widened is None else (*places, widened)
        updated = self.other_places.updated_part(placed) if places and not segment.labels else None
        places = places if updated is None else (*places, updated)
        if segment.arrow and len(segment.labels) == 1 and not segment.taken:
            made = self.other_places.made_of(placed, segment.labels[0])  # `return m, v.squeeze(-1)  # v -> (n,)`
            places = places if made is None else (made, *places)
            operand = None
            if own and ARROW.search(line.comment.text):  # `index --> (n,)` above what makes another of it
                operand = self.other_places.taken_variable(placed, segment.labels[0])
            places = places if operand is None else (*places, operand)
        if own and segment.taken and (operation := self.other_places.inner_operation(placed)) is not None:
            places = (*places, operation)
        if own:
            places = self._with_step(line, segment, replace(targets[0], places=places)).places
        # A sentence above a statement is sure only of dims that are known.
        beside = not own or not (segment.prose or (segment.labels and not segment.generic))
        explicit = segment.explicit and beside and (not segment.prose or segment.marked)
        if own and segment.arrow and segment.prose:
            lead = line.comment.text.partition(segment.shapes[0].text)[0]
            # "theirs: inv_freq_expanded @ positions_expanded -> (b, d, t)" is about what some other code has.
            is_of_other_code = not self._words_of_code.issuperset(_LONG_NAME.findall(lead))
            sure = sure and not is_of_other_code and not describes_operand(lead, placed.node)
        if own and segment.prose and _WHAT_TAKES_IT.search(line.comment.text):
            sure = False  # "reshape to (1, 1, h, w) because convolve expects (b, c, h, w)": on the way to the value
        names_part = segment.labels and not segment.generic and not segment.arrow
        part = "|".join(segment.labels) if names_part and (segment.colon or not segment.prose) else ""
        yield ClaimDraft(
            segment=segment,
            offset=stated.offset,
            target=replace(targets[0], places=places),
            sure=sure,
            explicit=explicit,
            part=part,
        )

    def _changed_variable(
        self, segment: Segment, placed: PlacedStatement, targets: Sequence[CommentTarget]
    ) -> CommentTarget | None:
        """The variable that a statement makes another of, as it was: `x = x.swapaxes(0, 1)  # (b, t) -> (t, b)`."""
        if not segment.arrow or not len(segment.taken) == len(segment.shapes) == 1 or segment.hedged:
            return None
        if not targets or targets[0].statement != placed or segment.prose > 1:
            return None
        scope = self.tables.function_scope(placed.scope)

        def is_array(name: str) -> bool:
            return name not in self.known and name != "self" and self.tables.is_visible(scope, name)

        found = changed_variable(targets[0].code, is_array)
        name = dotted_name(found[0]) if found else None
        if name is None or (segment.labels and name not in segment.labels):
            return None
        places = [name_place(scope, name, placed.node, "before", placed.loop)]
        is_given = name in self.tables.scopes[scope].parameters and self.labels.is_unconditional(placed)
        on_the_way = [each for each in found[1:] if isinstance(each, ast.Call | ast.Subscript)]
        if is_given and not on_the_way and not any(p < placed.place for p in self.tables.assignments(scope, name)):
            places.insert(0, SiteKey(kind="param", scope=scope, name=name))
        places += [value_place(scope, each, name, placed.loop) for each in on_the_way]
        return CommentTarget(scope=scope, name=name, places=tuple(places), statement=placed, part=found[0])

    def _steps(
        self, line: CommentLine, segment: Segment, placed: PlacedStatement, targets: Sequence[CommentTarget]
    ) -> Sequence[CommentTarget]:
        """The values on the way to the last of a chain of arrows, if the code has just as many.

        Those of a chain of calls, `x.reshape(b, t, h, k).swapaxes(1, 2)`, or of statements that bind one name anew.
        """
        if not segment.way or segment.hedged or not targets or targets[0].statement != placed:
            return ()
        scope, count = self.tables.function_scope(placed.scope), len(segment.way)
        steps = shapes_between(targets[0].code, lambda name: self.tables.is_visible(scope, name))
        if len(steps) == count:
            names = [describe_expression(self.source, each) for each in steps]
            places = [value_place(scope, each, name, placed.loop) for each, name in zip(steps, names, strict=True)]
            return [CommentTarget(scope=scope, name=each.name, places=(each,), statement=placed) for each in places]
        if not line.comment.own_line or steps:
            return ()
        bound = [targets[0], *self._above.bound_again(line, targets[0].name)]
        return bound[:-1] if len(bound) == count + 1 else ()

    @staticmethod
    def _claims_of_each(
        segment: Segment, offset: int, targets: Sequence[CommentTarget], sure: bool
    ) -> Iterator[ClaimDraft]:
        """Several shapes above as many statements: of each its own, or of the elements that the first one has."""
        for index, (shape, target) in enumerate(zip(segment.shapes, targets, strict=True)):
            places = tuple(dict.fromkeys((*target.places, *targets[0].places)))
            own = replace(segment, shapes=(shape,))
            select = f"{index}/{len(targets)}?"
            yield ClaimDraft(
                segment=own,
                offset=offset,
                target=replace(target, places=places),
                sure=sure,
                explicit=segment.explicit,
                select=(select,),
            )

    def _ends_with(self, segment: Segment, line: CommentLine, offset: int) -> bool:
        """Whether a comment behind a statement says what that is and, at its end, the shape: `# unit vectors, (n, 3)`.

        All names there are those of dims.
        """
        before = line.comment.text[: offset + segment.shapes[0].start].rstrip(" `")
        is_end = not line.comment.own_line and not segment.tail.strip(" .`") and len(segment.shapes) == 1
        are_known = bool(segment.names) and all(name in self.known | self.taught for name in segment.names)
        of_value = not segment.hedged and _OF_INPUTS.search(before) is None
        return is_end and are_known and of_value and before.endswith((",", ":", " -"))

    @staticmethod
    def _speaks_of_value(segment: Segment) -> bool:
        """Whether a segment without the name of a variable may speak of the value at its place at all."""
        if segment.inputs and not segment.marked:
            return False
        return (
            not segment.prose
            or segment.explicit
            or (segment.prose <= _SHORT and not _first_sentence(segment.tail).strip(" .`"))
        )

    def _may_be_certain(self, line: CommentLine, segment: Segment, target: CommentTarget) -> bool:
        """Whether a segment without the name of a variable surely speaks of the value at its place."""
        own = line.comment.own_line
        if segment.hedged or segment.inputs or segment.prose > _SHORT:
            return False
        if own and (segment.generic or _is_worked_example(line, segment)):
            return False  # `output: (b, t)` may be what the function returns
        if own and self._above.is_far(line) and not self._above.neighbours(line)[1]:
            return False
        names_other = segment.labels and not segment.generic and target.name not in segment.labels
        if own and segment.arrow and segment.colon and names_other and line.first != line.last:
            return False  # in a list of them `tokens: (b,) -> (b, 1)` may tell of a step inside of the statement
        if segment.labels and not segment.generic and not segment.arrow:
            if segment.colon and not segment.prose and has_entries(target.code, segment.labels):
                return True
            return segment.marked and not own  # the label is a word for something that has no such name in the code
        if not segment.prose:
            return True
        if own and segment.prose and self._above.is_trailed(target.statement):
            return False  # that says what the statement's shape is
        heading = segment.arrow and not _VARIABLE_HEADING.match(line.comment.text)
        return segment.explicit and (not own or heading)

    def _with_step(self, line: CommentLine, segment: Segment, target: CommentTarget) -> CommentTarget:
        """The same, or else the call inside of its statement that the words before the shape tell of."""
        lead = line.comment.text.partition(segment.shapes[0].text)[0]
        step = self.other_places.described_step(target.statement, lead)
        return target if step is None else replace(target, places=(*target.places, step))


def _lists_variables(segment: Segment, placed: PlacedStatement) -> bool:
    """Whether a list without brackets above a statement names what the next ones bind: `N, CA, C` above `N = x[0]`."""
    return _is_bare_list(segment) and not _bound_names(placed).isdisjoint(segment.shapes[0].spec.names())


def _bound_names(placed: PlacedStatement) -> set[str]:
    targets = placed.node.targets if isinstance(placed.node, ast.Assign) else ()
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _is_bare_list(segment: Segment) -> bool:
    """Whether names stand between commas, without a bracket around or anything in front."""
    shape = segment.shapes[0]
    is_bare = "," in shape.text and not shape.text.startswith(("(", "["))
    return is_bare and not segment.labels and not segment.marked and not segment.prose


def _is_worked_example(line: CommentLine, segment: Segment) -> bool:
    """Whether there are numbers alone in a text of several lines: "pad by 2, so that signal.shape = (6, 6)"."""
    return segment.numeric and line.first != line.last


def _reads_shape(placed: PlacedStatement) -> bool:
    """Whether a statement takes the sizes of an array, and changes nothing: `b, t = x.shape`."""
    return isinstance(placed.node, ast.Assign) and shape_of(placed.node.value) is not None


def _arrays_among(parameters: Sequence[CommentTarget], count: int) -> Sequence[CommentTarget]:
    """The parameters of which so many shapes speak: all, or all but random keys; none if neither are so many."""
    others = [each for each in parameters if not is_random_key(each.name)]
    return next((each for each in (parameters, others) if len(each) == count), ())


def _has_axis_of_one(segment: Segment) -> bool:
    """Whether one of its shapes says that an axis is there to broadcast."""
    dims = (dim for shape in segment.shapes for dim in shape.spec.dims)
    return any(isinstance(dim, FixedDim) and dim.size == 1 for dim in dims)


def _first_sentence(text: str) -> str:
    return re.split(r"\.\s", text, maxsplit=1)[0]


def _any_of(targets: Sequence[CommentTarget]) -> CommentTarget:
    """What describes one of several values, it does not say which."""
    places = tuple(place for target in reversed(targets) for place in target.places)
    return replace(targets[-1], places=places, unsure=True)
