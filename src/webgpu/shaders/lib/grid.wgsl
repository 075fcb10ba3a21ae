// Workgroups by one number. The host splits any count of groups over x, y and z (65,535 each at
// most), so a kernel may meet more groups than were asked for and must turn those away:
//
//     @compute @workgroup_size(64)
//     fn main(@builtin(workgroup_id) group: vec3<u32>,
//             @builtin(num_workgroups) grid: vec3<u32>, ...) {
//         let g = group_index(group, grid);
//         if (g >= P.n_groups) { return; }   // or a check of the element, where that covers it
//
// The test is uniform over the workgroup, so barriers may follow it. SPDX-License-Identifier: MIT

fn group_index(group: vec3<u32>, grid: vec3<u32>) -> u32 {
    return (group.z * grid.y + group.y) * grid.x + group.x;
}
