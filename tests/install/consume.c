/* A C program outside the tree: what a user of the installed library writes first. It exits
 * with 0 when the library is the version that the headers came with. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

int main(void) {
    printf("weft %s, %s\n", weft_version(), weft_status_text(WEFT_OK));
    return strcmp(weft_version(), EXPECTED_VERSION) != 0;
}
