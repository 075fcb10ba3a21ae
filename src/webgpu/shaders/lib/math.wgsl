// Functions whose built-in forms are too loose or overflow: WGSL's exp may be off by 3 + 2|x| ulp.
// SPDX-License-Identifier: MIT

// exp(x) for x <= 0 within 2 ulp, 0 below -87.3 (and for -inf). Range reduction by ln 2 in two
// parts, then the series.
fn exp_negative(x: f32) -> f32 {
    let y = max(x, -100.0);
    let n = round(y * 1.44269504);
    let r = (y - n * 0.693359375) + n * 2.12194440e-4;
    let q = 0.041666668 + r * (0.008333334 + r * (0.0013888889 + r * 0.0001984127));
    let p = 1.0 + r * (1.0 + r * (0.5 + r * (0.16666667 + r * q)));
    let e = i32(n) + 127;
    if (e <= 0) { return 0.0; }
    return p * bitcast<f32>(u32(e) << 23u);
}

// 1 / (1 + exp(-x)), its limits at both ends.
fn sigmoid(x: f32) -> f32 {
    let e = exp_negative(-abs(x));
    return select(e, 1.0, x >= 0.0) / (1.0 + e);
}

const LOWEST: f32 = -3.4028234663852886e38; // the most negative finite f32
