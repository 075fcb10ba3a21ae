// The pointwise functions. The plan gives `const FUNC`; unary ones ignore y.
// SPDX-License-Identifier: MIT

const FUNC_ADD: u32 = 0u;
const FUNC_MUL: u32 = 1u;
const FUNC_SILU: u32 = 2u;
const FUNC_SILU_MUL: u32 = 3u;

fn function_f32(x: f32, y: f32) -> f32 {
    if (FUNC == FUNC_ADD) { return x + y; }
    if (FUNC == FUNC_MUL) { return x * y; }
    let s = x * sigmoid(x);
    if (FUNC == FUNC_SILU) { return s; }
    return s * y;
}

// Integers wrap; only sums and products have them.
fn function_i32(x: i32, y: i32) -> i32 {
    if (FUNC == FUNC_ADD) { return x + y; }
    return x * y;
}
