#!/usr/bin/env python3
"""Makes template/expected/NAME.json from template/NAME.jinja and template/contexts.json with Python's jinja2 (PyPI), set
up as chat templates are rendered: immutable sandbox, trim_blocks, lstrip_blocks, loop controls, a `generation` tag that
only groups, plain tojson, raise_exception, strftime_now at 2026-12-01 12:34:56. An error that the template raised itself
keeps its text, any other is null.

    tests/golden/template.py

SPDX-License-Identifier: MIT
"""
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

FOLDER = pathlib.Path(__file__).parent / "template"


class Raised(Exception):
    pass


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("render"), [], [], body).set_lineno(line)

    def render(self, caller):
        return caller()


def raise_exception(message):
    raise Raised(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def rendered(source, context):
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = datetime.datetime(2026, 12, 1, 12, 34, 56).strftime
    try:
        return {"text": env.from_string(source).render(**context)}
    except Raised as e:
        return {"error": str(e)}
    except Exception:
        return {"error": None}


contexts = json.loads((FOLDER / "contexts.json").read_text())
for path in sorted(FOLDER.glob("*.jinja")):
    results = {name: rendered(path.read_text(), context) for name, context in contexts.items()}
    (FOLDER / "expected").mkdir(exist_ok=True)
    (FOLDER / "expected" / (path.stem + ".json")).write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n")
    print(path.stem, sum("text" in r for r in results.values()), "of", len(results), "render")
