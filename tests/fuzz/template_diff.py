#!/usr/bin/env python3
"""Random templates rendered by Python's jinja2 and by weft's engine: every text must agree, every error be an error.

    template_diff.py BATCH [--count N] [--seed S] [--show K] [--templates FOLDER --contexts FILE]

BATCH is the program built from template_batch.c. jinja2 (PyPI) is set up as chat templates are rendered: immutable
sandbox, trim_blocks, lstrip_blocks, loop controls, `generation`, plain tojson. Programs are drawn from a grammar that
mostly keeps types apart, so that most of them render; the rest test errors. With --templates, programs are published
templates with a few random changes, rendered in a random one of the contexts. What weft refuses by design (integers beyond
64 bits) is counted apart. SPDX-License-Identifier: MIT
"""
import argparse
import datetime
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import warnings

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

warnings.simplefilter("ignore")


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def refuse(message):
    raise jinja2.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols], cache_size=0)
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = lambda f: datetime.datetime(2026, 12, 1, 12, 34, 56).strftime(f)
    return env


CONTEXT = {
    "n": 3, "m": -7, "z": 0, "big": 1234567, "f": 2.5, "g": -0.1, "h": 1e20, "t": True, "u": False, "none_": None,
    "s": "Hello World", "e": "", "w": "  pad\n\tded ", "q": "it's \"q\" \\ <b>&", "uni": "Grüße ßtraße 東京 🗼 ΑΣ ǆ",
    "csv": "a,b,,c", "num": " 42 ", "fl": "3.75", "fmt": "%s-%d", "lines": "one\ntwo\r\n\nthree\n",
    "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "le": [], "lm": [1, "a", None, 2.5, True], "ll": [[1, 2], [3], []],
    "d": {"a": 1, "b": "two", "items": 5, "c": None, "d": [1, 2]}, "de": {}, "dd": {"x": {"y": {"z": "deep"}}, "k": [{"v": 1}]},
    "users": [{"name": "Bob", "age": 30, "tags": ["x"]}, {"name": "alice", "age": 25}, {"name": "bob", "age": 30, "ok": True}],
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": " hi\n"},
                 {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}],
}
BY_TYPE = {
    "int": ["n", "m", "z", "big", "t"], "float": ["f", "g", "h"], "bool": ["t", "u"],
    "str": ["s", "e", "w", "q", "uni", "csv", "num", "fl", "fmt", "lines"],
    "list": ["l", "ls", "le", "lm", "ll", "users", "messages"], "dict": ["d", "de", "dd"],
    "any": ["none_", "missing", "a", "b", "x", "y"],
}
TYPES = list(BY_TYPE)
STRINGS = ["", "a", "b", ",", " ", "abc", "Hello", "ab cd", "x-y_z", "1", "-12", "0x1f", "3.5e2", "é", "日本", "\\n", "it\\'s",
           "%", "%s", "%d %s", "{}", "{0} {1}", "\\t", "<i>", "a.b", "ẞ", "aXb", "\\u00e9\\x41", "ﬁn", "well-known--thing a-b-cd efg", "a  long-ish line -- with -dashes- and  spaces"]


class Gen:
    def __init__(self, r):
        self.r = r
        self.names = ["a", "b", "x", "y"]
        self.budget = 60

    def pick(self, *options):
        return self.r.choice(options)

    def chance(self, p):
        return self.r.random() < p

    # ---- expressions ----
    def expr(self, kind=None, depth=3):
        r = self.r
        self.budget -= 1
        kind = kind or r.choice(TYPES)
        if self.chance(0.04):
            kind = r.choice(TYPES)
        if depth <= 0 or self.budget < 0 or self.chance(0.25):
            return self.leaf(kind)
        if self.chance(0.05):
            return f"({self.expr(kind, depth - 1)} if {self.expr('bool', depth - 1)}" + \
                (f" else {self.expr(kind, depth - 1)})" if self.chance(0.8) else ")")
        if self.chance(0.05):
            return f"({self.expr(kind, depth - 1)} {self.pick('and', 'or')} {self.expr(kind, depth - 1)})"
        return getattr(self, "e_" + kind)(depth - 1)

    def leaf(self, kind):
        r = self.r
        if self.chance(0.5):
            return r.choice(BY_TYPE[kind])
        if kind == "int":
            return str(r.choice([0, 1, 2, 3, 5, 7, 10, 42, -1, -2, -3]))
        if kind == "float":
            return r.choice(["0.0", "1.5", "-2.25", "1e3", "0.1", "3.14159", "1e-7", "123456789.125", "1e16", "2.5", "1_0.5"])
        if kind == "bool":
            return r.choice(["true", "false", "True", "False"])
        if kind == "str":
            return self.string()
        if kind == "list":
            return r.choice(["[]", "[1, 2, 3]", "['a', 'b']", "(1, 2)", "[1, 'x', none]", "[[1], [2]]", "range(4)",
                             "range(5, 1, -2)", "(1,)", "()", "d.items()", "d.keys()", "dd.values()", "[0.5, 2]"])
        if kind == "dict":
            return r.choice(["{}", "{'a': 1}", "{'k': [1], 'z': {'q': 'w'}}", "{1: 'one', 'b': 2}", "dict(a=1, b='x')", "users[0]",
                             "messages[1]", "{'x': none, 'y': true}"])
        return r.choice(["none", "missing", "a", "b", "x", "y", "n", "s", "l", "missing2", "none_"])

    def string(self):
        quote = self.pick("'", "'", '"')
        text = self.r.choice(STRINGS)
        if quote == '"':
            text = text.replace("\\'", "'")
        return quote + text + quote

    def e_int(self, d):
        e = self.expr
        return self.pick(
            lambda: f"({e('int', d)} {self.pick('+', '-', '*', '//', '%')} {e('int', d)})",
            lambda: f"{e('int', d)} {self.pick('+', '-', '*', '//', '%')} {e('int', d)}",
            lambda: f"({e('int', 0)} ** {self.pick('0', '1', '2', '3', 'n')})",
            lambda: f"{self.pick('-', '+')}{e('int', d)}",
            lambda: f"{e('list', d)}|length", lambda: f"{e('str', d)}|length", lambda: f"{e('dict', d)}|count",
            lambda: f"({e('list', d)}|{self.pick('sum', 'first', 'last', 'max', 'min')})",
            lambda: f"({e('str', d)}|int{self.pick('', '(5)', '(0, 16)', '(default=9, base=0)')})", lambda: f"({e('float', d)}|int)",
            lambda: f"({e('int', d)}|abs)", lambda: f"({e('int', d)}|round{self.pick('', '(-1)', '(1)')})",
            lambda: f"{e('str', d)}.{self.pick('find', 'count', 'rfind', 'index')}({e('str', 0)}{self.pick('', ', 1', ', 1, 4', ', -3')})",
            lambda: f"{e('list', d)}.{self.pick('index', 'count')}({e('any', 0)})",
            lambda: f"({e('str', d)}|wordcount)", lambda: f"users|sum(attribute='age')",
            lambda: f"{e('list', d)}[{e('int', 0)}]", lambda: f"{e('int', 0)}.bit_length()")()

    def e_float(self, d):
        e = self.expr
        return self.pick(
            lambda: f"({e('float', d)} {self.pick('+', '-', '*', '/', '//', '%')} {e('float', d)})",
            lambda: f"({e('int', d)} / {e('int', d)})", lambda: f"({e('int', d)} {self.pick('+', '*', '-')} {e('float', d)})",
            lambda: f"({e('float', 0)} ** {self.pick('2', '0.5', '-1', '0')})",
            lambda: f"({e('float', d)}|round{self.pick('', '(1)', '(2)', '(-1)', chr(40) + chr(49) + ', ' + repr('floor') + ')', '(0, ' + repr('ceil') + ')')})",
            lambda: f"({e('str', d)}|float{self.pick('', '(1.5)', '(default=none)')})", lambda: f"({e('float', d)}|abs)",
            lambda: f"-{e('float', d)}", lambda: f"({e('int', d)}|float)")()

    def e_bool(self, d):
        e = self.expr
        k = self.pick("int", "float", "str", "list", "any")
        tests = ["defined", "undefined", "none", "string", "number", "integer", "float", "mapping", "sequence", "iterable", "boolean",
                 "true", "false", "callable", "lower", "upper", "escaped", "sameas none", "sameas(true)", "in [1, 'a']", "in(l)", "eq 1",
                 "ne(2)", "gt 0", "lessthan 3", "odd", "even", "divisibleby 3", "divisibleby(2)", "==(1)", "filter", "test"]
        tests = [t for t in tests if not t.startswith("==")]
        return self.pick(
            lambda: f"({e(k, d)} {self.pick('==', '!=', '<', '<=', '>', '>=')} {e(k, d)})",
            lambda: f"({e('int', d)} < {e('int', d)} {self.pick('<', '<=', '!=', '==')} {e('float', d)})",
            lambda: f"(not {e('any', d)})", lambda: f"(not {e('bool', d)})",
            lambda: f"({e('str', d)} {self.pick('in', 'not in')} {e('str', d)})",
            lambda: f"({e('any', d)} {self.pick('in', 'not in')} {e('list', d)})", lambda: f"({e('str', 0)} in {e('dict', d)})",
            lambda: f"({e(None, d)} is {self.pick('', 'not ')}{self.r.choice(tests)})",
            lambda: f"({e(None, d)} is {self.pick('', 'not ')}{self.r.choice(tests)})",
            lambda: f"{e('str', d)}.{self.pick('startswith', 'endswith')}({e('str', 0)}{self.pick('', ', 1')})",
            lambda: f"{e('str', d)}.startswith(('a', 'H'))",
            lambda: f"{e('str', d)}.{self.pick('isdigit', 'isalpha', 'isspace', 'isupper', 'islower', 'isalnum', 'istitle', 'isidentifier', 'isnumeric', 'isdecimal', 'isascii', 'isprintable')}()",
            lambda: f"({e('list', d)} == {e('list', d)})", lambda: f"({e('dict', d)} == {e('dict', d)})")()

    def e_str(self, d):
        e = self.expr
        return self.pick(
            lambda: f"({e('str', d)} + {e('str', d)})", lambda: f"({e('str', d)} ~ {e(None, d)})", lambda: f"{e('str', d)} ~ {e('int', d)}",
            lambda: f"({e('str', 0)} * {self.pick('0', '1', '2', '3', '-1', 'n')})", lambda: f"{e('str', d)}[{self.slice(d)}]",
            lambda: f"{e('str', d)}[{e('int', 0)}]",
            lambda: f"({e('str', d)}|{self.pick('upper', 'lower', 'title', 'capitalize', 'trim', 'reverse', 'string', 'e', 'safe', 'first', 'last', 'urlencode', 'striptags', 'forceescape', 'escape')})",
            lambda: f"({e('str', d)}|{self.pick('indent', 'indent(2)', 'indent(2, true)', 'indent(first=true, blank=true)', 'indent(' + repr('> ') + ')', 'center(9)', 'truncate(5)', 'truncate(7, true)', 'truncate(6, false, ' + repr('..') + ', 0)', 'wordcount', 'wordwrap(5)', 'wordwrap(8, false)', 'wordwrap(6, true, ' + repr('|') + ')', 'wordwrap(7, break_on_hyphens=false)', 'wordwrap(width=3)')})",
            lambda: f"{e('str', d)}.{self.pick('upper', 'lower', 'title', 'capitalize', 'strip', 'lstrip', 'rstrip', 'swapcase', 'casefold', 'expandtabs')}()",
            lambda: f"{e('str', d)}.{self.pick('strip', 'lstrip', 'rstrip', 'removeprefix', 'removesuffix')}({e('str', 0)})",
            lambda: f"{e('str', d)}.replace({e('str', 0)}, {e('str', 0)}{self.pick('', ', 1', ', 2')})",
            lambda: f"({e('str', d)}|replace({e('str', 0)}, {e('str', 0)}{self.pick('', ', 1', ', count=2')}))",
            lambda: f"({e('list', d)}|join{self.pick('', '(' + self.string() + ')', '(' + repr(', ') + ')')})",
            lambda: f"{e('str', 0)}.join({e('list', d)})", lambda: f"(users|join('/', attribute='name'))",
            lambda: f"({e(None, d)}|tojson{self.pick('', '', '(indent=2)', '(ensure_ascii=true)', '(sort_keys=true)', '(separators=(' + repr(',') + ', ' + repr(':') + '))', '(indent=none)', '(true, 1)')})",
            lambda: f"({e(None, d)}|string)", lambda: f"({e('str', d)}|default({e('str', 0)}{self.pick('', ', true')}))",
            lambda: f"({self.percent(d)})", lambda: self.format(d),
            lambda: f"{e('str', d)}.{self.pick('center', 'ljust', 'rjust', 'zfill')}({self.pick('0', '3', '8', '13')})",
            lambda: f"{e('str', d)}.{self.pick('center', 'ljust', 'rjust')}(9, {self.pick(repr('*'), repr('é'))})",
            lambda: f"({e('any', d)}|d({e('str', 0)}))", lambda: f"({e('int', d)}|filesizeformat{self.pick('', '(true)')})",
            lambda: f"({e('dict', d)}|xmlattr)", lambda: f"({self.pick(repr('%s|%s'), 'fmt', repr('%05.1f'))}|format({e('str', d)}, {e('int', d)}))",
            lambda: f"strftime_now({self.pick(repr('%Y-%m-%d'), repr('%d %b %Y %H:%M'), repr('%A %j %%'))})")()

    def percent(self, d):
        conversion = "%" + self.pick("", "-", "0", "+", " ", "#", "05", "-6") + self.pick("", "", "3", "8") + \
            self.pick("", "", ".1", ".3", ".0") + self.pick("d", "s", "s", "r", "f", "g", "e", "x", "X", "o", "i", "c", "%")
        value = self.expr(self.pick("int", "float", "str", "int"), d)
        return self.pick(f"'{conversion}' % {value}", f"'<{conversion}>' % ({value},)", f"'{conversion} %s' % ({value}, {self.expr(None, d)})",
                         f"'%(a)s %(b)r' % d", f"{self.expr('str', 0)} % {self.expr(None, 0)}")

    def format(self, d):
        spec = self.pick("", "", ":", ":>8", ":^7", ":*<6", ":05", ":.2f", ":,", ":+d", ":x", ":#x", ":e", ":.3", ":%", ":_", ":s", ":g", ":08.3f",
                         ":b", ":,.2f", ":=+6d", "!r", "!s:>9", ":.0f", ":o", ":c", ": d", ":.5g", ":G")
        value = self.expr(self.pick("int", "float", "str", "int", "bool"), d)
        return self.pick(f"'[{{{spec}}}]'.format({value})", f"'{{0{spec}}} {{{{}}}} {{1}}'.format({value}, {self.expr(None, d)})",
                         f"'{{k{spec}}}'.format(k={value})", "'{0[a]} {0.b} {1[0]}'.format(d, l)", f"'{{:{{}}}}'.format({value}, {self.pick('8', repr('>6'))})")

    def slice(self, d):
        part = lambda: self.pick("", "", "0", "1", "2", "-1", "-2", "n", "none")
        return part() + ":" + part() + self.pick("", ":" + part(), ":-1", ":2")

    def attribute(self):
        return self.pick("name", "age", "missing", "tags", "role", "0", "function.name", "tags.0")

    def e_list(self, d):
        e = self.expr
        return self.pick(
            lambda: f"({e('list', d)} + {e('list', d)})", lambda: f"{e('list', d)}[{self.slice(d)}]", lambda: f"({e('list', 0)} * {self.pick('0', '2', 'n')})",
            lambda: f"[{e(None, d)}, {e(None, d)}]", lambda: f"({e(None, d)}, {e(None, d)})",
            lambda: f"({e('list', d)}|{self.pick('sort', 'list', 'unique|list', 'reverse|list', 'sort(reverse=true)', 'sort(case_sensitive=true)', 'reverse', 'unique')})",
            lambda: f"({e('list', d)}|map({self.pick(repr('string'), repr('upper'), repr('int'), repr('default') + ', 0', repr('length'), repr('tojson'), repr('abs'), repr('first'))})|list)",
            lambda: f"({self.pick('users', 'messages', 'l', 'll')}|map(attribute='{self.attribute()}'{self.pick('', ', default=0')})|list)",
            lambda: f"({e('list', d)}|{self.pick('select', 'reject')}({self.pick('', repr('odd'), repr('string'), repr('none'), repr('gt') + ', 1', repr('in') + ', l', repr('equalto') + ', 2', repr('==') + ', 1')})|list)",
            lambda: f"({self.pick('users', 'messages')}|{self.pick('selectattr', 'rejectattr')}({self.pick(repr('name'), repr('ok'), repr('age') + ', ' + repr('gt') + ', 26', repr('role') + ', ' + repr('equalto') + ', ' + repr('user'), repr('tags') + ', ' + repr('defined'))})|{self.pick('list', 'map(attribute=' + repr('name') + ')|list', 'first', 'list|length')})",
            lambda: f"({e('list', d)}|{self.pick('batch', 'slice')}({self.pick('2', '3', '2, 0', '1')})|list)",
            lambda: f"({e('dict', d)}|{self.pick('dictsort', 'items|list', 'list', 'dictsort(reverse=true)', 'dictsort(by=' + repr('value') + ')', 'dictsort(true)')})",
            lambda: f"(users|{self.pick('sort', 'groupby', 'sum', 'unique', 'max', 'min')}(attribute='{self.pick('name', 'age', 'age,name', 'missing')}'){self.pick('', '|list')})",
            lambda: f"(users|groupby('{self.pick('name', 'age', 'ok')}'{self.pick('', ', case_sensitive=true', ', default=0')}))",
            lambda: f"{e('str', d)}.{self.pick('split', 'rsplit', 'splitlines', 'split')}()", lambda: f"{e('str', d)}.{self.pick('split', 'rsplit')}({e('str', 0)}{self.pick('', ', 1', ', maxsplit=2')})",
            lambda: f"{e('str', d)}.{self.pick('partition', 'rpartition')}({e('str', 0)})", lambda: f"({e('str', d)}|list)",
            lambda: f"{e('dict', d)}.{self.pick('items', 'keys', 'values')}(){self.pick('', '|list')}", lambda: f"range({e('int', 0)}, {e('int', 0)})")()

    def e_dict(self, d):
        e = self.expr
        return self.pick(
            lambda: f"{{{self.string()}: {e(None, d)}, {self.pick(self.string(), '1', 'n', 'none')}: {e(None, d)}}}",
            lambda: f"dict({self.pick('a', 'b')}={e(None, d)})", lambda: f"dict({e('dict', d)}, q={e('int', d)})", lambda: f"{e('dict', d)}.copy()",
            lambda: f"dict({self.pick('d.items()', '[[1, 2]]', 'd|dictsort', '[(' + repr('a') + ', 1)]')})",
            lambda: f"users[{self.pick('0', '1', '-1')}]", lambda: "dd.x.y", lambda: "messages[2].tool_calls[0].function")()

    def e_any(self, d):
        e = self.expr
        return self.pick(
            lambda: e(None, d), lambda: f"{e('dict', d)}.{self.pick('a', 'b', 'x', 'k', 'name', 'items', 'missing', 'keys', '_a')}",
            lambda: f"{e('dict', d)}[{e(self.pick('str', 'str', 'any'), 0)}]", lambda: f"{e('dict', d)}.get({e('str', 0)}{self.pick('', ', 7', ', none')})",
            lambda: f"{e('list', d)}[{e('int', 0)}]", lambda: f"{e('list', d)}.{self.pick('0', '1', '5')}", lambda: f"({e(None, d)}|default({e(None, 0)}{self.pick('', ', true', ', boolean=true')}))",
            lambda: f"({e('dict', d)}|attr({self.string()}))", lambda: f"({e('list', d)}|{self.pick('first', 'last', 'max', 'min', 'sum')})",
            lambda: f"{e(None, d)}.{self.pick('real', 'upper', 'foo', '__class__', 'append', 'numerator')}", lambda: f"{e('any', d)}[{self.string()}]",
            lambda: f"{self.name()}({e(None, d)})")()

    def name(self):
        return self.r.choice(self.names + ["mac", "missing"])

    # ---- statements ----
    def tag(self, text):
        left = self.pick("", "", "", "-", "+")
        right = self.pick("", "", "", "-", "+")
        return "{%" + left + " " + text + " " + right + "%}"

    def text(self):
        return self.pick("", "", "x", " ", "\n", "  ", "\n  ", "T ", "text\n", "\t", "\n\n", "é", "{", "%", "} ", "a\r\n")

    def output(self, depth=2):
        return "{{" + self.pick("", "", "-") + " " + self.expr(None, depth) + " " + self.pick("", "", "-") + "}}"

    def body(self, depth, n=None, loop=False, macro=False):
        return "".join(self.text() + self.statement(depth, loop, macro) for _ in range(n or self.r.randint(1, 3))) + self.text()

    def target(self):
        return self.pick(self.r.choice(self.names), self.r.choice(self.names), "a, b", "(x, y)", "ns.v")

    def statement(self, depth, loop=False, macro=False):
        r = self.r
        if depth <= 0 or self.chance(0.3):
            return self.pick(self.output, lambda: "{{ " + self.name() + " }}", lambda: self.loop_part() if loop else self.output())()
        if loop and self.chance(0.12):
            word = self.pick("break", "continue")
            return self.tag(f"if {self.expr('bool', 1)}") + self.tag(word) + self.tag("endif") if self.chance(0.8) else self.tag(word)
        e = self.expr
        return self.pick(
            lambda: self.tag(f"set {self.target()} = {e(None, 2)}"), lambda: self.tag(f"set {r.choice(self.names)} = {e(None, 2)}"),
            lambda: self.tag(f"set {r.choice(self.names)}{self.pick('', '|upper', '|trim|length')}") + self.body(depth - 1, 1) + self.tag("endset"),
            lambda: self.tag(f"if {e('bool', 2)}") + self.body(depth - 1, loop=loop, macro=macro) +
            (self.tag(f"elif {e('bool', 1)}") + self.body(depth - 1, 1, loop, macro) if self.chance(0.3) else "") +
            (self.tag("else") + self.body(depth - 1, 1, loop, macro) if self.chance(0.5) else "") + self.tag("endif"),
            lambda: self.for_loop(depth), lambda: self.for_loop(depth), lambda: self.macro(depth), lambda: self.macro(depth),
            lambda: self.tag(f"call{self.pick('', '(x)', '(x, y=1)')} {self.pick('mac', 'mac', 'a')}({self.pick('', '1', 'b=2', '1, 2')})") + self.body(depth - 1, 1) + self.tag("endcall"),
            lambda: self.tag(f"filter {self.pick('upper', 'trim', 'replace(' + repr('a') + ', ' + repr('b') + ')', 'indent(2)', 'length', 'trim|title')}") + self.body(depth - 1, 1, loop) + self.tag("endfilter"),
            lambda: self.tag(f"with {r.choice(self.names)} = {e(None, 1)}{self.pick('', ', ' + r.choice(self.names) + ' = ' + e(None, 1))}") + self.body(depth - 1, 1, loop) + self.tag("endwith"),
            lambda: self.tag("generation") + self.body(depth - 1, 1) + self.tag("endgeneration"),
            lambda: self.tag(f"set ns.v = {e(None, 1)}"), lambda: "{{ ns.v }}", lambda: self.tag("print " + e(None, 1)),
            lambda: "{#" + self.pick("", "-", "+") + " note {{ x }} " + self.pick("", "-", "+") + "#}",
            lambda: self.tag("raw") + self.pick("{{ x }}", " {% if %}\n", "\n  ") + self.tag("endraw"),
            lambda: "{{ " + self.pick("cyc.next()", "cyc.current", "jn()", "cyc.reset()") + " }}")()

    def loop_part(self):
        return "{{ loop." + self.pick("index", "index0", "first", "last", "length", "revindex", "revindex0", "depth", "depth0", "nextitem", "previtem", "cycle('p', 'q')",
                                      "changed(x)", "foo", "changed()") + " }}"

    def for_loop(self, depth):
        r = self.r
        kind = r.randint(0, 9)
        if kind < 5:
            head = f"for {r.choice(self.names)} in {self.expr('list', 2)}"
        elif kind < 7:
            head = f"for {self.pick('a, b', 'x, y', '(a, b)', 'a, (x, y)')} in {self.pick('d.items()', 'd|dictsort', '[(1, 2), (3, 4)]', 'dd|items', '[[1, [2, 3]]]')}"
        elif kind < 8:
            return self.tag(f"for x in ll recursive") + "[" + self.pick("{{ x }}", "{{ loop.depth }}") + "{{ loop(x) if x is iterable and x is not string }}" + \
                self.pick("", self.loop_part()) + "]" + (self.tag("else") + "E" if self.chance(0.3) else "") + self.tag("endfor")
        else:
            head = f"for {r.choice(self.names)} in {self.pick('messages', 'users', 'l', 's', 'missing', 'd', 'l|map(' + repr('string') + ')', 'users|selectattr(' + repr('ok') + ')')}"
        if self.chance(0.25):
            head += f" if {self.expr('bool', 1)}"
        return self.tag(head) + self.body(depth - 1, loop=True) + (self.tag("else") + self.body(depth - 1, 1) if self.chance(0.25) else "") + self.tag("endfor")

    def macro(self, depth):
        params = self.pick("", "a", "a, b=2", "x=1, y=x", "a, b", "x, caller=none")
        extra = self.pick("", "", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}", "{{ caller(1) if caller }}", "{{ caller(1, y=3) }}")
        name = self.pick("mac", "mac", "a")
        calls = "".join("{{ " + self.pick(f"{name}()", f"{name}(1)", f"{name}(1, 2, 3)", f"{name}(a=1, z=2)", f"{name}(b=3)", f"{name}.name", f"{name}.arguments", name) + " }}"
                        for _ in range(self.r.randint(0, 2)))
        return self.tag(f"macro {name}({params})") + self.body(depth - 1, 1, macro=True) + extra + self.tag("endmacro") + calls

    def program(self):
        if self.chance(0.5):
            return "".join(self.pick(self.output, lambda: self.text())() if i else self.output(3) for i in range(self.r.randint(1, 2)))
        head = "{% set ns = namespace(v=0) %}{% set cyc = cycler('o', 'e') %}{% set jn = joiner('|') %}" if self.chance(0.7) else ""
        return head + self.body(3, self.r.randint(1, 4))


# Refused on purpose: integers beyond 64 bits, complex numbers, absurd widths, what docs/templates.md leaves out.
BY_DESIGN = "overflow|does not fit 64 bits|larger than the limit|complex numbers|is not supported in chat templates"


def mutated(r, source):
    """A template with some tags, tokens or characters changed."""
    for _ in range(r.randint(1, 3)):
        tags = [m.span() for m in re.finditer(r"\{[{%#].*?[}%#]\}", source, re.S)]
        tokens = [m.span() for m in re.finditer(r"[A-Za-z_]+|'[^']*'|[0-9]+|[-+*/%~|=!<>]+|[\[\](){}.,:]", source)]
        if not tags or len(tokens) < 2:
            break
        how = r.randint(0, 7)
        a, b = r.choice(tags) if how < 3 else r.choice(tokens)
        c, d = r.choice(tags) if how < 3 else r.choice(tokens)
        piece = source[a:b]
        if how == 0:
            new = r.choice(["", " ", "\n", "x"])
        elif how == 1:
            new = piece.replace("{%-", "{%").replace("-%}", "%}") if "-" in piece else piece.replace("{%", "{%-").replace("%}", "-%}")
        elif how == 2:
            new = r.choice([piece + source[c:d], source[c:d] + piece])
        elif how < 6:
            new = source[c:d]
        elif how == 6:
            new = r.choice(["", "not", "none", "true", "0", "1", "-1", "''", "[]", "{}", "loop", "messages", "x", "and", "or", "is", "in", "==", "+", "~", "|", "(", ")",
                            "length", "string", "defined", "tojson", "trim", "first", "last", "upper", "[::-1]", "if", "else"])
        else:
            new = piece + r.choice([" ", "\n", ".", "()", "[0]", "|upper", "|string", " + 1", "-", " is defined", "|tojson", "|list"])
        source = source[:a] + new + source[b:]
    return source


class TooLong(Exception):
    pass


def stop(*_):
    raise TooLong


def reference(env, source, context):
    try:
        signal.setitimer(signal.ITIMER_REAL, 2)
        try:
            return env.from_string(source).render(**context), None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except TooLong:
        return None, "too long"
    except (Exception, RecursionError) as e:
        return None, e


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("batch")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10)
    parser.add_argument("--templates")
    parser.add_argument("--contexts")
    args = parser.parse_args()
    signal.signal(signal.SIGALRM, stop)
    env = environment()
    context = json.dumps(CONTEXT).encode()
    published = [p.read_text() for p in sorted(pathlib.Path(args.templates).glob("*.jinja"))] if args.templates else None
    contexts = list(json.loads(pathlib.Path(args.contexts).read_text()).values()) if args.contexts else None
    batch = subprocess.Popen([args.batch], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    counts = {"text": 0, "error": 0, "skipped": 0, "by design": 0, "different": 0}
    for i in range(args.count):
        r = random.Random(args.seed * 1000003 + i)
        source = mutated(r, r.choice(published)) if published else Gen(r).program()
        if contexts:
            context = json.dumps(r.choice(contexts)).encode()
        text, error = reference(env, source, json.loads(context))  # a fresh one: `indent` of a list changes it
        # Addresses differ between runs, and lone surrogates are no UTF-8.
        if error == "too long" or (text and re.search("(?i)(at|bt) 0x|[\ud800-\udfff]", text)):
            counts["skipped"] += 1
            continue
        data = source.encode()
        batch.stdin.write(b"%d %d\n" % (len(data), len(context)) + data + context)
        batch.stdin.flush()
        line = batch.stdout.readline().split()
        if len(line) != 2:
            print("the batch program died on:\n" + source)
            return 1
        status, out = int(line[0]), batch.stdout.read(int(line[1])).decode()
        if text is not None and status == 0 and text == out:
            counts["text"] += 1
        elif text is None and status != 0:
            counts["error"] += 1
        elif text is not None and status != 0 and re.search(BY_DESIGN, out):
            counts["by design"] += 1
        else:
            counts["different"] += 1
            if counts["different"] <= args.show:
                if published:
                    pathlib.Path(f"template_diff_{args.seed}_{i}.jinja").write_text(source)
                    pathlib.Path(f"template_diff_{args.seed}_{i}.json").write_bytes(context)
                shown = "(written to a file)" if published else source
                print(f"--- {args.seed}:{i}\n{shown}\n  jinja2: {text!r} {error!r}\n  weft:   {status} {out!r}")
    print(counts)
    return counts["different"] > 0


sys.exit(main())
