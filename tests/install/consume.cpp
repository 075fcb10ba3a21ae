// The same from C++: the header is usable there and its names are C's. SPDX-License-Identifier: MIT
#include <string>
#include <weft/weft.h>

int main() {
    std::string version = weft_version();
    return version != EXPECTED_VERSION;
}
