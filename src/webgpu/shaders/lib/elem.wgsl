// Elements of f32, f16, bf16 and i32 storage, addressed as u32 words: two 16-bit elements to a
// word, the even one low, and bytes, which are only moved. Needs no shader-f16, keeps subnormals
// and infinities, and rounds to nearest even in integer arithmetic, since pack2x16float rounds as
// the driver likes and leaves overflow open. Types are weft's dtype numbers.
// SPDX-License-Identifier: MIT

const F32: u32 = 0u;
const F16: u32 = 1u;
const I8: u32 = 24u;
const I32: u32 = 26u;
const BF16: u32 = 30u;

fn elem_is_16(t: u32) -> bool { return t == F16 || t == BF16; }

// The word that holds element i.
fn elem_word(t: u32, i: u32) -> u32 {
    if (elem_is_16(t)) { return i >> 1u; }
    if (t == I8) { return i >> 2u; }
    return i;
}

// The bits of element i out of its word, in the low end.
fn elem_bits(t: u32, word: u32, i: u32) -> u32 {
    if (elem_is_16(t)) { return (word >> ((i & 1u) * 16u)) & 0xffffu; }
    if (t == I8) { return (word >> ((i & 3u) * 8u)) & 0xffu; }
    return word;
}

fn elem_decode(t: u32, bits: u32) -> f32 {
    if (t == F16) { return unpack2x16float(bits).x; }
    if (t == BF16) { return bitcast<f32>(bits << 16u); }
    if (t == I32) { return f32(bitcast<i32>(bits)); }
    return bitcast<f32>(bits);
}

fn elem_value(t: u32, word: u32, i: u32) -> f32 { return elem_decode(t, elem_bits(t, word, i)); }

fn f16_bits(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    let sign = (b >> 16u) & 0x8000u;
    let a = b & 0x7fffffffu;
    if (a >= 0x47800000u) { // 65536 and up, infinity, NaN
        return sign | select(0x7c00u, 0x7e00u, a > 0x7f800000u);
    }
    if (a >= 0x38800000u) { // normal; a carry into the exponent is right, up to infinity
        let r = a - 0x38000000u;
        return sign | ((r + 0xfffu + ((r >> 13u) & 1u)) >> 13u);
    }
    let exponent = a >> 23u;
    if (exponent < 102u) { return sign; } // below half the smallest subnormal
    let mantissa = (a & 0x7fffffu) | 0x800000u;
    let shift = 126u - exponent; // 14 to 24
    let whole = mantissa >> shift;
    let rest = mantissa & ((1u << shift) - 1u);
    let half = 1u << (shift - 1u);
    let up = rest > half || (rest == half && (whole & 1u) == 1u);
    return sign | (whole + select(0u, 1u, up));
}

fn bf16_bits(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    if ((b & 0x7fffffffu) > 0x7f800000u) { return (b >> 16u) | 0x40u; }
    return (b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u;
}

// Toward zero; out of range saturates and NaN gives 0.
fn i32_of(x: f32) -> i32 {
    if ((bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u) { return 0; }
    if (x >= 2147483648.0) { return 2147483647; }
    if (x <= -2147483648.0) { return i32(-2147483647 - 1); }
    return i32(x);
}

fn elem_encode(t: u32, x: f32) -> u32 {
    if (t == F16) { return f16_bits(x); }
    if (t == BF16) { return bf16_bits(x); }
    if (t == I32) { return bitcast<u32>(i32_of(x)); }
    return bitcast<u32>(x);
}

// From one type's bits to another's; the same type passes unchanged.
fn elem_convert(old_type: u32, new_type: u32, bits: u32) -> u32 {
    if (old_type == new_type) { return bits; }
    return elem_encode(new_type, elem_decode(old_type, bits));
}
