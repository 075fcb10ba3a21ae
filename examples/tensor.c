/* tensor.c: matrices on any GPU in 15 lines. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <weft/weft.h>

int main(void) {
    weft_device *dev = weft_open(NULL);
    float w[6] = {1, 2, 3, 4, 5, 6}, v[3] = {1, 0, -1}, out[2];
    weft_tensor *a = weft_from(dev, WEFT_F32, weft_2d(2, 3), w);
    weft_tensor *x = weft_from(dev, WEFT_F32, weft_1d(3), v);
    weft_tensor *y = weft_silu(weft_matmul(a, x));
    weft_status status = weft_read(y, out, sizeof out);
    if (status) puts(weft_message());
    else printf("silu(A x) = %g %g\n", out[0], out[1]);
    weft_close(dev);
    return status != WEFT_OK;
}
