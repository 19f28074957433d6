/**
 * @file inject.c
 * The table of calls, and the process that watches them.
 */
#include "tests/faults/inject.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/program.h"

#ifdef SYS_open
#define IF_OLD(number) (number)
#else
#define IF_OLD(number) -1 /* newer machines lack it */
#define SYS_open -1
#define SYS_rename -1
#define SYS_unlink -1
#define SYS_rmdir -1
#define SYS_mkdir -1
#define SYS_fork -1
#define SYS_vfork -1
#define SYS_pipe -1
#define SYS_access -1
#define SYS_stat -1
#define SYS_lstat -1
#define SYS_newfstatat SYS_fstatat
#define SYS_dup2 -1
#define SYS_poll -1
#define SYS_readlink -1
#define SYS_getdents -1
#endif

const inject_call inject_calls[] = {
    {"open", {SYS_openat, SYS_open, -1, -1}, {EMFILE, EINTR, EACCES}, '1'},
    {"read", {SYS_read, SYS_pread64, SYS_readv, -1}, {EIO, EINTR, INJECT_SHORT}, 'd'},
    {"write",
     {SYS_write, SYS_writev, SYS_pwrite64, -1},
     {ENOSPC, EINTR, INJECT_SHORT, EPIPE, EAGAIN},
     'd'},
    {"fsync", {SYS_fsync, SYS_fdatasync, -1, -1}, {EIO, EINTR}, 'd'},
    {"rename", {SYS_rename, SYS_renameat, SYS_renameat2, -1}, {EIO}, '0'},
    {"unlink", {SYS_unlink, SYS_unlinkat, SYS_rmdir, -1}, {EACCES}, '0'},
    {"mkdir", {SYS_mkdir, SYS_mkdirat, -1, -1}, {ENOSPC}, '0'}, /* of mkdtemp, too */
    {"stat", {SYS_newfstatat, SYS_fstat, SYS_statx, -1}, {EIO}, '1'},
    {"access", {SYS_access, SYS_faccessat, SYS_faccessat2, -1}, {EACCES}, '0'},
    {"readlink", {SYS_readlink, SYS_readlinkat, -1, -1}, {EACCES}, '0'},
    {"getdents", {SYS_getdents64, SYS_getdents, -1, -1}, {EIO}, 'd'},
    {"lseek", {SYS_lseek, -1, -1, -1}, {EIO}, 'd'},
    {"dup", {SYS_dup2, SYS_dup3, SYS_dup, -1}, {EMFILE}, 'd'},
    {"fcntl", {SYS_fcntl, -1, -1, -1}, {EINVAL}, 'd'},
    {"flock", {SYS_flock, -1, -1, -1}, {ENOLCK, EINTR}, 'd'},
    {"fork", {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork}, {EAGAIN}, ' '}, /* popen, threads */
    {"exec", {SYS_execve, -1, -1, -1}, {ENOENT}, '0'},
    {"pipe", {SYS_pipe2, SYS_pipe, -1, -1}, {EMFILE}, ' '},
    {"wait", {SYS_wait4, SYS_waitid, -1, -1}, {EINTR}, ' '},
    {"poll", {SYS_poll, SYS_ppoll, -1, -1}, {EINTR}, ' '},
    {"sleep", {SYS_clock_nanosleep, SYS_nanosleep, -1, -1}, {EINTR}, ' '},
    {"kill", {SYS_kill, SYS_tgkill, -1, -1}, {EPERM}, ' '},
    {"prctl", {SYS_prctl, -1, -1, -1}, {EINVAL}, ' '},
    {"mmap", {SYS_mmap, -1, -1, -1}, {ENOMEM}, ' '},
    {"mprotect", {SYS_mprotect, -1, -1, -1}, {ENOMEM}, ' '},
    {"malloc", {-1, SHIM_MALLOC, -1, -1}, {INJECT_SITES}, ' '},
    {"close", {-1, SHIM_CLOSE, -1, -1}, {EIO}, ' '},
    {"fclose", {-1, SHIM_FCLOSE, -1, -1}, {ENOSPC}, ' '},
};
const size_t inject_n_calls = sizeof inject_calls / sizeof inject_calls[0];

const char *inject_way_name(int way)
{
    return way == INJECT_SHORT ? "short" : way == INJECT_SITES ? "ENOMEM" : strerrorname_np(way);
}

/* --- in the process of the program ------------------------------------------------------------ */

static void add(struct sock_filter *filter, size_t *n, struct sock_filter step)
{
    filter[(*n)++] = step;
}

/** Calls of these rows go to the watching process. A fault's own row is enough, and faster. */
static int install(const inject_fault *fault)
{
    enum { MOST = 2 * 4 * INJECT_MOST_CALLS + 8 };
    struct sock_filter filter[MOST];
    size_t n = 0;
    add(filter, &n, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0));
    for (size_t c = 0; c < inject_n_calls; c++)
        for (int k = 0; k < 4 && inject_calls[c].numbers[0] >= 0; k++) {
            const long number = inject_calls[c].numbers[k];
            if (number < 0 || (fault->call != inject_n_calls && fault->call != c))
                continue;
            add(filter, &n,
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1));
            add(filter, &n, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
        }
    add(filter, &n, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1));
    add(filter, &n, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    add(filter, &n, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const struct sock_fprog program = {(unsigned short)n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

/** Sends a descriptor; sendmsg() is in no row. */
static void send_descriptor(int to, int descriptor)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    _Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    sendmsg(to, &message, 0);
}

/** -1: none came. */
static int receive_descriptor(int from)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    _Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    int descriptor = -1;
    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) <= 0 || CMSG_FIRSTHDR(&message) == NULL)
        return -1;
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    return descriptor;
}

__attribute__((noreturn)) static void
become(const inject_command *command, const inject_fault *fault, const char *shared_path, int line)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    personality(ADDR_NO_RANDOMIZE); /* so that stacks are known again */
    if (chdir(command->folder) != 0)
        _exit(125);
    const int files[] = {open("/dev/null", O_RDONLY),
                         open(command->out, O_WRONLY | O_CREAT | O_TRUNC, 0666),
                         open(command->err, O_WRONLY | O_CREAT | O_TRUNC, 0666)};
    for (int i = 0; i < 3; i++)
        dup2(files[i], i);
    char tmp[4096];
    snprintf(tmp, sizeof tmp, "%s/tmp", command->folder);
    setenv("TMPDIR", tmp, 1);
    setenv("DSGD_DATA", DSGD_SOURCE_DIR, 1);
    setenv("DSGD_FAULTS", shared_path, 1);
    setenv("LD_PRELOAD", DSGD_FAULTS_SHIM, 1);
    signal(SIGPIPE, SIG_DFL);
    const int listener = install(fault);
    if (listener < 0)
        _exit(126);
    send_descriptor(line, listener);
    syscall(SYS_close, listener); /* close() is a row of the shim's, not of the filter */
    execv(command->words[0], (char *const *)command->words);
    _exit(127);
}

/* --- in this process -------------------------------------------------------------------------- */

typedef struct watch {
    const inject_fault *fault;
    inject_result *result;
    const char *folder;
    pid_t first; /* process */
    bool begun; /* its main() */
    int listener;
} watch;

static bool is_program(pid_t thread)
{
    char link[64];
    char path[4096];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)thread);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = '\0';
    return strcmp(path, DSGD_BUILT) == 0;
}

/** The path of a descriptor, or text of the other process, without the folder. */
static void describe(const watch *w, const inject_call *call, const struct seccomp_notif *asked)
{
    char text[4096] = "";
    const pid_t thread = (pid_t)asked->pid;
    if (call->names == 'd') {
        char link[64];
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)thread, (int)asked->data.args[0]);
        const ssize_t n = readlink(link, text, sizeof text - 1);
        text[n < 0 ? 0 : n] = '\0';
        w->result->on_stderr = asked->data.args[0] == 2;
    } else if (call->names != ' ') {
        /* rename(), unlink() and such have the path first, where their newer kin have it second */
        uint64_t at = asked->data.args[0];
        if (at == (uint32_t)AT_FDCWD || at == (uint64_t)AT_FDCWD || call->names == '1')
            at = asked->data.args[1];
        struct iovec here = {text, 256};
        struct iovec there = {(void *)(uintptr_t)at, 256};
        for (size_t n = 256; process_vm_readv(thread, &here, 1, &there, 1, 0) < 0 && n > 8;)
            here.iov_len = there.iov_len = n /= 2; /* up to the end of a page */
        text[255] = '\0';
    }
    const size_t n = strlen(w->folder);
    const char *const path = strncmp(text, w->folder, n) == 0 ? text + n : text;
    snprintf(w->result->where, sizeof w->result->where, "%.100s (%s)", path,
             thread == w->first ? "the program" : "a child or thread");
}

static pid_t process_of(pid_t thread)
{
    char path[64];
    char line[256];
    int process = thread;
    snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
    FILE *const stream = fopen(path, "re");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL)
        if (sscanf(line, "Tgid: %d", &process) == 1)
            break;
    if (stream != NULL)
        fclose(stream);
    return process;
}

/**
 * Reads or writes half of the bytes in the place of the other process. Their number; -1: cannot.
 */
static int64_t do_half(const struct seccomp_notif *asked)
{
    enum { MOST = 1 << 16 };
    static char bytes[MOST];
    const bool writes = asked->data.nr == SYS_write;
    if ((!writes && asked->data.nr != SYS_read) || asked->data.args[2] < 2)
        return -1;
    const size_t half = asked->data.args[2] / 2 < MOST ? asked->data.args[2] / 2 : MOST;
    const int process = (int)syscall(SYS_pidfd_open, process_of((pid_t)asked->pid), 0);
    const int file = (int)syscall(SYS_pidfd_getfd, process, (int)asked->data.args[0], 0);
    struct iovec here = {bytes, half};
    struct iovec there = {(void *)(uintptr_t)asked->data.args[1], half};
    ssize_t n = -1;
    if (file >= 0 && writes && process_vm_readv((pid_t)asked->pid, &here, 1, &there, 1, 0) > 0)
        n = write(file, bytes, half);
    else if (file >= 0 && !writes && (n = read(file, bytes, half)) > 0) {
        here.iov_len = there.iov_len = (size_t)n;
        n = process_vm_writev((pid_t)asked->pid, &here, 1, &there, 1, 0);
    }
    close(file);
    close(process);
    return n;
}

static size_t row_of(int number)
{
    for (size_t c = 0; c < inject_n_calls; c++)
        for (int k = 0; k < 4 && inject_calls[c].numbers[0] >= 0; k++)
            if (inject_calls[c].numbers[k] == number)
                return c;
    return inject_n_calls;
}

/** Decides about one call. */
static void decide(watch *w, const struct seccomp_notif *asked, struct seccomp_notif_resp *answer)
{
    const inject_fault *const fault = w->fault;
    answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (asked->data.nr == SYS_getpgid) {
        w->begun = w->begun || (uint32_t)asked->data.args[0] == SHIM_MARK;
        return;
    }
    const size_t c = row_of(asked->data.nr);
    if (!w->begun || c == inject_n_calls || !is_program((pid_t)asked->pid))
        return;
    const long n = ++w->result->counts[c];
    if (fault->call != c || fault->n != n)
        return;
    describe(w, &inject_calls[c], asked);
    w->result->hit = true;
    const int64_t half = fault->way == INJECT_SHORT ? do_half(asked) : -1;
    if (fault->way == INJECT_SHORT && half < 0) {
        w->result->hit = false;
        return;
    }
    answer->flags = 0;
    answer->val = half < 0 ? 0 : half;
    answer->error = half < 0 ? -fault->way : 0;
}

/** Answers calls until @p until_s; false: no process is left that would ask. */
static bool answer_calls(watch *w, int most_ms)
{
    struct pollfd one = {w->listener, POLLIN, 0};
    if (poll(&one, 1, most_ms) <= 0)
        return true;
    if ((one.revents & POLLIN) == 0)
        return (one.revents & POLLHUP) == 0;
    struct seccomp_notif asked = {0};
    if (ioctl(w->listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
        return errno == EINTR || errno == ENOENT; /* it ended meanwhile */
    struct seccomp_notif_resp answer = {.id = asked.id};
    decide(w, &asked, &answer);
    ioctl(w->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    return true;
}

/** Ends what is left of the program, and counts it. */
static int end_left(pid_t group)
{
    int n = 0;
    const double start_s = dsgd_wall_s();
    pid_t process = 0;
    /* A child that is being killed with its parent takes a moment. */
    while ((process = waitpid(-group, NULL, WNOHANG)) >= 0 && dsgd_wall_s() - start_s < 5)
        if (process == 0)
            nanosleep(&(struct timespec){0, 2 * 1000 * 1000}, NULL);
    if (process < 0)
        return 0;
    kill(-group, SIGKILL);
    while (waitpid(-group, NULL, 0) > 0)
        n++;
    return n;
}

static void watch_all(watch *w)
{
    const double start_s = dsgd_wall_s();
    for (bool asks = true, ended = false; !ended;) {
        if (asks)
            asks = answer_calls(w, 20);
        else
            nanosleep(&(struct timespec){0, 1000 * 1000}, NULL);
        ended = waitpid(w->first, &w->result->state, WNOHANG) != 0;
        if (!ended && dsgd_wall_s() - start_s > INJECT_LIMIT_S) {
            w->result->hangs = true;
            kill(-w->first, SIGKILL);
        }
    }
    close(w->listener); /* calls that come now fail with ENOSYS: of what outlives the program */
    w->result->n_left = end_left(w->first);
}

shim_shared *inject_share(const char *path)
{
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || ftruncate(file, sizeof(shim_shared)) != 0)
        return NULL;
    void *const map = mmap(NULL, sizeof(shim_shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return map == MAP_FAILED ? NULL : map;
}

void inject_run(const inject_command *command, const inject_fault *fault, shim_shared *shared,
                const char *shared_path, inject_result *result)
{
    const inject_call *const call =
        fault->call == inject_n_calls ? NULL : &inject_calls[fault->call];
    const bool by_shim = call != NULL && call->numbers[0] < 0;
    int line[2];
    memset(result, 0, sizeof *result);
    memset(shared, 0, sizeof *shared);
    shared->call = by_shim ? (int)call->numbers[1] : SHIM_CALLS;
    shared->at = fault->site == 0 ? fault->n : 0;
    shared->site = fault->site;
    shared->finds_sites = fault->site != 0 || command->finds_sites;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans come here */
    result->cannot = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0;
    if (result->cannot)
        return;
    fflush(NULL);
    const pid_t process = fork();
    if (process == 0)
        become(command, fault, shared_path, line[1]);
    setpgid(process, process);
    close(line[1]);
    watch w = {fault, result, command->folder, process, false, receive_descriptor(line[0])};
    close(line[0]);
    result->cannot = w.listener < 0;
    if (result->cannot)
        waitpid(process, &result->state, 0);
    else
        watch_all(&w);
    for (size_t c = 0; c < inject_n_calls; c++)
        if (inject_calls[c].numbers[0] < 0)
            result->counts[c] = shared->counts[inject_calls[c].numbers[1]];
    if (by_shim) {
        result->hit = shared->n_hits > 0;
        snprintf(result->where, sizeof result->where, "site %llx", (unsigned long long)fault->site);
    }
}
