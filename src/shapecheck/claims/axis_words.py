"""The words that axes are called by, and those that say how many an array has: "a scalar", "2D array", "matrix".

The latter are no claims, since nothing is said of a shape: they say what to give a function that is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


# Parts of names that stand for the size of an axis in array programs.
_DIM_WORDS = words(
    """
    batch batches bs bsz seq seqs sequence sequences seqlen len length lengths time times timestep timesteps
    step steps frame frames head heads kv dim dims channel channels chan chans feature features feat feats
    hidden embed embeds embedding embeddings emb vocab vocabulary height width depth row rows col cols column
    columns token tokens node nodes edge edges graph graphs point points sample samples particle particles chain
    chains draw draws group groups expert experts capacity class classes label labels layer layers block blocks
    patch patches pixel pixels unit units neuron neurons action actions obs observation observations latent
    latents size sizes count counts num query queries level levels lat lon latitude longitude agent agents env
    envs episode episodes rank basis component components mixture mixtures codebook beam beams candidate
    candidates bin bins mode modes freq freqs frequency frequencies window windows chunk chunks shard shards
    device devices ensemble replica replicas fold folds trial trials path paths knot knots neighbor neighbors
    neighbour neighbours atom atoms residue residues res wavenumber quantile quantiles tau taus population
    species horizon bond bonds ray rays view views camera cameras joint joints vertex vertices face faces memory
    slot slots order degree data dataset examples example instances instance objects object box boxes anchors
    keypoints landmarks sites variables vars outputs inputs targets sources spatial temporal grid voxels cells
    cell nnz structures systems molecules bodies stars planets orbits galaxies satellites detectors antennas
    baselines wavelengths crystals xyz
    """
)
# What ends a name that is a place among others, and no number of them.
_PLACES = words("idx index id ids offset ptr pos loc start end flag name key value")
_COUNTING = words("n num nb max total number nof")

# Units as physicists write them. One letter alone is rather a dim, so it counts only beside another unit.
_UNIT = re.compile(
    r"(?:[pnuµμmcdkMG]?(?:m|s|g|A|V|F|S|N|J|W|C|K|H|L|Hz|Pa|mol|cd|Ohm|ohm|Ω|eV|M|T|rad|bar|cal)|deg|rad|sr|dB|px"
    r"|[kMG]?pc|AU|au|arcsec|arcmin|mas|[mμu]?Jy|erg|dyn|ly|[kMG]?yr|days?|[MLR]_?sun|dex|ppm|mmHg|torr|atm"
    r"|min|h|°C|°|[kM]?(?:Nm|Ns|Ws|As|Vs|Wh|Ah))(?:\s*(?:\^|\*\*)\s*-?\d)?"
)
_PER_SECOND = re.compile(r"(?:m|1|rad|N|J|W|V|C)\s*/\s*(?:s|m|K)(?:\s*(?:\^|\*\*)\s*\d)?")

_AXIS_LETTERS = "dnkmchwsblDNKMCHWSBLTPQRE"


def is_unit(text: str) -> bool:
    """Whether a text is the unit of a quantity: `nA / um^2`, `mV`, `m/s`, `m^2`; a letter such as `T` alone is none."""
    factors = [factor.strip() for factor in re.split(r"/|(?<!\*)\*(?!\*)|·", text)]
    if not all(factor == "1" or _UNIT.fullmatch(factor) for factor in factors):
        return False
    long = any(len(re.sub(r"\W.*", "", factor)) > 1 for factor in factors)
    return long or "^" in text or _PER_SECOND.fullmatch(text.strip()) is not None


@lru_cache(maxsize=8192)
def looks_like_dim(name: str) -> bool:
    """Whether a name is one that people give to axes: short, or made of words such as `num`, `heads`, `size`."""
    bare = name.strip("_'").rstrip("0123456789'").rstrip("_")
    if len(bare) <= 2 or (bare.isupper() and len(bare) <= 4):
        return True
    parts = [part.lower() for part in re.split(r"[_.()\[\]]+|(?<=[a-z])(?=[A-Z])", bare) if part]
    if len(parts) > 2 and parts[-1] in _PLACES:
        return False  # `bo_seq_idx`
    if len(parts) > 1 and (parts[0] in _COUNTING or (bare[0] in _AXIS_LETTERS and bare[1] == "_")):
        return True  # `num_x`, `d_model`
    return any(_is_word_of_axes(part.rstrip("0123456789")) for part in parts)


def _is_word_of_axes(part: str) -> bool:
    """Whether axes are called so, or counted so: `atoms`, `natoms`, `numatoms`, `norbit`."""
    counted = [part.removeprefix(prefix) for prefix in ("num", "n") if part.startswith(prefix)]
    return part in _DIM_WORDS or any(each in _DIM_WORDS or f"{each}s" in _DIM_WORDS for each in counted)


def is_dim_word(name: str) -> bool:
    """Whether a name says by itself that it is the size of an axis: one or two letters, `num_x`, `x_size`, `heads`."""
    bare = name.strip("_'").rstrip("0123456789'").rstrip("_")
    parts = re.split(r"[_.]+", bare.lower())
    return len(bare) <= 2 or _is_word_of_axes(parts[-1]) or (len(parts) > 1 and looks_like_dim(name) and name.islower())


def is_dim_part(part: str) -> bool:
    """Whether a part of a name, between underscores, is a word that axes are called by, or counts them."""
    bare = part.lower().rstrip("0123456789")
    return bare in _DIM_WORDS or bare in _COUNTING or bare in {"in", "out", "model", "dim"}


def strength(names: tuple[str, ...], known: Container[str]) -> float:
    """Which share of the names looks like the name of an axis or is known as one; 1 if there is no name at all."""
    if not names:
        return 1.0
    return sum(name in known or looks_like_dim(name) for name in names) / len(names)


MAY_SAY_RANK = re.compile(r"scalar|vector|matrix|\b(?:\d|one|two|three|four)[- ]?d\b|dimensional|rank", re.IGNORECASE)

_NUMBERS = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_COUNT = rf"(?P<count>[0-5]|{'|'.join(_NUMBERS)})"
_RANK = re.compile(
    rf"\b{_COUNT}[- ]?(?:d|dim|dimensional)\b|\brank[- ]{_COUNT.replace('count', 'rank')}\b"
    r"|\b(?P<word>scalar|vector|matrix)\b(?![- ]?(?:valued|of\b|field|product|multipl))",
    re.IGNORECASE,
)
# Of what each point has a vector of, an array mostly holds those of many points.
_AT_POINTS = re.compile(
    r"\b(?:velocit(?:y|ies)|force|position|displacement|momentum|acceleration|wave(?:[- ]?number)?|wind|field|flux"
    r"|gradient|unit|normal|direction|tangent|spin|lattice|translation|rotation|electric|magnetic)[- ]vector\b",
    re.IGNORECASE,
)
_WORDS = {"scalar": 0, "vector": 1, "matrix": 2}
# Words behind which the array is one of several, or of any shape.
_OPEN = re.compile(
    r"\b(?:or|batch\w*|lists?|tuples?|pytrees?|sequence|sequences|stack\w*|dict\w*|broadcast\w*|any|each|per|optional(?:ly)?"
    r"|multi\w*|functions?|callable|returns?|set|pairs?|scalars|vectors|matrices|shape\w*|if|when|unless|either)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.;](?:\s|$)|\n\s*\n")


# "A 1-D tensor of indices, one per example": what there are as many of as it has entries.
_ONE_PER = re.compile(r",?\s*\bone\s+(?:per|for\s+(?:each|every))\b[^,.;]*", re.IGNORECASE)


def rank_of(description: str) -> int | None:
    """How many axes the first sentence of a description gives the array that it describes, if it says so plainly."""
    sentence = _ONE_PER.sub("", _SENTENCE.split(description.strip(), maxsplit=1)[0])
    found = {_number(each) for each in _RANK.finditer(sentence)}
    is_open = _OPEN.search(sentence) is not None or _AT_POINTS.search(sentence) is not None
    return found.pop() if len(found) == 1 and not is_open else None


def _number(found: re.Match[str]) -> int:
    if found["word"]:
        return _WORDS[found["word"].lower()]
    count = (found["count"] or found["rank"]).lower()
    return _NUMBERS[count] if count in _NUMBERS else int(count)
