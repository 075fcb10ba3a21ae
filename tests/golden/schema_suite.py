#!/usr/bin/env python3
"""Makes schema_suite.jsonl, what the public JSON-Schema-Test-Suite says of draft 2020-12:

    schema_suite.py TESTS_FOLDER SCHEMA_BATCH > schema_suite.jsonl

TESTS_FOLDER is the suite's tests/draft2020-12 (github.com/json-schema-org/JSON-Schema-Test-Suite; the
source package of the Python package jsonschema carries it as json/tests). A line is one schema, with
"yes": texts that must follow its grammar, one for each valid value; "no": texts that must not, all
orders of members of each invalid one (six at most); "out": valid values that do not follow in any order
of members, which docs/grammars.md must account for; or, for a schema that is refused, "error": what
the message must say. Names of cases, comments and $schema are left out.
SPDX-License-Identifier: MIT
"""
import glob
import itertools
import json
import os
import subprocess
import sys

ABOUT = (
    "Facts from JSON-Schema-Test-Suite, draft 2020-12 (MIT licence, (c) 2012 Julian Berman and contributors), made by "
    "schema_suite.py. format.json is left out: it tests that formats are read over, and here they hold."
)


def spellings(v):
    if isinstance(v, float) and v == int(v):
        return [json.dumps(v), str(int(v))]
    if isinstance(v, list):
        return ["[" + ",".join(c) + "]" for c in itertools.islice(itertools.product(*map(spellings, v)), 24)]
    if not isinstance(v, dict):
        return [json.dumps(v, ensure_ascii=False)]
    out = []
    for keys in itertools.islice(itertools.permutations(v), 120):
        for texts in itertools.product(*(spellings(v[k]) for k in keys)):
            out.append("{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + t for k, t in zip(keys, texts)) + "}")
    return out[:240]


def is_big(v):
    """Whether a number in it is beyond what JSON readers of 64 bits take: such a schema stays a text."""
    if isinstance(v, (dict, list)):
        return any(map(is_big, v.values() if isinstance(v, dict) else v))
    return isinstance(v, int) and not -(1 << 63) <= v < 1 << 63


def main():
    folder, batch = sys.argv[1:]
    cases = []
    names = [f for part in ("*", "optional/*", "optional/format/*") for f in sorted(glob.glob(os.path.join(folder, part + ".json")))]
    for name in names:
        for group in json.load(open(name)) if not name.endswith("/draft2020-12/format.json") else []:
            if isinstance(group["schema"], dict):
                group["schema"].pop("$schema", None)
                group["schema"].pop("$comment", None)
            texts = [spellings(t["data"]) for t in group["tests"]]
            if is_big(group["schema"]):
                group["schema"] = json.dumps(group["schema"])
            cases.append((os.path.relpath(name, folder)[:-5], group, texts))
    lines = "".join(json.dumps({"schema": g["schema"] if isinstance(g["schema"], str) else json.dumps(g["schema"]), "texts": sum(t, []), "seed": 1, "draws": 0}) + "\n" for _, g, t in cases)
    done = subprocess.run([batch], input=lines, capture_output=True, text=True, check=True).stdout.split("\n")
    print(json.dumps({"about": ABOUT}))
    count = {"pass": 0, "out": 0, "refused": 0, "wrong": 0}
    for (name, group, texts), answer in zip(cases, map(json.loads, filter(None, done))):
        line = {"from": name, "schema": group["schema"], "yes": [], "no": [], "out": []}
        error, at = answer["error"], 0
        if error and not ("can never end" in error and not any(t["valid"] for t in group["tests"])):
            line = {"from": name, "schema": group["schema"], "error": error.split(": ", 1)[-1].split(" near ")[0]}
            count["refused"] += len(group["tests"])
        elif error:
            line["error"] = "can never end"
            count["pass"] += len(group["tests"])
        for test, all_texts in zip(group["tests"], texts if not error else []):
            follow = answer["follow"][at : at + len(all_texts)]
            at += len(all_texts)
            if test["valid"]:
                line["yes" if any(follow) else "out"].append(all_texts[follow.index(True)] if any(follow) else all_texts[0])
                count["pass" if any(follow) else "out"] += 1
            else:
                line["no"] += all_texts[:6]
                count["wrong" if any(follow) else "pass"] += 1
        text = json.dumps({k: v for k, v in line.items() if v != []}, ensure_ascii=False, separators=(",", ":"))
        if "\x00" not in text and "\\u0000" not in text:
            print(text)
    print(count, file=sys.stderr)


main()
