/* The generator of parameter structs: WGSL's uniform layout, and refusals that name file and line.
 * SPDX-License-Identifier: MIT */
#include "harness.h"

#include <sys/wait.h>
#include <unistd.h>

#ifndef WGSLGEN

static void test_absent(void **state) {
    (void)state;
    skip_because(false, "this build has no WebGPU backend, so no wgslgen");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_absent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static char folder[] = "/tmp/weft-wgslgen-XXXXXX";

static void write_text(const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Runs the generator on lib/view.wgsl and kernel.wgsl; returns its exit code and what it wrote. */
static int generate(const char *library, const char *kernel, char *out, size_t cap) {
    write_text("lib/view.wgsl", library);
    write_text("kernel.wgsl", kernel);
    char command[900];
    snprintf(command, sizeof command,
             "%s %s %s %s/lib/view.wgsl %s/kernel.wgsl > %s/log 2>&1; code=$?; "
             "cat %s/log %s/shaders.h; exit $code",
             WGSLGEN, folder, folder, folder, folder, folder, folder, folder);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t n = fread(out, 1, cap - 1, p);
    out[n] = 0;
    int status = pclose(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char view[] = "struct View { dim: vec4<u32>, stride: vec4i, offset: u32, }\n";

static void test_layout(void **state) {
    (void)state;
    char out[8000];
    int code = generate(view,
                        "// struct Params { not: this }\n"
                        "/* nor /* nested */ struct Params { this: one } */\n"
                        "struct Params {\n  a: View, // one\n  n: u32, v: vec3<f32>, w: f32,\n"
                        "  e: array<vec4<u32>, 2>, z: vec2f, q: vec2<f32>, own: Own }\n"
                        "struct Own { x: i32, y: vec2<u32> }\nstruct Unused { y: array<u32> }\n",
                        out, sizeof out);
    if (code != 0) fail_msg("%s", out);
    static const char *const expected[] = {
        "wgsl_view a;",
        "uint32_t dim[4];",
        "int32_t stride[4];",
        "offsetof(params_kernel, n) == 48",
        "offsetof(params_kernel, v) == 64",
        "offsetof(params_kernel, w) == 76",
        "offsetof(params_kernel, e) == 80",
        "uint32_t e[2][4];",
        "offsetof(params_kernel, z) == 112",
        "wgsl_kernel_own own;",
        "offsetof(params_kernel, own) == 128",
        "offsetof(wgsl_kernel_own, y) == 8",
        "sizeof(wgsl_kernel_own) == 16",
        "sizeof(params_kernel) == 144",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strstr(out, expected[i])) fail_msg("\"%s\" is missing from:\n%s", expected[i], out);
    assert_null(strstr(out, "Unused"));
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *message;
    } cases[] = {
        {"struct Params {\n  a: bool }", "kernel.wgsl:2: error: member a has type bool"},
        {"\nstruct Params { a: u32,\n b: mat2x2<f32> }", "kernel.wgsl:3: error: member b has type"},
        {"struct Params { a: array<u32, 4> }", "kernel.wgsl:1: error: elements of array<u32,4>"},
        {"struct Params { a: array<vec4<u32>> }", "needs a number as its length"},
        {"struct Params { n: u32, a: Small }\nstruct Small { x: u32 }", "a is at byte 4"},
        {"struct Params { a: Small, n: u32 }\nstruct Small { x: u32 }", "n follows a struct too"},
        {"struct Params { @align(16) a: u32 }", "attributes are not supported"},
        {"struct Params { }", "is empty"},
        {"struct Params { a: u32", "is not closed"},
        {"struct Params { a u32 }", "expected `name: type`"},
        {"struct Params { a: Params }", "contains itself"},
    };
    char out[8000];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = generate(view, cases[i].kernel, out, sizeof out);
        if (code != 1 || !strstr(out, cases[i].message))
            fail_msg("\"%s\" gives %d and:\n%s", cases[i].kernel, code, out);
    }
}

static int make_folder(void **state) {
    (void)state;
    char path[200];
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "mkdir %s/lib", folder);
    return system(path);
}

static int remove_folder(void **state) {
    (void)state;
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layout),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

#endif
