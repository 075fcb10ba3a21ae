/* See runner.h. A case is run as the core would run it, through a spy in the backend's place that
 * sees the call the backend gets, asks for its variants, and says when the backend has no kernel
 * instead of letting the CPU step in.
 *
 * For each layout: values are made, the reference computes, inputs are placed; then for each
 * variant the output's bytes are poisoned, the op runs into them, and values and fences are
 * checked. At last the inputs' bytes are. SPDX-License-Identifier: MIT */
#include "runner.h"

#include <time.h>

#include "base/mem.h"
#include "format/format.h"
#include "place.h"
#include "table.h"
#include "tensor/device.h"
#include "tensor/dtype.h"

#ifdef WEFT_HAVE_WEBGPU
#include "webgpu/plan.h"
#endif

enum { MAX_VARIANTS = 128, MAX_SHOWN = 6 };

static const struct {
    const char *name;
    int n_in;
    const op_test *test;
} ops[] = {
#define WEFT_OP(name, n_in, layouts) {#name, n_in, &test_##name},
#include "tensor/ops.def"
#undef WEFT_OP
};

typedef struct tally {
    const char *name;
    int64_t n;
} tally;

static struct {
    weft_device *dev;
    weft_device_info info;
    const weft_backend *real;
    weft_backend spy;
    bool is_full;
    /* the op under test; OP_COUNT while cases.c runs, and then the CPU may step in as for a user */
    weft_op op;
    int64_t n_cases, n_runs, n_failed, n_skipped;
    tally variants[MAX_VARIANTS];
    tally skips[MAX_VARIANTS]; /* dtypes without a kernel */
    /* what the spy saw of the last call */
    bool is_dry;   /* only look at the call, do not run it */
    bool is_table; /* nothing runs: calls are noted for docs/OPS.md */
    const char *exact[MAX_VARIANTS], *fast[MAX_VARIANTS];
    int n_exact, n_fast;
    bool has_no_kernel;
    bool has_failed_fast; /* allocations of a fast call were made to fail */
    /* all ops */
    int64_t total_cases, total_runs, total_skipped;
} R;

weft_device *run_device(void) { return R.dev; }

bool run_is_cpu(void) { return R.info.kind == WEFT_KIND_CPU; }

bool run_is_full(void) { return R.is_full; }

static void count(tally *list, const char *name) {
    for (int i = 0; i < MAX_VARIANTS; i++) {
        if (!list[i].name) list[i].name = strdup(name);
        if (strcmp(list[i].name, name) != 0) continue;
        list[i].n++;
        return;
    }
}

static void clear(tally *list) {
    for (int i = 0; i < MAX_VARIANTS; i++) free((void *)(uintptr_t)list[i].name);
    memset(list, 0, MAX_VARIANTS * sizeof *list);
}

/* ---- the spy --------------------------------------------------------------------------------- */

static bool spy_can_run(void *state, const weft_call *call) {
    return R.op < OP_COUNT || R.real->can_run(state, call);
}

static weft_status spy_run(void *state, const weft_call *call) {
    if (R.is_table && call->op == R.op) {
        table_note(call, R.real->can_run(state, call));
        return error_set(WEFT_UNSUPPORTED, "not run");
    }
    if (!R.real->can_run(state, call)) {
        R.has_no_kernel = true;
        return error_set(WEFT_UNSUPPORTED, "no kernel for %s", op_name(call->op));
    }
    if (!R.is_dry || call->op != R.op) return R.real->run(state, call);
    weft_call other = *call;
    other.precision = WEFT_EXACT;
    R.n_exact = R.real->variants(state, &other, R.exact, MAX_VARIANTS);
    other.precision = WEFT_FAST;
    R.n_fast = R.real->variants(state, &other, R.fast, MAX_VARIANTS);
    return WEFT_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int64_t elements(weft_shape shape) {
    int64_t n = 1;
    for (int d = 0; d < shape.rank; d++) n *= shape.dim[d];
    return n;
}

enum { N_BLOCKS = 61, MAX_BLOCK_BYTES = 512 };

/* A block of random bits whose values are finite and between a thousandth and a thousand at their
 * largest; of each dtype, as many are found as are needed for variety. */
static const uint8_t *random_block(weft_dtype dtype, rng *r) {
    static uint8_t blocks[WEFT_DTYPE_NUMBERS][N_BLOCKS][MAX_BLOCK_BYTES];
    static bool is_found[WEFT_DTYPE_NUMBERS][N_BLOCKS];
    const dtype_info *type = dtype_find(dtype);
    int64_t which = rng_below(r, N_BLOCKS);
    uint8_t *block = blocks[dtype][which];
    float v[256];
    for (int tries = 0; tries < 20000 && !is_found[dtype][which]; tries++) {
        for (int i = 0; i < type->bytes; i++) block[i] = (uint8_t)rng_next(r);
        format_find(dtype)->decode(block, v, type->block);
        float top = 0;
        for (int i = 0; i < type->block; i++) top = fabsf(v[i]) <= top ? top : fabsf(v[i]);
        is_found[dtype][which] = top > 1e-3f && top < 1e3f;
    }
    if (!is_found[dtype][which]) fail_msg("no finite random block of %s was found", type->name);
    return block;
}

static void *make_raw(const op_input *in, rng *r) {
    const dtype_info *type = dtype_find(in->dtype);
    int64_t n = elements(in->shape);
    uint8_t *raw = malloc((size_t)(n / type->block * type->bytes) + 1);
    if (in->fill == FILL_BITS) {
        for (int64_t i = 0; i < n / type->block; i++)
            memcpy(raw + i * type->bytes, random_block(in->dtype, r), (size_t)type->bytes);
        return raw;
    }
    double *v = malloc((size_t)(n + 1) * sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        switch (in->fill) {
        case FILL_NORMAL: v[i] = in->a * rng_normal(r) + in->b; break;
        case FILL_RANGE: v[i] = in->a + (double)rng_below(r, (int64_t)(in->b - in->a)); break;
        default: v[i] = in->list[i % in->n]; break;
        }
    }
    encode(in->dtype, v, n, raw);
    free(v);
    return raw;
}

static array array_of(weft_dtype dtype, weft_shape shape, const void *raw) {
    array a = {.dtype = dtype, .shape = shape, .n = elements(shape)};
    a.v = malloc((size_t)(a.n + 1) * sizeof *a.v);
    decode(dtype, raw, a.n, a.v);
    int64_t block = dtype_find(dtype)->block;
    if (block > 1) a.block_top = calloc((size_t)a.n, sizeof *a.v);
    for (int64_t i = 0; block > 1 && i < a.n; i++)
        for (int64_t j = i / block * block; j < (i / block + 1) * block; j++)
            a.block_top[i] = fmax(a.block_top[i], fabs(a.v[j]));
    return a;
}

static void array_free(array *a) {
    free(a->v);
    free(a->block_top);
    *a = (array){0};
}

void ref_out(ref_call *c, weft_dtype dtype, weft_shape shape) {
    c->out = (array){.dtype = dtype, .shape = shape, .n = elements(shape)};
    c->out.v = calloc((size_t)c->out.n + 1, sizeof *c->out.v);
    c->err = calloc((size_t)c->out.n + 1, sizeof *c->err);
}

double ref_sum_cost(int64_t n) { return (double)(n < 64 ? n : 64) + ceil((double)n / 64) + 2; }

/* ---- the bound ------------------------------------------------------------------------------- */

static bool is_within(weft_dtype dtype, double got, double ref, double err) {
    if (isnan(ref)) return isnan(got);
    if (isnan(got)) return false;
    if (err < 0 || dtype == WEFT_I32) return got == round_to(dtype, ref); /* exact */
    double rtol = dtype == WEFT_F16 ? 0x1p-11 : dtype == WEFT_BF16 ? 0x1p-8 : EPS;
    double atol = dtype == WEFT_F16 ? 0x1p-25 : 0x1p-126; /* f32: denormals may be flushed */
    double tolerance = atol + rtol * fabs(ref) + err;
    if (isinf(got)) return signbit(got) == signbit(ref) && isinf(round_to(dtype, fabs(ref) + err));
    if (isinf(round_to(dtype, fabs(ref) - err))) return false;
    return fabs(got - ref) <= tolerance;
}

/* ---- layouts --------------------------------------------------------------------------------- */

typedef enum alias_kind { APART, SAME, OVERLAP, HALVES } alias_kind;

typedef struct combo {
    const char *name;
    place_kind kind, output;
    unsigned inputs; /* the inputs that have `kind`, a bit each; the others are plain */
    alias_kind alias;
} combo;

static const combo combos[] = {
    {"plain", PLAIN, OUTPUT, ~0u, APART},
    {"offset", OFFSET, OFFSET, ~0u, APART},
    {"permuted", PERMUTED, PERMUTED, ~0u, APART},
    {"gaps", GAPS, GAPS, ~0u, APART},
    {"broadcast first", BROADCAST, OUTPUT, 1, APART},
    {"permuted second", PERMUTED, OUTPUT, 2, APART},
    {"same twice", PLAIN, OUTPUT, ~0u, SAME},
    {"broadcast second", BROADCAST, PERMUTED, 2, APART},
    {"overlapping", PLAIN, OUTPUT, ~0u, OVERLAP},
    {"permuted first", PERMUTED, GAPS, 1, APART},
    {"halves of one", PLAIN, OUTPUT, ~0u, HALVES},
};
enum { N_COMBOS = sizeof combos / sizeof *combos };

static bool is_plain_value(const op_input *in) {
    return !in->is_absent && !in->is_index && !dtype_find(in->dtype)->is_quantized;
}

/* The first of two neighbouring inputs that could be one tensor; -1 when there is none. */
static int alias_pair(const op_case *c, int n_in) {
    for (int i = 0; i + 1 < n_in; i++) {
        const op_input *a = &c->in[i], *b = &c->in[i + 1];
        bool same = is_plain_value(a) && is_plain_value(b) && a->dtype == b->dtype &&
                    a->shape.rank == b->shape.rank;
        for (int d = 0; same && d < a->shape.rank; d++) same = a->shape.dim[d] == b->shape.dim[d];
        if (same && a->shape.rank > 0 && !(i == 0 && ops[R.op].test->writes_first)) return i;
    }
    return -1;
}

static bool has_layout(const op_case *c, const combo *b, int i) {
    const op_input *in = &c->in[i];
    if (in->is_absent || !(b->inputs >> i & 1)) return false;
    if (b->kind == OFFSET) return true;
    if (in->is_index || (i == 0 && ops[R.op].test->writes_first)) return false;
    return place_fits(in->dtype, in->shape, b->kind);
}

static bool combo_applies(const op_case *c, const combo *b) {
    if (b->alias != APART) return alias_pair(c, ops[R.op].n_in) >= 0;
    for (int i = 0; i < ops[R.op].n_in; i++)
        if (has_layout(c, b, i)) return true;
    return b->kind == PLAIN;
}

/* ---- one case in one layout ------------------------------------------------------------------ */

typedef struct setting {
    const op_case *c;
    const combo *b;
    placed in[CALL_MAX_INPUTS];
    array arrays[CALL_MAX_INPUTS];
    weft_tensor *tensors[CALL_MAX_INPUTS];
    void *first_raw; /* of input 0, for ops that write it */
    bool was_aliased[CALL_MAX_INPUTS];
} setting;

static weft_shape with_last(weft_shape shape, int64_t last) {
    shape.dim[shape.rank - 1] = last;
    return shape;
}

static void describe(const setting *s, const char *variant, char *out, size_t cap) {
    int n = snprintf(out, cap, "%s", ops[R.op].name);
    for (int i = 0; i < ops[R.op].n_in; i++) {
        const op_input *in = &s->c->in[i];
        if (in->is_absent) continue;
        n += snprintf(out + n, cap - (size_t)n, " %s(", weft_dtype_name(in->dtype));
        for (int d = 0; d < in->shape.rank; d++)
            n += snprintf(out + n, cap - (size_t)n, "%s%lld", d ? "," : "",
                          (long long)in->shape.dim[d]);
        n += snprintf(out + n, cap - (size_t)n, ")");
    }
    snprintf(out + n, cap - (size_t)n, "%s%s, %s, variant %s", s->c->name ? ", " : "",
             s->c->name ? s->c->name : "", s->b->name, variant);
}

static void failed(const setting *s, const char *variant, const char *format, ...) {
    char what[400], where[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    describe(s, variant, where, sizeof where);
    if (R.n_failed++ < MAX_SHOWN) print_error("%s: %s\n", where, what);
}

/* Two neighbouring inputs over one tensor. */
static void place_pair(setting *s, int i, rng *r) {
    op_input in = s->c->in[i];
    int64_t last = in.shape.dim[in.shape.rank - 1], n = elements(in.shape);
    weft_shape one_shape = in.shape;
    if (s->b->alias == HALVES) in.shape = with_last(in.shape, 2 * last);
    if (s->b->alias == OVERLAP) in.shape = weft_1d(n + n / 2);
    void *raw = make_raw(&in, r);
    placed p = place_new(R.dev, in.dtype, in.shape, PLAIN);
    place_write(&p, raw);
    for (int k = 0; k < 2; k++) {
        weft_tensor *view = p.parent;
        if (s->b->alias == HALVES) view = weft_slice(p.parent, -1, k * last, last);
        if (s->b->alias == OVERLAP)
            view = weft_reshape(weft_slice(p.parent, 0, k * (n / 2), n), one_shape);
        s->in[i + k] = place_alias(&p, view);
        s->tensors[i + k] = view;
        uint8_t *part = malloc((size_t)(n * dtype_find(in.dtype)->bytes) + 1);
        for (int64_t e = 0; e < n; e++) { /* the same values, seen from the host */
            int64_t from = s->b->alias == HALVES
                               ? e / (last ? last : 1) * 2 * last + k * last + e % (last ? last : 1)
                           : s->b->alias == OVERLAP ? k * (n / 2) + e
                                                    : e;
            memcpy(part + e * dtype_find(in.dtype)->bytes,
                   (uint8_t *)raw + from * dtype_find(in.dtype)->bytes,
                   (size_t)dtype_find(in.dtype)->bytes);
        }
        s->arrays[i + k] = array_of(in.dtype, one_shape, part);
        s->was_aliased[i + k] = true;
        free(part);
    }
    free(raw);
    place_free(&p);
}

/* Repeats the values along the axis that a BROADCAST view repeats. */
static void repeat(void *raw, const op_input *in) {
    int axis = place_broadcast_axis(in->shape);
    size_t bytes = (size_t)dtype_find(in->dtype)->bytes;
    int64_t inner = 1, size = in->shape.dim[axis];
    for (int d = axis + 1; d < in->shape.rank; d++) inner *= in->shape.dim[d];
    for (int64_t i = 0; i < elements(in->shape); i++) {
        int64_t from = i / (inner * size) * (inner * size) + i % inner;
        memmove((char *)raw + (size_t)i * bytes, (char *)raw + (size_t)from * bytes, bytes);
    }
}

static void place_one(setting *s, int i, rng *r) {
    const op_input *in = &s->c->in[i];
    bool is_laid = has_layout(s->c, s->b, i);
    place_kind kind = is_laid ? s->b->kind : PLAIN;
    if (i == 0 && ops[R.op].test->writes_first) kind = OUTPUT;
    void *raw = make_raw(in, r);
    if (kind == BROADCAST) repeat(raw, in);
    s->in[i] = place_new(R.dev, in->dtype, in->shape, kind);
    place_write(&s->in[i], raw);
    s->tensors[i] = s->in[i].view;
    s->arrays[i] = array_of(in->dtype, in->shape, raw);
    if (i == 0) s->first_raw = raw;
    else free(raw);
}

static void compare(const setting *s, const char *variant, const ref_call *ref, const void *data) {
    const array *want = &ref->out;
    double *got = malloc((size_t)(want->n + 1) * sizeof *got);
    decode(want->dtype, data, want->n, got);
    int64_t n_wrong = 0, first = -1;
    for (int64_t i = 0; i < want->n; i++) {
        if (is_within(want->dtype, got[i], want->v[i], ref->err[i])) continue;
        if (n_wrong++ == 0) first = i;
    }
    if (n_wrong)
        failed(s, variant,
               "%lld of %lld wrong; element %lld is %.9g, not %.9g (allowed error %.3g)",
               (long long)n_wrong, (long long)want->n, (long long)first, got[first], want->v[first],
               ref->err[first]);
    free(got);
}

/* A place for the result, poisoned. */
static placed make_output(setting *s, const ref_call *ref, bool *may_lie_anyhow) {
    const op_test *test = ops[R.op].test;
    *may_lie_anyhow =
        test->has_any_output && place_fits(ref->out.dtype, ref->out.shape, s->b->output);
    if (test->writes_first) {
        place_write(&s->in[0], s->first_raw);
        return s->in[0];
    }
    placed out =
        place_new(R.dev, ref->out.dtype, ref->out.shape, *may_lie_anyhow ? s->b->output : OUTPUT);
    place_write(&out, NULL);
    return out;
}

/* Runs the op once into poisoned memory; a dry run only learns the variants. */
static void run_variant(setting *s, const char *variant, const ref_call *ref) {
    const op_test *test = ops[R.op].test;
    bool may_lie_anyhow;
    placed out = make_output(s, ref, &may_lie_anyhow);
    R.has_no_kernel = false;
    weft_tensor *result = op_run(R.op, ops[R.op].n_in, s->tensors, &s->c->attrs, out.view);
    if (!R.is_table && !R.has_no_kernel && weft_tensor_status(result) != WEFT_OK) {
        failed(s, variant, "%s", weft_tensor_message(result));
    } else if (!R.is_table && !R.has_no_kernel && !R.is_dry) {
        void *data = malloc((size_t)tensor_row_bytes(ref->out.dtype, ref->out.n) + 1);
        const char *wrong = place_read(&out, data, !may_lie_anyhow && !test->writes_first);
        if (wrong) failed(s, variant, "%s", wrong);
        else compare(s, variant, ref, data);
        free(data);
        count(R.variants, variant);
        R.n_runs++;
    }
    if (!test->writes_first) place_free(&out);
}

static void run_api(setting *s, const ref_call *ref) {
    weft_tensor *y = ops[R.op].test->api(s->tensors, &s->c->attrs, s->c);
    if (weft_tensor_status(y) != WEFT_OK) {
        failed(s, "public function", "%s", weft_tensor_message(y));
        return;
    }
    size_t bytes = (size_t)tensor_row_bytes(ref->out.dtype, ref->out.n);
    if (weft_tensor_dtype(y) != ref->out.dtype || weft_bytes(y) != bytes) {
        failed(s, "public function", "gave %lld elements of %s", (long long)weft_elements(y),
               weft_dtype_name(weft_tensor_dtype(y)));
        return;
    }
    void *data = malloc(bytes + 1);
    if (weft_read(y, data, bytes) != WEFT_OK) failed(s, "public function", "%s", weft_message());
    else compare(s, "public function", ref, data);
    free(data);
}

/* Lets each allocation of a call fail in turn: an error tensor or the right result, never a fault.
 * */
static void fail_allocations(setting *s) {
    for (uint64_t k = 1; k < 1000; k++) {
        mem_fail_at(k);
        weft_tensor *y = ops[R.op].test->api(s->tensors, &s->c->attrs, s->c);
        bool has_failed = mem_fail_at(0) >= k;
        weft_status status = weft_tensor_status(y);
        if (status != WEFT_OK && status != WEFT_NO_MEMORY)
            failed(s, "failing allocation", "%s", weft_tensor_message(y));
        if (!has_failed) break;
    }
}

static void note_missing(const setting *s) {
    char dtypes[200] = "";
    size_t n = 0;
    for (int i = 0; i < ops[R.op].n_in; i++)
        if (!s->c->in[i].is_absent)
            n += (size_t)snprintf(dtypes + n, sizeof dtypes - n, "%s%s", n ? ", " : "",
                                  weft_dtype_name(s->c->in[i].dtype));
    if (s->c->out != s->c->in[0].dtype && R.op == OP_copy)
        snprintf(dtypes + n, sizeof dtypes - n, " to %s", weft_dtype_name(s->c->out));
    count(R.skips, dtypes);
    R.n_skipped++;
}

static ref_call reference(const setting *s, bool is_fast) {
    ref_call ref = {.attrs = s->c->attrs, .is_fast = is_fast};
    for (int i = 0; i < ops[R.op].n_in; i++)
        ref.in[i] = s->c->in[i].is_absent ? NULL : &s->arrays[i];
    if (R.op == OP_copy)
        ref.out.dtype = s->c->out; /* copy's reference reads the wanted dtype here */
    ops[R.op].test->ref(&ref);
    return ref;
}

static void ref_free(ref_call *ref) {
    array_free(&ref->out);
    free(ref->err);
}

static bool is_among(const char *name, const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* A dry run tells the variants; then each of them runs. A fast call runs those that an exact one
 * has not. */
static void run_variants(setting *s, const ref_call *exact) {
    void *state = device_state(R.dev);
    R.n_exact = R.n_fast = 0;
    R.is_dry = true;
    run_variant(s, "any", exact);
    R.is_dry = false;
    if (R.is_table) return;
    if (R.has_no_kernel) {
        note_missing(s);
        return;
    }
    for (int i = 0; i < R.n_exact; i++) {
        R.real->select(state, R.exact[i]);
        run_variant(s, R.exact[i], exact);
    }
    R.real->select(state, NULL);
    if (s->b->kind == PLAIN && s->b->alias == APART) run_api(s, exact);
    if (R.n_cases == 0 && s->b->kind == PLAIN && run_is_cpu()) fail_allocations(s);
    ref_call loose = {0};
    R.dev->precision = WEFT_FAST;
    if (R.n_fast && !is_among(R.fast[0], R.exact, R.n_exact) && run_is_cpu() &&
        s->b->kind == PLAIN && !R.has_failed_fast) {
        R.has_failed_fast = true; /* once an op */
        fail_allocations(s);
    }
    for (int i = 0; i < R.n_fast; i++) {
        if (is_among(R.fast[i], R.exact, R.n_exact)) continue;
        if (!loose.err) loose = reference(s, true);
        R.real->select(state, R.fast[i]);
        run_variant(s, R.fast[i], &loose);
    }
    R.real->select(state, NULL);
    R.dev->precision = WEFT_EXACT;
    ref_free(&loose);
}

static void run_combo(const op_case *c, const combo *b, uint64_t seed) {
    setting s = {.c = c, .b = b};
    rng r = {seed};
    int n_in = ops[R.op].n_in, pair = b->alias != APART ? alias_pair(c, n_in) : -1;
    assert_ok(weft_scope_push(R.dev));
    if (pair >= 0) place_pair(&s, pair, &r);
    for (int i = 0; i < n_in; i++)
        if (!c->in[i].is_absent && !s.was_aliased[i]) place_one(&s, i, &r);
    ref_call ref = reference(&s, false);
    run_variants(&s, &ref);
    for (int i = 0; i < n_in; i++) {
        if (c->in[i].is_absent) continue;
        bool is_written = i == 0 && ops[R.op].test->writes_first;
        const char *wrong = is_written ? NULL : place_read(&s.in[i], NULL, false);
        if (wrong) failed(&s, "all", "input %d: %s", i, wrong);
        place_free(&s.in[i]);
        array_free(&s.arrays[i]);
    }
    ref_free(&ref);
    free(s.first_raw);
    assert_ok(weft_scope_pop(R.dev));
}

void run_case(const op_case *c) {
    int n = 0, which[N_COMBOS];
    for (int i = 0; i < N_COMBOS; i++)
        if (combo_applies(c, &combos[i])) which[n++] = i;
    /* Not full: the plain layout and one other, taken in turn by the cases. */
    for (int i = 0; i < n; i++) {
        bool is_taken =
            R.is_table ? i == 0
                       : R.is_full || i == 0 || i == 1 + (int)(R.n_cases % (n > 1 ? n - 1 : 1));
        if (is_taken) run_combo(c, &combos[which[i]], (uint64_t)(R.n_cases * 64 + i + 1));
    }
    R.n_cases++;
}

/* ---- the program ----------------------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "Tests run every candidate": the rows of this op that need no optional feature must have run. */
static void check_rows_ran(void) {
#ifdef WEFT_HAVE_WEBGPU
    for (int i = 0; i < n_kernel_rows && !run_is_cpu(); i++) {
        const kernel_row *row = &kernel_rows[i];
        bool has_run = false;
        for (int k = 0; k < MAX_VARIANTS && R.variants[k].name; k++)
            has_run = has_run || !strcmp(R.variants[k].name, row->name);
        if (row->op != R.op || has_run) continue;
        if (!(row->needs & ~(uint32_t)F_FLAG)) fail_msg("no case runs the kernel %s", row->name);
        printf("SKIPPED: %s: this adapter lacks a feature or no case fits\n", row->name);
    }
#endif
}

static void run_op(void **state) {
    R.op = (weft_op)(uintptr_t)*state;
    R.n_cases = R.n_runs = R.n_failed = R.n_skipped = 0;
    R.has_failed_fast = false;
    double start = now();
    ops[R.op].test->cases();
    printf("%s: %lld cases, %lld runs (", ops[R.op].name, (long long)R.n_cases,
           (long long)R.n_runs);
    for (int i = 0; R.variants[i].name; i++)
        printf("%s%s %lld", i ? ", " : "", R.variants[i].name, (long long)R.variants[i].n);
    printf("), %.1f s\n", now() - start);
    if (R.skips[0].name) printf("SKIPPED: no kernel of %s on %s for", ops[R.op].name, R.info.name);
    for (int i = 0; R.skips[i].name; i++)
        printf("%s (%s), %lld times%s", i ? ";" : "", R.skips[i].name, (long long)R.skips[i].n,
               R.skips[i + 1].name ? "" : "\n");
    if (R.n_runs) check_rows_ran();
    clear(R.variants);
    clear(R.skips);
    R.total_cases += R.n_cases;
    R.total_runs += R.n_runs;
    R.total_skipped += R.n_skipped;
    if (R.n_failed) fail_msg("%lld checks failed", (long long)R.n_failed);
    if (run_is_cpu() && R.n_skipped) fail_msg("the CPU backend must run everything");
    if (R.n_runs == 0) fail_msg("nothing of this op could run on %s", R.info.name);
}

/* docs/OPS.md: which dtypes each op takes on which backend, as the cases find it. */
static void write_table(void) {
    R.is_table = true;
    table_begin();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        R.op = (weft_op)i;
        R.n_cases = 0;
        ops[i].test->cases();
        table_end_op(ops[i].name);
    }
    R.is_table = false;
}

/* Whatever a failed test left open. */
static int end_op(void **state) {
    (void)state;
    R.op = OP_COUNT;
    R.is_dry = false;
    R.dev->precision = WEFT_EXACT;
    while (R.dev->scope->parent) weft_scope_pop(R.dev);
    return R.real->select(device_state(R.dev), NULL) == WEFT_OK ? 0 : -1;
}

static int open_device(bool is_quiet) {
    const char *name = getenv("WEFT_TEST_DEVICE");
    R.dev = weft_open(&(weft_device_desc){.name = name && *name ? name : "cpu"});
    if (!R.dev) {
        printf("SKIPPED: %s cannot be opened: %s\n", name, weft_message());
        return getenv("WEFT_TEST_STRICT") ? 1 : 77;
    }
    weft_get_device_info(R.dev, &R.info);
    if (!is_quiet) printf("device %s: %s, %s\n", R.info.name, R.info.adapter, R.info.library);
    R.op = OP_COUNT;
    R.real = R.dev->backend;
    R.spy = *R.real;
    R.spy.can_run = spy_can_run;
    R.spy.run = spy_run;
    R.dev->backend = &R.spy;
    return 0;
}

/* test_ops [--full] [--list] [--table] [PATTERN]: tests whose name matches (*, ?), ops by name, and
 * the cases of cases.c. */
int main(int argc, char **argv) {
    R.is_full = getenv("WEFT_TEST_FULL") != NULL;
    const char *pattern = NULL;
    bool is_list = false, is_table = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--full")) R.is_full = true;
        else if (!strcmp(argv[i], "--list")) is_list = true;
        else if (!strcmp(argv[i], "--table")) is_table = true;
        else pattern = argv[i];
    }
    size_t n_ops = sizeof ops / sizeof *ops, n = n_ops + n_bug_cases;
    struct CMUnitTest *tests = calloc(n, sizeof *tests);
    for (size_t i = 0; i < n_ops; i++)
        tests[i] = (struct CMUnitTest){.name = ops[i].name,
                                       .test_func = run_op,
                                       .teardown_func = end_op,
                                       .initial_state = (void *)i};
    memcpy(tests + n_ops, bug_cases, n_bug_cases * sizeof *tests);
    for (size_t i = 0; is_list && i < n; i++) printf("%s\n", tests[i].name);
    int status = is_list ? 0 : open_device(is_table);
    if (is_table && status == 0) {
        write_table();
    } else if (!is_list && status == 0) {
        if (pattern) cmocka_set_test_filter(pattern);
        status = _cmocka_run_group_tests("ops", tests, n, NULL, NULL);
        printf("ops on %s: %lld cases, %lld runs, %lld without a kernel, %d tests failed\n",
               R.info.name, (long long)R.total_cases, (long long)R.total_runs,
               (long long)R.total_skipped, status);
        R.dev->backend = R.real;
        weft_close(R.dev);
    }
    free(tests);
    return status;
}
