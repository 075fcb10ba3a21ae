#!/usr/bin/env python3
"""Draws a terminal session as an SVG, so that the README's picture is text that can be compared.

    terminal_svg.py SESSION.txt OUT.svg

Lines that begin with "$ " are commands, lines that begin with "# " what the program says on standard error; the
rest is its answer. Lines too long for the picture are wrapped at a space. SPDX-License-Identifier: MIT
"""
import html
import sys
import textwrap

WIDTH, LINE, LEFT, TOP = 920, 22, 24, 58
COLUMNS = int((WIDTH - 2 * LEFT) / 8.5)  # of 14 px monospace, 0.6 em a character
INK = {"$": "#8be9a5", "#": "#8a93a6", "": "#e8ebf2"}


def main():
    lines = []
    for line in open(sys.argv[1], encoding="utf-8").read().rstrip("\n").split("\n"):
        kind = line[0] if line[:2] in ("$ ", "# ") else ""
        text = line[2:] if kind == "#" else line
        lines += [(kind, part) for part in textwrap.wrap(text, COLUMNS) or [""]]
    height = TOP + LINE * len(lines) + 18
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>make demo: a small model answers a question</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#1b1f2a"/>',
    ]
    out += [f'<circle cx="{24 + 22 * i}" cy="24" r="6.5" fill="{c}"/>' for i, c in enumerate(("#ff6159", "#ffbd2e", "#28c941"))]
    out.append("<g font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\" font-size=\"14\" xml:space=\"preserve\">")
    for i, (kind, text) in enumerate(lines):
        out.append(f'<text x="{LEFT}" y="{TOP + LINE * i + 8}" fill="{INK[kind]}">{html.escape(text)}</text>')
    out += ["</g>", "</svg>"]
    open(sys.argv[2], "w", encoding="utf-8").write("\n".join(out) + "\n")


main()
