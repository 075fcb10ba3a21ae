// The same from C++: the headers are usable there, descriptors too, and the names are C's.
// SPDX-License-Identifier: MIT
#include <string>
#include <weft/llm.h>
#include <weft/weft.h>

int main() {
    weft_device_desc desc = {};
    desc.name = "cpu";
    weft_device *dev = weft_open(&desc);
    float x[3] = {1, 2, 3}, sum[3] = {};
    weft_tensor *a = weft_from(dev, WEFT_F32, weft_1d(3), x);
    weft_status status = weft_read(weft_add(a, a), sum, sizeof sum);
    weft_close(dev);
    return status != WEFT_OK || sum[2] != 6 || std::string(weft_version()) != EXPECTED_VERSION;
}
