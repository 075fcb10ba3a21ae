#!/usr/bin/env python3
"""Holds JSON Schema grammars against the Python package jsonschema, in both directions:

    schema_check.py SCHEMA_BATCH [COUNT [SEED]]

makes COUNT random schemas; what the grammar draws must be valid, and of random JSON values those that
are valid must follow the grammar (less what docs/grammars.md leaves out: the order of properties,
whole numbers written with a point), those that are not must not. Schemas that are refused are counted.
SPDX-License-Identifier: MIT
"""
import json
import random
import subprocess
import sys

import jsonschema

NAMES = ["a", "b", "ab", "\u00e9", 'q"']
TEXTS = ["", "a", "ab", "abc", "a1", "\u00e9\u00e9", 'x"\\\nz', "2024-02-29", "2023-02-29", "12:30:00Z", "1.2.3.4"]
NUMBERS = [0, 1, -1, 5, 10, 12, 99, 100, -10, 0.5, -0.25, 10.75, 3.0]


def schema(r, depth):
    kind = r.randrange(14 if depth else 8)
    if kind == 0:
        return r.choice([True, {}, {"type": "boolean"}, {"type": "null"}, {"type": ["null", "integer"]}])
    if kind == 1:
        return {"enum": r.sample([1, 2, "a", None, [1], {"a": 1}, True, 2.5], r.randrange(1, 4))}
    if kind in (2, 3):
        out = {"type": r.choice(["integer", "number"])}
        for key, low in (("minimum", True), ("maximum", False), ("exclusiveMinimum", True), ("exclusiveMaximum", False)):
            if r.random() < 0.35:
                out[key] = r.choice(NUMBERS) - (20 if low else -20)
        return out
    if kind < 8:
        out = {"type": "string"}
        which = r.randrange(4)
        if which == 0:
            out["pattern"] = r.choice(["^a", "b$", "^[a-c]*$", "\\d", "^(ab|c)+$", "[^a]", '"', "^.{1,3}$"])
        elif which == 1:
            out["format"] = r.choice(["date", "ipv4", "uuid", "date"])
        elif which == 2:
            out["minLength"] = r.randrange(3)
            out["maxLength"] = out["minLength"] + r.randrange(3)
        return out
    if kind < 10:
        out = {"type": "array"}
        if r.random() < 0.8:
            out["items"] = schema(r, depth - 1)
        if r.random() < 0.3:
            out["prefixItems"] = [schema(r, depth - 1) for _ in range(r.randrange(1, 3))]
        if r.random() < 0.5:
            out["minItems"] = r.randrange(3)
        if r.random() < 0.5:
            out["maxItems"] = r.randrange(4)
        return out
    if kind < 12:
        names = r.sample(NAMES, r.randrange(4))
        out = {"type": "object", "properties": {n: schema(r, depth - 1) for n in names}}
        out["required"] = r.sample(NAMES, r.randrange(2)) + ([names[0]] if names and r.random() < 0.5 else [])
        out["required"] = sorted(set(out["required"]))
        if r.random() < 0.6:
            out["additionalProperties"] = r.choice([False, schema(r, 0)])
        if r.random() < 0.3:
            del out["type"]
        return out
    key = r.choice(["anyOf", "anyOf", "oneOf", "allOf"])
    return {key: [schema(r, depth - 1) for _ in range(2)]}


def value(r, depth):
    kind = r.randrange(7 if depth else 4)
    if kind == 0:
        return r.choice([None, True, False])
    if kind == 1:
        return r.choice(NUMBERS)
    if kind < 4:
        return r.choice(TEXTS)
    if kind == 4:
        return [value(r, depth - 1) for _ in range(r.randrange(4))]
    return {n: value(r, depth - 1) for n in NAMES if r.random() < 0.4}


def is_valid(checker, s, v):
    return jsonschema.Draft202012Validator(s, format_checker=checker).is_valid(v)


def reorder(v):
    """Whether the value has an object of two members or more (whose order may differ)."""
    if isinstance(v, dict):
        return len(v) > 1 or any(map(reorder, v.values()))
    return isinstance(v, list) and any(map(reorder, v))


def has_whole_float(v):
    if isinstance(v, dict):
        return any(map(has_whole_float, v.values()))
    return any(map(has_whole_float, v)) if isinstance(v, list) else isinstance(v, float) and v == int(v)


def main():
    batch, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    r = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    cases = []
    for i in range(count):
        values = [value(r, 2) for _ in range(30)]
        texts = [json.dumps(v, ensure_ascii=False, indent=r.choice([None, 2])) for v in values]
        cases.append(({"schema": schema(r, 2), "texts": texts, "seed": i, "draws": 5}, values))
    lines = "".join(json.dumps(c) + "\n" for c, _ in cases)
    done = subprocess.run([batch], input=lines, capture_output=True, text=True, check=True).stdout.split("\n")
    refused = made = yes = no = wrong = 0
    reasons = {}
    for (case, values), line in zip(cases, done):
        out = json.loads(line)
        s = case["schema"]
        if out["error"]:
            refused += 1
            reason = out["error"].split(": ", 1)[-1][:60]
            reasons[reason] = reasons.get(reason, 0) + 1
            continue
        problems = []
        for text in out["made"]:
            made += 1
            if not is_valid(checker, s, json.loads(text)):
                problems.append(f"drawn, not valid: {text}")
        for v, text, follows in zip(values, case["texts"], out["follow"]):
            valid = is_valid(checker, s, v)
            yes, no = yes + (valid and follows), no + (not valid and not follows)
            if follows and not valid:
                problems.append(f"follows, not valid: {text}")
            if valid and not follows and not reorder(v) and not has_whole_float(v):
                problems.append(f"valid, does not follow: {text}")
        for p in problems[:3]:
            print(json.dumps(s), p)
        wrong += len(problems)
    print(f"{count} schemas, {refused} refused, {made} texts drawn, {yes} valid and {no} invalid values agree, {wrong} wrong")
    for reason, n in sorted(reasons.items(), key=lambda x: -x[1])[:8]:
        print(f"  {n} {reason}")
    return wrong > 0


sys.exit(main())
