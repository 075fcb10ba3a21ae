/* A C program outside the tree: what a user of the installed library writes first. It adds two
 * tensors on the CPU and exits with 0 when the sum is right and the library is the version that
 * the headers came with. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

int main(void) {
    printf("weft %s, %s\n", weft_version(), weft_status_text(WEFT_OK));
    weft_device_desc desc = {.name = "cpu"};
    weft_device *dev = weft_open(&desc);
    float x[3] = {1, 2, 3}, y[3] = {10, 20, 30}, sum[3] = {0};
    weft_tensor *a = weft_from(dev, WEFT_F32, weft_1d(3), x);
    weft_tensor *b = weft_from(dev, WEFT_F32, weft_1d(3), y);
    if (weft_read(weft_add(a, b), sum, sizeof sum) != WEFT_OK) puts(weft_message());
    weft_close(dev);
    return sum[0] != 11 || sum[1] != 22 || sum[2] != 33 ||
           strcmp(weft_version(), EXPECTED_VERSION) != 0;
}
