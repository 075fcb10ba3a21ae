#!/usr/bin/env python3
"""Counts single tests in ctest's JUnit file: every cmocka test of a program, or the program when it prints none.

Prints each skipped test with the reason it printed, each failed one by name, and last the line
"N passed, N failed, N skipped". Exits with 1 when one failed. A program that ctest calls failed though none of
its tests did (a crash, a leak, a time-out) counts as one failure.
SPDX-License-Identifier: MIT
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

# Not anchored at the line's beginning: a test may have printed something without a newline.
RESULT = re.compile(r"\[\s*(RUN|OK|FAILED|SKIPPED|ERROR)\s*\] (\S.*)$")


def single_tests(program, output):
    """Yields (name, "OK" | "FAILED" | "SKIPPED", reason) for each cmocka test in a program's output."""
    running, reason = None, ""
    for line in output.splitlines():
        match = RESULT.search(line)
        if line.startswith("SKIPPED: "):
            reason = line[len("SKIPPED: "):]
        if not match:
            continue
        kind, name = match.groups()
        if kind == "RUN":
            running, reason = name, ""
        elif running is not None and name.startswith(running):  # the summary repeats names; not running then
            yield f"{program}: {running}", "FAILED" if kind == "ERROR" else kind, reason
            running = None


def results(path):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        program, output = case.get("name"), case.findtext("system-out") or ""
        skipped = case.find("skipped") is not None and "SKIP_RETURN_CODE" in case.find("skipped").get("message", "")
        status = "OK" if case.get("status") == "run" else "SKIPPED" if skipped else "FAILED"
        tests = list(single_tests(program, output))
        yield from tests
        if status == "FAILED" and not any(kind == "FAILED" for _, kind, _ in tests):
            yield f"{program}: the program itself", "FAILED", ""
        elif not tests:
            reason = re.findall(r"^SKIPPED: (.*)$", output, re.MULTILINE)
            yield program, status, reason[-1] if reason else ""


def main():
    counts = {"OK": 0, "FAILED": 0, "SKIPPED": 0}
    print()
    for name, kind, reason in results(sys.argv[1]):
        counts[kind] += 1
        if kind != "OK":
            print(f"{kind.lower()}: {name}" + (f": {reason}" if kind == "SKIPPED" and reason else ""))
    print(f"{counts['OK']} passed, {counts['FAILED']} failed, {counts['SKIPPED']} skipped")
    return 1 if counts["FAILED"] else 0


sys.exit(main())
