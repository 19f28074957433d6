/**
 * @file file.c Reads files, writes files that appear only when they are complete, and makes and
 * removes folders.
 */
#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ENDLESS_BYTES = 64 << 20 };

/**
 * Reads a stream to its end. Returns the number of bytes. Sets errno to 0, or to the reason if
 * reading failed.
 */
static size_t read_all(FILE *stream, char **text)
{
    struct stat facts;
    errno = 0;
    if (fstat(fileno(stream), &facts) != 0)
        return 0;
    const bool is_regular = S_ISREG(facts.st_mode);
    size_t n = 0;
    size_t room = is_regular && facts.st_size > 0 ? (size_t)facts.st_size + 1 : 4096;
    *text = dsgd_keep(room + 1, 1);
    for (size_t more = 0; (more = fread(*text + n, 1, room - n, stream)) > 0;) {
        n += more;
        if (n < room)
            continue;
        if (!is_regular && n > MOST_ENDLESS_BYTES) {
            errno = EFBIG;
            break;
        }
        room *= 2;
        *text = dsgd_keep_more(*text, room + 1, 1);
    }
    (*text)[n] = '\0';
    return n;
}

/**
 * Opens a file for reading. Opens a pipe only if the shell or the system provides it (/dev/stdin,
 * <(...)). Any other pipe may never have a writer. On failure returns NULL, with the reason in
 * errno.
 */
static FILE *open_to_read(const char *path)
{
    struct stat facts;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    if (fstat(descriptor, &facts) != 0 ||
        (S_ISFIFO(facts.st_mode) && strncmp(path, "/dev/", 5) != 0 &&
         strncmp(path, "/proc/", 6) != 0)) {
        close(descriptor);
        errno = ENOTSUP;
        return NULL;
    }
    fcntl(descriptor, F_SETFL, O_RDONLY);
    return fdopen(descriptor, "r");
}

static dsgd_status fail_unread(dsgd_error *error, const char *path)
{
    return dsgd_fail(error, DSGD_EIO, "%s: the file cannot be read: %s", path,
                     errno == ENOTSUP ? "it is a pipe" : strerror(errno));
}

static dsgd_error unread; /* error message about the last file that exists and could not be read */

/**
 * If the file exists, records for dsgd_file_unread() that it could not be read. The reason is in
 * errno, which does not change.
 */
static void note_unread(const char *path)
{
    const int why = errno;
    if (why != ENOENT && why != ENOTDIR && why != EISDIR)
        fail_unread(&unread, path);
    errno = why;
}

dsgd_status dsgd_file_unread(dsgd_error *error)
{
    return unread.text[0] == '\0' ? DSGD_OK : dsgd_fail(error, DSGD_EIO, "%s", unread.text);
}

dsgd_status dsgd_file_read(const char *path, char **text, size_t *length, dsgd_error *error)
{
    *text = NULL;
    *length = 0;
    FILE *const stream = open_to_read(path);
    if (stream != NULL) {
        *length = read_all(stream, text);
        const int why = errno;
        fclose(stream);
        if (why == 0)
            return DSGD_OK;
        *text = NULL;
        errno = why;
    }
    note_unread(path);
    return fail_unread(error, path);
}

bool dsgd_read_line(FILE *stream, char **line, size_t *room)
{
    errno = 0;
    const bool got = getline(line, room, stream) > 0;
    if (!got && errno == ENOMEM)
        dsgd_no_memory();
    if (!got && ferror(stream))
        note_unread("a file of lines");
    return got;
}

bool dsgd_is_file_name(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c == '/' || (unsigned char)*c < ' ' || *c == '\x7f')
            return false;
    return *text != '\0' && *text != '.';
}

size_t dsgd_utf8_length(const char *text, size_t n)
{
    const unsigned char *const s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return s[0] != 0;
    const size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || length > n)
        return 0;
    for (size_t k = 1; k < length; k++)
        if ((s[k] & 0xc0) != 0x80)
            return 0;
    const bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    const bool surrogate = s[0] == 0xed && s[1] >= 0xa0;
    return overlong || surrogate || (s[0] == 0xf4 && s[1] >= 0x90) ? 0 : length;
}

static int n_folders; /* number of temporary folders that exist */

/**
 * Blocks or unblocks SIGPIPE. While it is blocked, a closed output pipe cannot end the program
 * before its temporary folders are removed.
 */
static void let_pipe_break(int how)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    sigprocmask(how, &one, NULL);
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *at)
{
    (void)facts, (void)type, (void)at;
    return remove(path);
}

enum { DESCRIPTORS = 8 }; /* largest number of folders that nftw() keeps open at the same time */

/**
 * Paths that are removed if memory runs out. Each entry contains the process that made the path,
 * because a forked child must not remove the path.
 */
static struct {
    const char *path; /* path of the file or folder; NULL for a free entry */
    pid_t process;
} unfinished[32];
enum { MOST_UNFINISHED = sizeof unfinished / sizeof unfinished[0] };

/**
 * Removes all unfinished files and folders of this process. If there is not enough memory to remove
 * them, some remain.
 */
static void remove_unfinished(void)
{
    for (int k = 0; k < MOST_UNFINISHED; k++)
        if (unfinished[k].path != NULL && unfinished[k].process == getpid())
            nftw(unfinished[k].path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

/**
 * Registers a file or folder. If memory runs out before the file or folder is finished, it is
 * removed. The text @p path must stay unchanged until then.
 */
static void note_unfinished(const char *path)
{
    int k = 0;
    while (k < MOST_UNFINISHED && unfinished[k].path != NULL && unfinished[k].process == getpid())
        k++;
    if (k < MOST_UNFINISHED) {
        unfinished[k].path = path;
        unfinished[k].process = getpid();
    }
    dsgd_at_no_memory(remove_unfinished);
}

static void note_finished(const char *path)
{
    for (int k = 0; k < MOST_UNFINISHED; k++)
        if (unfinished[k].path == path)
            unfinished[k].path = NULL;
}

char *dsgd_folder_new(const char *prefix, dsgd_error *error)
{
    const char *const tmp = getenv("TMPDIR");
    char *const path =
        prefix != NULL ? dsgd_xprintf("%s.XXXXXX", prefix)
                       : dsgd_xprintf("%s/dsgd-XXXXXX", tmp == NULL || *tmp == '\0' ? "/tmp" : tmp);
    if (mkdtemp(path) != NULL) {
        n_folders++;
        note_unfinished(path);
        let_pipe_break(SIG_BLOCK);
        return path;
    }
    dsgd_fail(error, DSGD_EIO, "%s: cannot create a file there: %m",
              prefix != NULL ? prefix : path);
    return NULL;
}

void dsgd_folder_remove(const char *path)
{
    if (path == NULL)
        return;
    note_finished(path);
    nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    if (--n_folders == 0)
        let_pipe_break(SIG_UNBLOCK);
}

char **dsgd_folder_names(const char *path, const char *ending)
{
    struct dirent **entries = NULL;
    const int n_entries = scandir(path, &entries, NULL, alphasort);
    char **const names = n_entries < 0 ? NULL : dsgd_keep((size_t)n_entries + 1, sizeof *names);
    size_t n = 0;
    for (int i = 0; i < n_entries; i++) {
        const char *const name = entries[i]->d_name;
        if (name[0] != '.' && (ending == NULL || dsgd_ends_with(name, ending)))
            names[n++] = dsgd_xstrdup(name);
        free(entries[i]);
    }
    free(entries);
    return names;
}

/* --- writing files ---------------------------------------------------------------------------- */

FILE *dsgd_whole_open(dsgd_whole_file *file, dsgd_error *error, const char *path, ...)
{
    va_list arguments;
    va_start(arguments, path);
    file->path = dsgd_xvprintf(path, arguments);
    va_end(arguments);
    file->beside = dsgd_xprintf("%s.new", file->path);
    /*
     * Mode x creates a new file, so fopen() never follows a link with this name. If a killed
     * process left a file with this name, that file is replaced.
     */
    file->stream = fopen(file->beside, "wxe");
    if (file->stream == NULL && errno == EEXIST && unlink(file->beside) == 0)
        file->stream = fopen(file->beside, "wxe");
    if (file->stream == NULL)
        dsgd_fail(error, DSGD_EIO, "%s: the file cannot be written: %m", file->beside);
    else
        note_unfinished(file->beside);
    return file->stream;
}

/**
 * Writes the folder entry of a file to the disk. If the file system does not support this, the
 * function also returns true.
 */
static bool flush_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    const char *const folder =
        slash == NULL ? "." : dsgd_xprintf("%.*s", (int)(slash - path) + 1, path);
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is = descriptor < 0 ? errno == EACCES : fsync(descriptor) == 0 || errno == EINVAL;
    const int why = errno;
    if (descriptor >= 0)
        close(descriptor);
    errno = why;
    return is;
}

dsgd_status dsgd_whole_close(dsgd_whole_file *file, dsgd_error *error)
{
    errno = ENOSPC; /* errno of a failure that happened before this function was called */
    if (ferror(file->stream))
        fputc('\n', file->stream);
    /*
     * The data must be on the disk before the file gets its final name. Otherwise a power cut could
     * leave an empty file.
     */
    const bool written = fflush(file->stream) == 0 && !ferror(file->stream) &&
                         (fsync(fileno(file->stream)) == 0 || errno == EINVAL);
    const int why = errno;
    const bool closed = fclose(file->stream) == 0;
    errno = written ? errno : why;
    const bool named = written && closed && rename(file->beside, file->path) == 0;
    dsgd_status status = DSGD_OK;
    if (!named || !flush_name(file->path))
        status = dsgd_fail(error, DSGD_EIO, "%s: the file cannot be written: %m", file->path);
    if (!named)
        unlink(file->beside);
    note_finished(file->beside);
    return status;
}

void dsgd_whole_drop(dsgd_whole_file *file)
{
    fclose(file->stream);
    unlink(file->beside);
    note_finished(file->beside);
}

bool dsgd_can_read(const char *path, ...)
{
    va_list arguments;
    va_start(arguments, path);
    char *const name = dsgd_xvprintf(path, arguments);
    va_end(arguments);
    return access(name, R_OK) == 0;
}

dsgd_status dsgd_make_folder_within(const char *folder, const char *name, dsgd_error *error)
{
    const char *const path = dsgd_xprintf("%s/%s", folder, name);
    struct stat facts;
    if (lstat(path, &facts) == 0 && !S_ISDIR(facts.st_mode))
        return dsgd_fail(error, DSGD_EIO, "%s: must be a folder, not a link or a file", path);
    return dsgd_make_folder(error, "%s", path);
}

dsgd_status dsgd_make_folder(dsgd_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const path = dsgd_xvprintf(format, arguments);
    va_end(arguments);
    if (*path == '\0')
        return dsgd_refuse(error, "the name of a folder must not be empty");
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int why = mkdir(path, 0777) == 0 ? 0 : errno;
        if (why != 0 && access(path, F_OK) != 0) {
            errno = why;
            return dsgd_fail(error, DSGD_EIO, "%s: cannot create the folder: %m", path);
        }
        *slash = '/';
    }
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return dsgd_fail(error, DSGD_EIO, "%s: cannot create the folder: %m", path);
    if (access(path, W_OK | X_OK) != 0)
        return dsgd_fail(error, DSGD_EIO, "%s: cannot write to the folder: %m", path);
    return DSGD_OK;
}
