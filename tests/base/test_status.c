/**
 * @file test_status.c
 * Tests error messages and memory. If a contract is broken, the program aborts. If memory runs out,
 * the process ends with an error. Files that cannot be read are remembered. The words of a command
 * line are quoted for a shell.
 */
#include "base/status.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static void break_promise(const void *number)
{
    DSGD_ASSERT(1 + 1 == 3, "arithmetic of %d", *(const int *)number);
}

SUITE(status, "status");

TEST(a_broken_assertion_aborts)
{
    const int two = 2;
    support_function_aborts(break_promise, &two, "1 + 1 == 3 does not hold: arithmetic of 2\n");
}

/*
 * SANITIZED is 1 in a build with a sanitizer, because the sanitizer itself ends a process that runs
 * out of memory.
 */
#if defined(DSGD_ADDRESS_SANITIZER) || defined(DSGD_THREAD_SANITIZER)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/**
 * A child process allocates more memory than the machine has. The test checks the message of the
 * child and the files that remain.
 */
TEST_RANGE(memory_that_runs_out_ends_the_process_with_a_sentence, 0, SANITIZED ? 0 : 1)
{
    int ends[2];
    char said[100] = "";
    char *const kept = dsgd_folder_new(NULL, NULL); /* the folder belongs to the parent process */
    char *const unfinished = dsgd_xprintf("%s/unfinished", kept);
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t process = dsgd_fork();
    ck_assert_int_ge(process, 0);
    if (process == 0) {
        dup2(ends[1], STDERR_FILENO);
        dsgd_whole_file file;
        dsgd_whole_open(&file, NULL, "%s", unfinished);
        dsgd_xcalloc(SIZE_MAX / 4, 1);
        _exit(0);
    }
    const int state = dsgd_child_end(process);
    const ssize_t n = read(ends[0], said, sizeof said - 1);
    ck_assert_msg(WIFEXITED(state) && WEXITSTATUS(state) == DSGD_ERUNS, "state %d", state);
    ck_assert_msg(n > 0 && strcmp(said, "dsgd: out of memory\n") == 0, "%s", said);
    ck_assert(dsgd_can_read("%s", kept));
    ck_assert(!dsgd_can_read("%s.new", unfinished));
    close(ends[0]);
    close(ends[1]);
    dsgd_folder_remove(kept);
}

TEST(an_unreadable_file_is_remembered)
{
    char *text = NULL;
    size_t n = 0;
    dsgd_error error = {""};
    ck_assert_int_eq(dsgd_file_read("/there/is/none", &text, &n, NULL), DSGD_EIO);
    ck_assert_int_eq(dsgd_file_unread(&error), DSGD_OK);
    ck_assert_int_eq(dsgd_file_read("/proc/self/mem", &text, &n, NULL), DSGD_EIO);
    ck_assert_int_eq(dsgd_file_unread(&error), DSGD_EIO);
    ck_assert_str_eq(error.text, "/proc/self/mem: the file cannot be read: Input/output error");
}

/* --- kept memory ------------------------------------------------------------------------------ */

static char ended[8]; /* names of the objects that have ended, in the order in which they ended */

static void note_end(void *name)
{
    strcat(ended, name);
}

TEST(kept_memory_is_freed_from_the_newest_to_the_mark)
{
    static char names[][2] = {"a", "b", "c"};
    dsgd_keep_for(note_end, names[0]);
    void *const mark = dsgd_mark();
    char *const text = dsgd_xprintf("%d and %s", 1, "two");
    dsgd_keep_for(note_end, names[1]);
    dsgd_keep_for(note_end, names[2]);
    ck_assert_str_eq(text, "1 and two");
    dsgd_drop(mark);
    ck_assert_str_eq(ended, "cb");
    ck_assert_ptr_eq(dsgd_mark(), mark);
    dsgd_drop(NULL);
    ck_assert_str_eq(ended, "cba");
    ck_assert_ptr_null(dsgd_mark());
}

TEST(kept_memory_grows_and_old_memory_stays)
{
    int *numbers = NULL;
    const int *first = NULL;
    size_t n_moves = 0;
    for (size_t n = 0; n < 1000; n++) {
        const int *const before = numbers;
        numbers = dsgd_keep_more(numbers, n + 1, sizeof *numbers);
        n_moves += numbers != before;
        first = n == 0 ? numbers : first;
        ck_assert_int_eq(numbers[n], 0);
        numbers[n] = (int)n;
    }
    for (int n = 0; n < 1000; n++)
        ck_assert_int_eq(numbers[n], n);
    ck_assert_int_eq(*first, 0);
    /* the array doubles its memory when it is full, so it moves rarely */
    ck_assert_uint_le(n_moves, 11);
    char *text = dsgd_xstrdup("");
    for (int n = 0; n < 1000; n++)
        dsgd_append(&text, "%d,", n);
    ck_assert_uint_eq(strlen(text), 10 * 2 + 90 * 3 + 900 * 4);
    ck_assert_str_eq(text + strlen(text) - 8, "998,999,");
    ck_assert_ptr_eq((void *)((uintptr_t)text % _Alignof(max_align_t)), NULL);
}

static dsgd_status of_three(dsgd_status first, dsgd_status second, int *n)
{
    DSGD_TRY(first);
    ++*n;
    DSGD_TRY(second);
    ++*n;
    return DSGD_OK;
}

TEST(no_call_follows_a_failed_call)
{
    int n = 0;
    ck_assert_int_eq(of_three(DSGD_EIO, DSGD_OK, &n), DSGD_EIO);
    ck_assert_int_eq(n, 0);
    ck_assert_int_eq(of_three(DSGD_OK, DSGD_EUSAGE, &n), DSGD_EUSAGE);
    ck_assert_int_eq(n, 1);
    ck_assert_int_eq(of_three(DSGD_OK, DSGD_OK, &n), DSGD_OK);
    ck_assert_int_eq(n, 3);
}

TEST(words_are_quoted_if_a_shell_would_split_them)
{
    char *command = dsgd_xstrdup("dsgd");
    for (const char *const *word = (const char *const[]){"run", "a b.yaml", "x=[1, 2]", "", "it's",
                                                         "$HOME", "lr=0.1:1:7", NULL};
         *word != NULL; word++)
        dsgd_append_word(&command, *word);
    ck_assert_str_eq(command, "dsgd run 'a b.yaml' 'x=[1, 2]' '' 'it'\\''s' '$HOME' lr=0.1:1:7");
}
