// Sums and maxima over a team: LANES neighbouring threads of a workgroup of WG, where LANES is
// SUBGROUP (the adapter's size, lanes being neighbouring threads) times a power of two. Every
// thread of the workgroup must call them together. Its portable twin is lanes.wgsl.
// SPDX-License-Identifier: MIT

const TEAM: u32 = LANES / SUBGROUP; // subgroups in a team

var<workgroup> lane_parts: array<vec4<f32>, WG / SUBGROUP>;

fn lanes_add(v: vec4<f32>, thread: u32) -> vec4<f32> {
    var total = subgroupAdd(v);
    if (TEAM > 1u) {
        if (thread % SUBGROUP == 0u) { lane_parts[thread / SUBGROUP] = total; }
        workgroupBarrier();
        let first = thread / LANES * TEAM;
        total = lane_parts[first];
        for (var i = 1u; i < TEAM; i++) { total += lane_parts[first + i]; }
        workgroupBarrier();
    }
    return total;
}

fn lanes_max(v: vec4<f32>, thread: u32) -> vec4<f32> {
    var top = subgroupMax(v);
    if (TEAM > 1u) {
        if (thread % SUBGROUP == 0u) { lane_parts[thread / SUBGROUP] = top; }
        workgroupBarrier();
        let first = thread / LANES * TEAM;
        top = lane_parts[first];
        for (var i = 1u; i < TEAM; i++) { top = max(top, lane_parts[first + i]); }
        workgroupBarrier();
    }
    return top;
}
