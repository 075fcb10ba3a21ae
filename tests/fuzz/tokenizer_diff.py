#!/usr/bin/env python3
"""Random pipelines: under construction. SPDX-License-Identifier: MIT"""
import array
import subprocess


class Weft:
    """The program built from tokenizer_batch.c."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, command, data, a, b):
        self.process.stdin.write(f"{command} {a} {b}\n".encode() + data)
        self.process.stdin.flush()
        head = self.process.stdout.readline().split()
        if len(head) != 2:
            raise RuntimeError(f"the batch program died on {command} {data[:2000]!r}")
        return int(head[0]), self.process.stdout.read(int(head[1]))

    def open(self, way, data, config=b""):
        status, message = self.ask(way, data + config, len(data), len(config))
        return status, message.decode()

    def encode(self, text, flags):
        status, out = self.ask("encode", text, len(text), flags)
        return f"error {status}: {out.decode()}" if status else [int(i) for i in out.split()]

    def decode(self, ids, special, way="decode"):
        data = array.array("i", ids).tobytes()
        status, out = self.ask(way, data, len(data), int(special))
        return f"error {status}: {out.decode()}" if status else out
