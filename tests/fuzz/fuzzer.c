/**
 * @file fuzzer.c
 * One of the targets for libFuzzer; FUZZ_TARGET is its function.
 */
#include "base/program.h"
#include "tests/fuzz/targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static void *mark; /* what the first input has kept may be used again */
    if (mark == NULL)
        dsgd_program_begin();
    FUZZ_TARGET(bytes, n);
    dsgd_drop(mark = mark == NULL ? dsgd_mark() : mark);
    return 0;
}
