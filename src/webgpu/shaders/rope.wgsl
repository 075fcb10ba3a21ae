// Rotary position embedding. One thread makes one word of the output (one 32-bit element or two
// 16-bit ones).
//
// Angles are kept in turns, as fractions of 2^64 (two words, the high one first): position *
// frequency then wraps by itself, exactly, where a float of 100,000 radians would have lost three
// digits. The frequency base^(-2i/n) of pair i is a product of three numbers from the host's
// tables, one for each base-8 digit of i; the highest digit's include scale / (2 pi). Sine and
// cosine are series over an eighth of a turn, since WGSL's own may be off by 2^-11. Consts: X_TYPE,
// OUT_TYPE, IS_HALVES, IS_BACKWARD (a negative scale), HAS_FACTORS. SPDX-License-Identifier: MIT

struct Params {
    n: u32, // elements
    n_heads: u32,
    head_dim: u32,
    n_dims: u32,
    x_at: u32,
    x_token: u32, // strides
    x_head: u32,
    positions_at: u32,
    factors_at: u32,
    out_at: u32,
    shift: u32,                    // the highest digit's numbers are fractions of 2^(64 - shift)
    digits: array<vec4<u32>, 12>, // 3 x 8 fractions, the lowest digit's first
}

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> positions: array<i32>;
@group(0) @binding(2) var<storage, read> factors: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<uniform> P: Params;

fn value(i: u32) -> f32 { return elem_value(X_TYPE, x[elem_word(X_TYPE, i)], i); }

// The upper word of a product of two words.
fn multiply_high(a: u32, b: u32) -> u32 {
    let a0 = a & 0xffffu;
    let a1 = a >> 16u;
    let b0 = b & 0xffffu;
    let b1 = b >> 16u;
    let middle = a1 * b0 + ((a0 * b0) >> 16u);
    let other = a0 * b1 + (middle & 0xffffu);
    return a1 * b1 + (middle >> 16u) + (other >> 16u);
}

// a * b / 2^64.
fn multiply_fractions(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    var high = multiply_high(a.x, b.x);
    let low = a.x * b.x;
    let sum = low + multiply_high(a.x, b.y);
    if (sum < low) { high++; }
    let total = sum + multiply_high(a.y, b.x);
    if (total < sum) { high++; }
    return vec2<u32>(high, total);
}

fn shift_left(a: vec2<u32>, n: u32) -> vec2<u32> {
    if (n == 0u) { return a; }
    if (n >= 32u) { return vec2<u32>(a.y << (n - 32u), 0u); }
    return vec2<u32>((a.x << n) | (a.y >> (32u - n)), a.y << n);
}

fn shift_right(a: vec2<u32>, n: u32) -> vec2<u32> {
    if (n == 0u) { return a; }
    if (n >= 32u) { return vec2<u32>(0u, a.x >> (n - 32u)); }
    return vec2<u32>(a.x >> n, (a.y >> n) | (a.x << (32u - n)));
}

// turns / |factor|, by long division: the factor is mantissa * 2^(exponent - 23), and the quotient
// of turns * 2^23 by the mantissa is found in digits of 8 bits, the last of 7.
fn divide_turns(turns: vec2<u32>, factor: u32) -> vec2<u32> {
    let mantissa = (factor & 0x7fffffu) | 0x800000u;
    let exponent = i32((factor >> 23u) & 0xffu) - 127;
    if (exponent > 63 || exponent < -63) { return vec2<u32>(0u); }
    var quotient = vec2<u32>(0u);
    var rest = 0u;
    for (var i = 0u; i < 11u; i++) {
        let bits = select(8u, 7u, i == 10u);
        var digit = 0u;
        if (i < 4u) { digit = (turns.x >> (24u - 8u * i)) & 0xffu; }
        if (i >= 4u && i < 8u) { digit = (turns.y >> (56u - 8u * i)) & 0xffu; }
        let n = (rest << bits) | digit;
        quotient = shift_left(quotient, bits);
        quotient.y |= n / mantissa;
        rest = n % mantissa;
    }
    if (exponent < 0) { return shift_left(quotient, u32(-exponent)); }
    return shift_right(quotient, u32(exponent));
}

fn digit_of(place: u32, digit: u32) -> vec2<u32> {
    let v = P.digits[place * 4u + digit / 2u];
    return select(v.xy, v.zw, (digit & 1u) == 1u);
}

// (cosine, sine) of pair i at a position.
fn turn(i: u32, position: i32) -> vec2<f32> {
    var frequency = digit_of(2u, i / 64u);
    if (i / 8u % 8u != 0u) { frequency = multiply_fractions(frequency, digit_of(1u, i / 8u % 8u)); }
    if (i % 8u != 0u) { frequency = multiply_fractions(frequency, digit_of(0u, i % 8u)); }
    frequency = shift_left(frequency, P.shift);
    var is_backward = IS_BACKWARD != (position < 0);
    if (HAS_FACTORS) {
        let factor = factors[P.factors_at + i];
        frequency = divide_turns(frequency, factor);
        is_backward = is_backward != ((factor & 0x80000000u) != 0u);
    }
    let distance = select(bitcast<u32>(position), 0u - bitcast<u32>(position), position < 0);
    var turns = distance * frequency.x + multiply_high(distance, frequency.y);
    if (is_backward) { turns = 0u - turns; }
    let quarter = (turns + 0x20000000u) >> 30u;
    let rest = bitcast<i32>(turns - (quarter << 30u)); // an eighth of a turn either way
    let a = f32(rest) * 1.4629180792671596e-9; // 2 pi / 2^32
    let a2 = a * a;
    let s_high = 0.008333334 + a2 * (-0.00019841270 + a2 * 2.7557319e-6);
    let s = a * (1.0 + a2 * (-0.16666667 + a2 * s_high));
    let c = 1.0 + a2 * (-0.5 + a2 * (0.041666668 + a2 * (-0.0013888889 + a2 * 2.4801587e-5)));
    if (quarter == 0u) { return vec2<f32>(c, s); }
    if (quarter == 1u) { return vec2<f32>(-s, c); }
    if (quarter == 2u) { return vec2<f32>(-c, -s); }
    return vec2<f32>(s, -c);
}

fn result_bits(i: u32) -> u32 {
    let d = i % P.head_dim;
    let head = i / P.head_dim % P.n_heads;
    let token = i / P.head_dim / P.n_heads;
    let at = P.x_at + token * P.x_token + head * P.x_head;
    if (d >= P.n_dims) { return elem_encode(OUT_TYPE, value(at + d)); }
    let half = P.n_dims / 2u;
    var pair = d / 2u;
    var first = pair * 2u;
    var second = first + 1u;
    if (IS_HALVES) {
        pair = d % half;
        first = pair;
        second = pair + half;
    }
    let r = turn(pair, positions[P.positions_at + token]);
    let u = value(at + first);
    let v = value(at + second);
    return elem_encode(OUT_TYPE, select(u * r.y + v * r.x, u * r.x - v * r.y, d == first));
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    store_word(group_index(group, grid) * 128u + thread);
}
