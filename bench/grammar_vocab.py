"""The tokens of a byte-level GGUF as bytes. SPDX-License-Identifier: MIT"""
import gguf


def byte_tokens(model):
    """Lists of all tokens' bytes and of their kinds (1: plain text)."""
    fields = gguf.GGUFReader(model).fields
    tokens, kinds = fields["tokenizer.ggml.tokens"].contents(), fields["tokenizer.ggml.token_type"].contents()
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    letters = {chr(b): b for b in plain}
    letters.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in plain)})
    return [bytes(letters[c] for c in t) if k == 1 else t.encode() for t, k in zip(tokens, kinds)], kinds
