/**
 * @file program.c Finds the folder of the executable, handles the start and end of main(), and
 * reads a monotonic clock.
 */
#include "base/program.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

/*
 * Configuration of jemalloc, if the program is linked with it. All threads share the first arena,
 * which exists before main(). Otherwise a thread that finds no memory for its own arena (because of
 * ulimit -d) would end the process by a signal.
 */
extern const char *malloc_conf;
const char *malloc_conf = "narenas:1";

static char *path(void)
{
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    return length < 0 ? NULL : dsgd_xprintf("%.*s", (int)length, program);
}

char *dsgd_program_folder(void)
{
    char *const program = path();
    char *const slash = program == NULL ? NULL : strrchr(program, '/');
    if (slash == NULL)
        return dsgd_xstrdup(".");
    *slash = '\0';
    return program;
}

static void *keep(size_t size)
{
    return dsgd_keep(size, 1);
}

static void leave(void *memory)
{
    (void)memory;
}

static void on_cpu_limit(int number)
{
    static const char sentence[] = "dsgd: the limit of CPU time is reached (ulimit -t)\n";
    (void)number;
    (void)!write(STDERR_FILENO, sentence, sizeof sentence - 1);
    _exit(DSGD_ERUNS);
}

/**
 * Handles limits that would end the process by a signal. At the CPU limit, prints a sentence one
 * second earlier. A write beyond the limit of file sizes becomes an error.
 */
static void speak_of_limits(void)
{
    struct rlimit cpu;
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGXCPU, on_cpu_limit);
    if (getrlimit(RLIMIT_CPU, &cpu) != 0 || cpu.rlim_cur < cpu.rlim_max || cpu.rlim_max < 2)
        return;
    cpu.rlim_cur -= cpu.rlim_cur != RLIM_INFINITY;
    (void)setrlimit(RLIMIT_CPU, &cpu);
}

void dsgd_program_begin(void)
{
    json_set_alloc_funcs(keep, leave);
    speak_of_limits();
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        /* the new descriptor is i, because i is the lowest free descriptor */
        if (fcntl(i, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", O_RDONLY);
}

/* errno of the first failed write to standard output; 0 if no write has failed */
static int why_unwritten;

void dsgd_program_flush(void)
{
    if (fflush(stdout) != 0 && why_unwritten == 0)
        why_unwritten = errno;
}

dsgd_status dsgd_program_end(const char *program, dsgd_status status, const dsgd_error *error)
{
    dsgd_error unread = {""};
    dsgd_program_flush();
    if (status == DSGD_OK && (status = dsgd_file_unread(&unread)) != DSGD_OK)
        error = &unread;
    if (status != DSGD_OK && error->text[0] != '\0')
        fprintf(stderr, "%s: %s\n", program, error->text);
    const bool failed = ferror(stdout) != 0;
    if (fclose(stdout) == 0 && !failed)
        return status;
    errno = why_unwritten != 0 ? why_unwritten : errno;
    fprintf(stderr, "%s: standard output could not be written: %m\n", program);
    return status == DSGD_OK ? DSGD_EIO : status;
}

double dsgd_wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

size_t dsgd_physical_bytes(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}
