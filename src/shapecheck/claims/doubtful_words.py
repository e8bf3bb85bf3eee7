"""Words by which a description says that a shape is that of something else, or holds only at times."""

from __future__ import annotations

import re

from shapecheck.claims.axis_words import words

# "Logits before softmax, shape (b, c)" says which ones these are, and so does all that ends in a comma and that word.
_AND_SHAPE = r"(?![^.;]*,\s+(?:of\s+|with\s+)?shape\b\W*$)"
# What a value is held against, or a part of it.
_OF_ANOTHER = (
    r"broadcast\w*|e\.g|for example|for instance|such as|same shape|(?<!-)like|callable|callback"
    r"|(?<!basis )functions?(?!\w*,|\s+(?:with|of)\s+shape\b"
    r"|\s+(?:\w+\s+)?(?:evaluation|value|output|coefficient)s?\b)"
    r"|takes|taking|accepts|compatible|suffix|prefix"
    r"|(?:number|count) of (?:dimensions|axes|dims)"
    r"|leading|trailing|at least|excluding|except|(?<!-)depend(?:s|ing|ent\s+(?:up)?on)|either|vmap\w*"
    rf"|(?:index(?:es|ing)?|indices into|into|maps|mapping from|batched|before|initiali[sz]\w*){_AND_SHAPE}"
)
# "Transform points from", "are transformed to": no "affine transform", and no "transformed points".
_TRANSFORMS = (
    r"(?-i:Transform)(?!\s+(?:matri|of\b|from\b))|to\s+transform|transforms\s+(?!of\b|in\b|with\b|and\b)|transforming"
    r"|transform\s+(?:the|an?|all|each|every|from|to|into)"
    r"|(?:is|are|be|been|being|gets?)\s+transformed|transformed\s+(?:to|into|from|by|with)"
)
# What becomes of it, or what it was.
_OF_ANOTHER_TIME = (
    r"returns?(?![ -]to[ -]go)|returning"
    rf"|(?:reshaped?|{_TRANSFORMS}|flatten\w*|after){_AND_SHAPE}"
)
OF_ANOTHER = re.compile(rf"\b(?:{_OF_ANOTHER})\b", re.IGNORECASE)
OF_ANOTHER_OR_CHANGED = re.compile(rf"\b(?:{_OF_ANOTHER}|{_OF_ANOTHER_TIME})\b", re.IGNORECASE)
SELDOM_WORDS = words(
    "usually typically normally often generally commonly mostly sometimes probably presumably perhaps internally"
)
SELDOM = re.compile(rf"\b(?:{'|'.join(sorted(SELDOM_WORDS))})\b", re.IGNORECASE)
# "for 1d inputs": of others nothing is said.
FOR_A_RANK = re.compile(r"\b(?:for|with|in\s+(?:the\s+)?case\s+of)\s+(?:an?\s+)?\d-?d\b", re.IGNORECASE)
CONDITIONS = re.compile(r"\b(?:if|when|unless|otherwise|else|whenever|depending|or)\b", re.IGNORECASE)
