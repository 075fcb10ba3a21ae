// The key of an element's bits (const X_TYPE): an unsigned integer in the order of the values, -0
// equal to 0, a NaN largest. No float is compared, so that subnormals count on every driver. Wants
// lib/elem.wgsl. SPDX-License-Identifier: MIT

fn key_of_bits(element: u32) -> u32 {
    var bits = element;
    if (X_TYPE == I32) { return bits ^ 0x80000000u; }
    var infinity = 0x7f800000u;
    if (X_TYPE == F16) {
        bits = bits << 16u;
        infinity = 0x7c000000u;
    }
    if (X_TYPE == BF16) { bits = bits << 16u; }
    let magnitude = bits & 0x7fffffffu;
    if (magnitude > infinity) { return 0xffffffffu; }
    if (bits == magnitude || magnitude == 0u) { return magnitude | 0x80000000u; }
    return ~bits;
}
