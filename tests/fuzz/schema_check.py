#!/usr/bin/env python3
"""Holds JSON Schema grammars against the Python package jsonschema, in both directions:

    schema_check.py SCHEMA_BATCH [COUNT [SEED]]

makes COUNT random schemas; what the grammar draws must be valid, and of random JSON values those that
are valid must follow the grammar in some order of their members (less what docs/grammars.md leaves
out), those that are not must not in any. Schemas that are refused are counted, by reason; one that is
refused because nothing follows it must have no valid value among those tried.
SPDX-License-Identifier: MIT
"""
import itertools
import json
import random
import re
import subprocess
import sys

import jsonschema
import jsonschema._keywords
import jsonschema._utils


class Ecma:
    """Python's expressions made to mean what ECMA-262's do: ASCII classes, and $ only at the end."""

    @staticmethod
    def search(pattern, text):
        return re.search(pattern.replace("$", r"\Z"), text, re.ASCII)


jsonschema._keywords.re = jsonschema._utils.re = Ecma

NAMES = ["a", "b", "ab", "\u00e9", 'q"']
TEXTS = ["", "a", "ab", "abc", "a1", "\u00e9\u00e9", 'x"\\\nz', "2024-02-29", "2023-02-29", "12:30:00Z", "1.2.3.4", "b", "ba", "cc"]
NUMBERS = [0, 1, -1, 5, 10, 12, 99, 100, -10, 0.5, -0.25, 10.75, 3.0, 6, 7, -4]
PATTERNS = ["^a", "b$", "^[a-c]*$", "\\d", "^(ab|c)+$", "[^a]", '"', "^.{1,3}$", "^(?!a)", "^(?=.*b)a", "\\bb", "^\\w*$", "a|\u00e9", "^$"]
PLAIN = [1, 2, "a", None, True, 2.5, "ab", 0, False, ""]


def text_schema(r):
    out = {"type": "string"}
    if r.random() < 0.45:
        out["pattern"] = r.choice(PATTERNS)
    if r.random() < 0.2:
        out["format"] = r.choice(["date", "ipv4", "uuid", "ipv6"])
    if r.random() < 0.3:
        out["minLength"] = r.randrange(3)
    if r.random() < 0.3:
        out["maxLength"] = r.randrange(5)
    return out


def number_schema(r):
    out = {"type": r.choice(["integer", "number"])}
    for key, low in (("minimum", True), ("maximum", False), ("exclusiveMinimum", True), ("exclusiveMaximum", False)):
        if r.random() < 0.3:
            out[key] = r.choice(NUMBERS) - (20 if low else -20)
    if r.random() < 0.3:
        out["multipleOf"] = r.choice([1, 2, 3, 0.5, 0.25, 2.5, 7])
    return out


def array_schema(r, depth):
    out = {"type": "array"}
    if r.random() < 0.6:
        out["items"] = schema(r, depth - 1)
    if r.random() < 0.3:
        out["prefixItems"] = [schema(r, depth - 1) for _ in range(r.randrange(1, 3))]
    if r.random() < 0.4:
        out["minItems"] = r.randrange(3)
    if r.random() < 0.4:
        out["maxItems"] = r.randrange(4)
    if r.random() < 0.3:
        out["contains"] = schema(r, depth - 1)
        if r.random() < 0.4:
            out["minContains"] = r.randrange(3)
        if r.random() < 0.4:
            out["maxContains"] = r.randrange(3)
    if r.random() < 0.1:
        out = {"type": "array", "items": {"enum": r.sample(PLAIN[:8], 3)}, "uniqueItems": True, **{k: v for k, v in out.items() if k in ("minItems", "maxItems")}}
    if r.random() < 0.08 and "contains" not in out:
        out["unevaluatedItems"] = schema(r, 0)
    return out


def object_schema(r, depth):
    names = r.sample(NAMES, r.randrange(4))
    out = {"type": "object", "properties": {n: schema(r, depth - 1) for n in names}}
    out["required"] = sorted(set(r.sample(NAMES, r.randrange(2)) + ([names[0]] if names and r.random() < 0.5 else [])))
    if r.random() < 0.5:
        out["additionalProperties"] = r.choice([False, schema(r, 0)])
    if r.random() < 0.25:
        out["patternProperties"] = {p: schema(r, 0) for p in r.sample(PATTERNS, r.randrange(1, 3))}
    if r.random() < 0.15:
        out["propertyNames"] = r.choice([{"pattern": r.choice(PATTERNS)}, {"enum": r.sample(NAMES, 3)}, {"maxLength": 1}, {"not": {"const": "a"}}])
    if r.random() < 0.12:
        out["minProperties"] = r.randrange(3)
    if r.random() < 0.15:
        out["maxProperties"] = r.randrange(4)
    if r.random() < 0.12:
        out["dependentRequired"] = {r.choice(NAMES): r.sample(NAMES, r.randrange(3))}
    if r.random() < 0.08:
        out["dependentSchemas"] = {r.choice(NAMES): schema(r, depth - 1)}
    if r.random() < 0.08 and "dependentSchemas" not in out and "dependentRequired" not in out:
        out["unevaluatedProperties"] = r.choice([False, schema(r, 0)])
    if r.random() < 0.3:
        del out["type"]
    return out


def combination(r, depth):
    key = r.choice(["anyOf", "anyOf", "oneOf", "oneOf", "allOf", "allOf", "not", "if", "$ref"])
    if key == "not":
        out = {"not": schema(r, depth - 1)}
    elif key == "if":
        out = {"if": schema(r, depth - 1)}
        for part in ("then", "else"):
            if r.random() < 0.7:
                out[part] = schema(r, depth - 1)
    elif key == "$ref":
        out = {"$ref": r.choice(["#/$defs/x", "#/$defs/y", "#anchor"])}
    else:
        out = {key: [schema(r, depth - 1) for _ in range(r.randrange(2, 4))]}
    if r.random() < 0.3:
        out = {**schema(r, 0), **out} if r.random() < 0.5 else {**object_schema(r, 1), **out}
    return out


def schema(r, depth):
    kind = r.randrange(16 if depth else 8)
    if kind == 0:
        return r.choice([{}, {"type": "boolean"}, {"type": "null"}, {"type": ["null", "integer"]}, {"type": "string"}, {"minimum": 3}])
    if kind in (1, 2):
        out = {"enum": r.sample(PLAIN + [[1], {"a": 1}, [], {"a": 1, "b": [2]}], r.randrange(1, 5))} if r.random() < 0.8 else {"const": r.choice(PLAIN)}
        if r.random() < 0.2:
            out.update(r.choice([{"minimum": 1}, {"maxLength": 1}, {"type": ["string", "null"]}, {"minItems": 1}, {"properties": {"a": {"const": 1}}}]))
        return out
    if kind in (3, 4):
        return number_schema(r)
    if kind < 8:
        return text_schema(r)
    if kind < 10:
        return array_schema(r, depth)
    if kind < 12:
        return object_schema(r, depth)
    return combination(r, depth)


def whole_schema(r):
    out = schema(r, 2)
    if isinstance(out, dict):
        out["$defs"] = {"x": schema(r, 1), "y": {**object_schema(r, 0), "$anchor": "anchor"}}
        if '"#/$defs/x"' in json.dumps(out["$defs"]["x"]):
            out["$defs"]["x"] = {"type": "integer"}
    return out


def value(r, depth):
    kind = r.randrange(8 if depth else 4)
    if kind == 0:
        return r.choice([None, True, False])
    if kind == 1:
        return r.choice(NUMBERS)
    if kind < 4:
        return r.choice(TEXTS)
    if kind < 6:
        return [value(r, depth - 1) for _ in range(r.randrange(4))]
    return {n: value(r, depth - 1) for n in NAMES + TEXTS[1:4] if r.random() < 0.25}


def spellings(v):
    """JSON texts of the value, in all orders of members; whole numbers with and without a point."""
    if isinstance(v, float):
        return [json.dumps(v)] + ([str(int(v))] if v == int(v) else [])
    if isinstance(v, list):
        return ["[" + ", ".join(c) + "]" for c in itertools.product(*map(spellings, v))]
    if not isinstance(v, dict):
        return [json.dumps(v, ensure_ascii=False)]
    out = []
    for keys in itertools.permutations(v):
        for texts in itertools.product(*(spellings(v[k]) for k in keys)):
            out.append("{" + ", ".join(json.dumps(k, ensure_ascii=False) + ": " + t for k, t in zip(keys, texts)) + "}")
    return out


def is_left_out(s, v):
    """What docs/grammars.md says of valid values that do not follow."""
    text = json.dumps(s)
    if '"minProperties": 2' in text or ('"maxProperties"' in text and '"not"' in text) or '"oneOf"' in text and '"maxProperties"' in text or '"if"' in text and '"maxProperties"' in text:
        return True  # names that the schema does not give count as one
    return '"format"' in text and any(k in text for k in ('"not"', '"oneOf"', '"if"')) and any(t in json.dumps(v) for t in ("2023-02-29",))


def main():
    batch, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    r = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    cases = []
    for i in range(count):
        values = []
        while len(values) < 40:
            v = value(r, 2)
            texts = spellings(v)
            if len(texts) <= 24:
                values.append((v, texts))
        cases.append(({"schema": whole_schema(r), "texts": [t for _, texts in values for t in texts], "seed": i, "draws": 5}, values))
    lines = "".join(json.dumps(c) + "\n" for c, _ in cases)
    done = subprocess.run([batch], input=lines, capture_output=True, text=True, check=True).stdout.split("\n")
    refused = made = yes = no = wrong = left_out = 0
    reasons = {}
    for (case, values), line in zip(cases, done):
        out = json.loads(line)
        s = case["schema"]
        validator = jsonschema.Draft202012Validator(s, format_checker=checker)
        problems = []
        if out["error"]:
            refused += 1
            reason = out["error"].split(": ", 1)[-1][:100]
            reasons[reason] = reasons.get(reason, 0) + 1
            if "never end" in reason:
                problems = [f"valid, but refused: {v}" for v, _ in values if validator.is_valid(v) and not is_left_out(s, v)]
        for text in out["made"]:
            if re.search("[0-9]{15}", text):
                continue  # beyond what Python's floats tell apart
            made += 1
            if not validator.is_valid(json.loads(text)):
                problems.append(f"drawn, not valid: {text}")
        at = 0
        for v, texts in values if not out["error"] else ():
            follows = any(out["follow"][at : at + len(texts)])
            at += len(texts)
            valid = validator.is_valid(v)
            yes, no = yes + (valid and follows), no + (not valid and not follows)
            if follows and not valid:
                problems.append(f"follows, not valid: {texts[0]}")
            if valid and not follows and is_left_out(s, v):
                left_out += 1
            elif valid and not follows:
                problems.append(f"valid, does not follow: {texts[0]}")
        used = {k: v for k, v in s.items() if k != "$defs" or '"$ref"' in json.dumps(s)}
        for p in problems[:2]:
            print(json.dumps(used), p)
        wrong += len(problems)
    print(f"{count} schemas, {refused} refused, {made} texts drawn, {yes} valid and {no} invalid values agree, {left_out} left out, {wrong} wrong")
    for reason, n in sorted(reasons.items(), key=lambda x: -x[1])[:20]:
        print(f"  {n} {reason}")
    return wrong > 0


sys.exit(main())
