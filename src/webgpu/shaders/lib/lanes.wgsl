// Sums and maxima over a team: LANES neighbouring threads (a power of two) of a workgroup of WG.
// Every thread of the workgroup must call them together. Portable: a tree in workgroup memory. Its
// twin is lanes_subgroup.wgsl. SPDX-License-Identifier: MIT

var<workgroup> lane_parts: array<vec4<f32>, WG>;

fn lanes_add(v: vec4<f32>, thread: u32) -> vec4<f32> {
    lane_parts[thread] = v;
    workgroupBarrier();
    let lane = thread % LANES;
    for (var step = LANES / 2u; step > 0u; step = step / 2u) {
        if (lane < step) { lane_parts[thread] += lane_parts[thread + step]; }
        workgroupBarrier();
    }
    let total = lane_parts[thread - lane];
    workgroupBarrier();
    return total;
}

fn lanes_max(v: vec4<f32>, thread: u32) -> vec4<f32> {
    lane_parts[thread] = v;
    workgroupBarrier();
    let lane = thread % LANES;
    for (var step = LANES / 2u; step > 0u; step = step / 2u) {
        if (lane < step) {
            lane_parts[thread] = max(lane_parts[thread], lane_parts[thread + step]);
        }
        workgroupBarrier();
    }
    let top = lane_parts[thread - lane];
    workgroupBarrier();
    return top;
}
