// The best (key, index) pair of a workgroup of 256: the largest key, of equal ones the lowest
// index. SPDX-License-Identifier: MIT

var<workgroup> best_parts: array<vec2<u32>, 256>;

fn better(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(a, b, b.x > a.x || (b.x == a.x && b.y < a.y));
}

// The result is thread 0's.
fn best_of_group(mine: vec2<u32>, thread: u32) -> vec2<u32> {
    best_parts[thread] = mine;
    workgroupBarrier();
    for (var step = 128u; step > 0u; step = step / 2u) {
        if (thread < step) {
            best_parts[thread] = better(best_parts[thread], best_parts[thread + step]);
        }
        workgroupBarrier();
    }
    return best_parts[0];
}
