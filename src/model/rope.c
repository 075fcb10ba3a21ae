/* YaRN (Peng et al. 2023, section 3.4 and appendix A.2): fast pairs keep their angle, slow ones
 * turn `factor` times slower, and between the two lies a ramp. What a pair's angle is divided by
 * depends on the pair alone, so it is computed once, at load. SPDX-License-Identifier: MIT */
#include <math.h>

#include "model/model.h"

/* The (fractional) pair that makes `turns` turns in the context the model was first trained for. */
static double pair_of(const model_params *p, double turns) {
    const double pi = 3.14159265358979323846;
    double length = p->yarn.n_ctx;
    return p->n_rot * log(length / (turns * 2 * pi)) / (2 * log((double)p->rope_base));
}

void model_yarn_factors(const model_params *p, float *factors) {
    double low = fmax(floor(pair_of(p, (double)p->yarn.beta_fast)), 0);
    double high = fmin(ceil(pair_of(p, (double)p->yarn.beta_slow)), p->n_rot - 1);
    double width = high > low ? high - low : 0.001;
    for (int i = 0; i < p->n_rot / 2; i++) {
        double kept = 1 - fmin(fmax((i - low) / width, 0), 1);
        factors[i] = (float)(1 / (kept + (1 - kept) / (double)p->yarn.factor));
    }
}
