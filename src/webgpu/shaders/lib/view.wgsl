// Strided views. Dimensions are numbered from the innermost: near = dimensions 0 to 3, far = 4 and
// 5; strides and the offset count elements (of whatever the kernel says: elements, blocks, rows)
// from the start of the binding. The plan gives `const RANK`, so the arithmetic of absent
// dimensions folds away. SPDX-License-Identifier: MIT

struct Dims {
    near: vec4<u32>,
    far: vec2<u32>,
}

struct View {
    near: vec4<u32>,
    far: vec2<u32>,
    offset: u32,
}

struct Coords {
    near: vec4<u32>,
    far: vec2<u32>,
}

// The coordinates of element i of a shape, in memory order.
fn coords_of(dims: Dims, i: u32) -> Coords {
    var c = Coords(vec4<u32>(0u), vec2<u32>(0u));
    var rest = i;
    if (RANK > 1u) {
        c.near.x = rest % dims.near.x;
        rest = rest / dims.near.x;
        if (RANK > 2u) {
            c.near.y = rest % dims.near.y;
            rest = rest / dims.near.y;
            if (RANK > 3u) {
                c.near.z = rest % dims.near.z;
                rest = rest / dims.near.z;
                if (RANK > 4u) {
                    c.near.w = rest % dims.near.w;
                    rest = rest / dims.near.w;
                    if (RANK > 5u) {
                        c.far.x = rest % dims.far.x;
                        c.far.y = rest / dims.far.x;
                    } else {
                        c.far.x = rest;
                    }
                } else {
                    c.near.w = rest;
                }
            } else {
                c.near.z = rest;
            }
        } else {
            c.near.y = rest;
        }
    } else {
        c.near.x = rest;
    }
    return c;
}

fn view_at(v: View, c: Coords) -> u32 {
    var at = v.offset + c.near.x * v.near.x;
    if (RANK > 1u) { at += c.near.y * v.near.y; }
    if (RANK > 2u) { at += c.near.z * v.near.z; }
    if (RANK > 3u) { at += c.near.w * v.near.w; }
    if (RANK > 4u) { at += c.far.x * v.far.x; }
    if (RANK > 5u) { at += c.far.y * v.far.y; }
    return at;
}
