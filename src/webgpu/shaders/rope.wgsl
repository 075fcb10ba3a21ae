// Rotary position embedding. One thread makes one word of the output (one 32-bit element or two
// 16-bit ones).
//
// Angles are kept in turns, as fractions of 2^32: position * frequency then wraps by itself,
// exactly, where a float of 100,000 radians would have lost three digits. The frequency
// base^(-2i/n) of pair i is a product of two numbers from the host's tables: coarse[i / 16], which
// includes scale / (2 pi), and fine[i % 16]. Sine and cosine are series over an eighth of a turn,
// since WGSL's own may be off by 2^-11. Consts: X_TYPE, OUT_TYPE, IS_HALVES, IS_BACKWARD (a
// negative scale), HAS_FACTORS. SPDX-License-Identifier: MIT

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
    out_at: u32,      // first word
    coarse_shift: u32, // coarse numbers are fractions of 2^(32 - coarse_shift)
    fine: array<vec4<u32>, 4>,   // fractions of 2^32; [0] stands for 1
    coarse: array<vec4<u32>, 8>,
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

// turns / factor, by long division: the factor is mantissa * 2^(exponent - 23).
fn divide_turns(turns: u32, factor: u32) -> u32 {
    let mantissa = (factor & 0x7fffffu) | 0x800000u;
    let exponent = i32((factor >> 23u) & 0xffu) - 127;
    var quotient = turns / mantissa;
    var rest = turns % mantissa;
    for (var i = 0u; i < 23u; i++) {
        rest = rest * 2u;
        quotient = quotient * 2u;
        if (rest >= mantissa) {
            rest -= mantissa;
            quotient++;
        }
    }
    if (exponent > 31 || exponent < -31) { return 0u; }
    let scaled = select(quotient >> u32(max(exponent, 0)), quotient << u32(max(-exponent, 0)), exponent < 0);
    return select(scaled, 0u - scaled, (factor & 0x80000000u) != 0u);
}

// (cosine, sine) of pair i at a position.
fn turn(i: u32, position: i32) -> vec2<f32> {
    let coarse = i / 16u;
    let fine = i % 16u;
    var frequency = P.coarse[coarse / 4u][coarse % 4u];
    if (fine != 0u) { frequency = multiply_high(frequency, P.fine[fine / 4u][fine % 4u]); }
    frequency = frequency << P.coarse_shift;
    if (HAS_FACTORS) { frequency = divide_turns(frequency, factors[P.factors_at + i]); }
    if (IS_BACKWARD) { frequency = 0u - frequency; }
    let turns = bitcast<u32>(position) * frequency;
    let quarter = (turns + 0x20000000u) >> 30u;
    let rest = bitcast<i32>(turns - (quarter << 30u)); // an eighth of a turn either way
    let a = f32(rest) * 1.4629180792671596e-9; // 2 pi / 2^32
    let a2 = a * a;
    let s = a * (1.0 + a2 * (-0.16666667 + a2 * (0.008333334 + a2 * (-0.00019841270 + a2 * 2.7557319e-6))));
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
    let word = group_index(group, grid) * 128u + thread;
    if (elem_is_16(OUT_TYPE)) {
        let i = word * 2u;
        if (i >= P.n) { return; }
        var bits = result_bits(i);
        if (i + 1u < P.n) { bits |= result_bits(i + 1u) << 16u; }
        out[P.out_at + word] = bits;
    } else {
        if (word >= P.n) { return; }
        out[P.out_at + word] = result_bits(word);
    }
}
