/**
 * @file fuzzer.c
 * Connects one target to libFuzzer. FUZZ_TARGET is the function of the target.
 */
#include "base/program.h"
#include "tests/fuzz/targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    /* End of the memory that the first input allocated, which is kept for later inputs. */
    static void *mark;
    if (mark == NULL)
        dsgd_program_begin();
    FUZZ_TARGET(bytes, n);
    dsgd_drop(mark = mark == NULL ? dsgd_mark() : mark);
    return 0;
}
