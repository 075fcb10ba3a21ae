#!/usr/bin/env python3
"""Grammars with texts that follow them, for bench/grammar.sh and tests/fuzz/mask_check.py.

cases() lists (name, kind, grammar, texts); kind is json-schema, gbnf or regex. The same seed gives the same texts.
SPDX-License-Identifier: MIT
"""
import json
import random

WORDS = ("the harbour opens at dawn when boats return with silver fish and gulls follow them over quiet water "
         "Zürich naïve 東京 data engine 42 release-notes v1.9 quick brown fox jumps lazy dog café Москва x86_64 "
         "matrix attention (draft) don't stop, please: yes/no; e.g. 3.14 & more").split()


def words(r, low, high, cut=10**9):
    return " ".join(r.choice(WORDS) for _ in range(r.randint(low, high)))[:cut].strip() or "x"


PERSON = {"type": "object", "properties": {
    "name": {"type": "string", "minLength": 1, "maxLength": 40},
    "email": {"type": "string", "maxLength": 64},
    "bio": {"type": "string", "maxLength": 300},
    "tags": {"type": "array", "items": {"type": "string", "maxLength": 16}, "maxItems": 6},
    "active": {"type": "boolean"}}, "required": ["name", "email", "bio", "tags", "active"], "additionalProperties": False}


def person(r):
    return {"name": words(r, 2, 4, 40), "email": "someone%d@example.org" % r.randrange(10**6), "bio": words(r, 20, 60, 300),
            "tags": [words(r, 1, 2, 16) for _ in range(r.randrange(6))], "active": r.random() < 0.5}


ORDER = {"type": "object", "properties": {
    "id": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4,8}$"},
    "status": {"enum": ["new", "paid", "packed", "shipped", "delivered", "returned", "cancelled"]},
    "customer": {"type": "object", "properties": {
        "name": {"type": "string"},
        "address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"},
                    "country": {"enum": ["DE", "FR", "JP", "US", "BR", "IN"]}},
                    "required": ["street", "city", "country"], "additionalProperties": False}},
        "required": ["name", "address"], "additionalProperties": False},
    "lines": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {
        "sku": {"type": "string", "pattern": "^[a-z0-9]{4,12}$"}, "count": {"type": "integer", "minimum": 1, "maximum": 999},
        "price": {"type": "number"}}, "required": ["sku", "count", "price"], "additionalProperties": False}}},
    "required": ["id", "status", "customer", "lines"], "additionalProperties": False}


def order(r):
    return {"id": "ABZ-%d" % r.randrange(1000, 10**8), "status": r.choice(ORDER["properties"]["status"]["enum"]),
            "customer": {"name": words(r, 2, 3), "address": {"street": words(r, 2, 4), "city": words(r, 1, 2), "country": r.choice(["DE", "JP"])}},
            "lines": [{"sku": "%x" % r.randrange(16**4, 16**8), "count": r.randint(1, 999), "price": round(r.random() * 100, 2)}
                      for _ in range(r.randint(1, 6))]}


NUMBERS = {"type": "object", "properties": {
    "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}, "maxItems": 8},
    "score": {"type": "number", "minimum": 0, "maximum": 1},
    "year": {"type": "integer", "minimum": 1900, "maximum": 2100},
    "offsets": {"type": "array", "items": {"type": "integer"}}},
    "required": ["matrix", "score", "year", "offsets"], "additionalProperties": False}


def numbers(r):
    return {"matrix": [[round(r.uniform(-50, 50), 3) for _ in range(3)] for _ in range(r.randint(1, 6))],
            "score": round(r.random(), 3), "year": r.randint(1900, 2100), "offsets": [r.randint(-9999, 9999) for _ in range(r.randint(3, 20))]}


EVENT = {"type": "object", "properties": {
    "id": {"type": "string", "format": "uuid"}, "at": {"type": "string", "format": "date-time"},
    "host": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,30}$"}, "level": {"enum": ["debug", "info", "warning", "error"]},
    "message": {"type": "string", "minLength": 1, "maxLength": 120}, "code": {"type": ["integer", "null"]}},
    "required": ["id", "at", "host", "level", "message", "code"], "additionalProperties": False}


def event(r):
    return {"id": "%08x-%04x-4%03x-8%03x-%012x" % tuple(r.randrange(16**n) for n in (8, 4, 3, 3, 12)),
            "at": "20%02d-%02d-%02dT%02d:%02d:%02dZ" % (r.randrange(100), r.randint(1, 12), r.randint(1, 28), r.randrange(24), r.randrange(60), r.randrange(60)),
            "host": "node-%d" % r.randrange(1000), "level": r.choice(["debug", "info", "warning", "error"]),
            "message": words(r, 3, 25, 120), "code": r.choice([None, r.randrange(600)])}


TREE = {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {
    "label": {"type": "string", "maxLength": 24}, "weight": {"type": "integer"},
    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["label", "weight", "children"], "additionalProperties": False}}}


def tree(r, depth=3):
    return {"label": words(r, 1, 3, 24), "weight": r.randrange(100), "children": [tree(r, depth - 1) for _ in range(r.randint(0, 3) if depth else 0)]}


CALL = {"anyOf": [
    {"type": "object", "properties": {"tool": {"const": "search"}, "query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 50}},
     "required": ["tool", "query"], "additionalProperties": False},
    {"type": "object", "properties": {"tool": {"const": "write"}, "path": {"type": "string"}, "text": {"type": "string"}},
     "required": ["tool", "path", "text"], "additionalProperties": False},
    {"type": "object", "properties": {"tool": {"const": "shell"}, "arguments": {"type": "array", "items": {"type": "string"}}},
     "required": ["tool", "arguments"], "additionalProperties": False}]}


def call(r):
    return r.choice([lambda: {"tool": "search", "query": words(r, 2, 9), "limit": r.randint(1, 50)},
                     lambda: {"tool": "write", "path": "/home/%s.txt" % words(r, 1, 1), "text": words(r, 10, 50) + "\n\"end\"\n"},
                     lambda: {"tool": "shell", "arguments": [words(r, 1, 3) for _ in range(r.randint(1, 6))]}])()


OPEN = {"type": "object", "properties": {"name": {"type": "string"}, "kind": {"type": "string"}}, "required": ["name"],
        "additionalProperties": {"type": "array", "items": {"type": "string"}}}


def open_object(r):
    out = {"name": words(r, 1, 3), "kind": words(r, 1, 1)}
    for k in range(r.randint(1, 5)):
        out["%s %d" % (words(r, 1, 1), k)] = [words(r, 1, 4) for _ in range(r.randrange(4))]
    return out


ANY = {"type": "object"}


def anything(r):
    return {words(r, 1, 2): r.choice([call, order, numbers, open_object])(r) for _ in range(2)}


JSON_GBNF = r'''
root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= "-"? ([0-9] | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
'''

SUMS_GBNF = r'''
root ::= (sum "=" ws term "\n")+
sum ::= term ([-+*/] ws term)*
term ::= name | number | "(" ws sum ")" ws
name ::= [a-z] [a-z0-9_]{0,15} ws
number ::= [0-9]+ ws
ws ::= [ \t]*
'''

LIST_GBNF = r'''
root ::= item+
item ::= "- " [^\r\n]{1,120} "\n"
'''

CODE_GBNF = r'''
root ::= statement+
statement ::= (name " = " value ";" | "if (" value ") {\n" statement+ "}" | "return " value ";") "\n"
value ::= name | number | text | name "(" (value (", " value)*)? ")"
name ::= [a-zA-Z_] [a-zA-Z_0-9]*
number ::= [0-9]+ ("." [0-9]+)?
text ::= "'" [^'\n]* "'"
'''

ASK_GBNF = r'''
root ::= "Answer: " ("yes" | "no" | "maybe") "\nWhy: " [^\n]+ "\n" ("Sources:\n" ("* " [^\n]+ "\n"){1,5})?
'''


LEFT_GBNF = r'''
root ::= sum "\n"
sum ::= sum [-+] product | product
product ::= product [*/] atom | atom
atom ::= [0-9]+ | [a-z]+ | "(" sum ")"
'''


def left(r):
    def atom(d):
        return str(r.randrange(9999)) if r.random() < 0.6 else r.choice(["total", "x"]) if not d else "(" + both(d - 1) + ")"

    def both(d):
        return "".join(atom(d) + r.choice("+-*/") for _ in range(r.randint(1, 5))) + "1"
    return both(3) + "\n"


def sums(r):
    def term(d):
        return r.choice(["alpha_%d " % r.randrange(9), str(r.randrange(1000)), "x"] if not d or r.random() < 0.6 else ["(" + both(d - 1) + ") "])

    def both(d):
        return " + ".join(term(d) for _ in range(r.randint(1, 3))).replace("+", r.choice("+-*/"))
    return "".join(both(2) + "= " + term(0) + "\n" for _ in range(r.randint(2, 5)))


def lines(r):
    return "".join("- " + words(r, 2, 18, 119) + "\n" for _ in range(r.randint(2, 8)))


def code(r):
    def value(d):
        k = r.randrange(4 if d else 3)
        if k == 0:
            return r.choice(["left", "total_count", "x", "isReady"])
        if k == 1:
            return r.choice(["42", "3.1415", "0"])
        if k == 2:
            return "'" + words(r, 1, 6).replace("'", "") + "'"
        return r.choice(["print", "max_of"]) + "(" + ", ".join(value(d - 1) for _ in range(r.randint(1, 3))) + ")"

    def statement(d):
        k = r.randrange(3 if d else 2)
        if k == 2:
            return "if (" + value(1) + ") {\n" + statement(d - 1) + statement(d - 1) + "}\n"
        return (r.choice(["result", "some_name", "y2"]) + " = " if k else "return ") + value(2) + ";\n"
    return "".join(statement(2) for _ in range(r.randint(3, 9)))


def ask(r):
    out = "Answer: %s\nWhy: %s\n" % (r.choice(["yes", "no", "maybe"]), words(r, 10, 40))
    return out + "Sources:\n" + "".join("* " + words(r, 2, 8) + "\n" for _ in range(r.randint(1, 5)))


def cases(n_texts=8, seed=1):
    out = []
    for name, schema, make in (("person", PERSON, person), ("order", ORDER, order), ("numbers", NUMBERS, numbers), ("event", EVENT, event),
                               ("tree", TREE, tree), ("call", CALL, call), ("open", OPEN, open_object), ("any", ANY, anything)):
        r = random.Random(f"{name} {seed}")
        texts = [json.dumps(make(r), ensure_ascii=False, indent=r.choice([None, 2])) for _ in range(n_texts)]
        out.append((name, "json-schema", json.dumps(schema), texts))
    for name, source, make in (("json", JSON_GBNF, lambda r: json.dumps(anything(r), ensure_ascii=False)), ("sums", SUMS_GBNF, sums),
                               ("list", LIST_GBNF, lines), ("left", LEFT_GBNF, left), ("code", CODE_GBNF, code), ("ask", ASK_GBNF, ask)):
        r = random.Random(f"{name} {seed}")
        out.append((name, "gbnf", source.strip() + "\n", [make(r) for _ in range(n_texts)]))
    return out
