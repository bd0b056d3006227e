// A power cut for one process and one directory (Linux): preloaded into a node, it remembers what
// was flushed to the disk, and `cluster/powercut` then takes everything else away.
//
// Used by the power-cut test. A killed process leaves its writes with the kernel, so killing alone
// never shows a missing flush; this does. Build it with
//     cc -shared -fPIC -O2 -Wall -Wextra -Werror -o powercut.so powercut.c
// and start the node with
//     LD_PRELOAD              the path of powercut.so
//     CUMULUS_POWERCUT_DIR    the data directory, absolute and without symbolic links
//     CUMULUS_POWERCUT_STATE  a directory beside it, on the same file system, which must exist
//     CUMULUS_POWERCUT_DEAF   optional, a suffix such as ".log": flushes of files so named report
//                             success and do nothing, for the run in which the test must fail
//
// It promises that after a cut
// - a file holds the bytes that it had when its last successful fsync or fdatasync began;
// - a directory holds the entries that it had when its last successful fsync began, so a file that
//   was created, renamed or removed since is absent, has its old name, or is back.
// What stands in the directory before the first start counts as flushed. Anything that it can't
// keep track of ends the process, so that no test passes by accident.
//
// It relies on what the engine does: files grow by appending, directories are not renamed, no name
// has a line break. Only in files named *.journal are bytes overwritten, by pwrite, and that is
// undone. Shrinking a file is not.
// sync, syncfs, msync and O_SYNC flush nothing here. A directory counts as made once it, or its
// parent, was flushed.
//
// How: each flushed file is pinned by a hard link STATE/files/INODE, so that it outlives its
// removal and its number is not given away. STATE/journal holds one record per flush, appended in
// one write: "file INODE SIZE", or "directory COUNT PATH" and COUNT lines "INODE NAME", where the
// inode of a subdirectory is 0. STATE/undo holds what was overwritten since: inode, place and count,
// eight bytes each, and the bytes; or an inode and two zeros once its file was flushed.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Nil unless this process is watched.
static const char *watched;
static const char *deaf;
static int journal = -1;
static int pins = -1;
static int undo = -1;
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);

// A directory's listing, its flush and its record belong together.
static pthread_mutex_t directories = PTHREAD_MUTEX_INITIALIZER;

static void give_up(const char *what) {
    fprintf(stderr, "powercut: %s: %s\n", what, strerror(errno));
    abort();
}

static void append(const char *record, size_t size) {
    if (write(journal, record, size) != (ssize_t)size) give_up("journal");
}

// The path of an open file below the watched directory, "." for that directory itself; nil for
// any other file.
static const char *watched_path(int fd, char buffer[PATH_MAX]) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, buffer, PATH_MAX - 1);
    if (size < 0) return NULL;
    buffer[size] = 0;
    size_t prefix = strlen(watched);
    if (strncmp(buffer, watched, prefix) != 0) return NULL;
    if (buffer[prefix] == 0) return ".";
    return buffer[prefix] == '/' ? buffer + prefix + 1 : NULL;
}

// Keeps the file alive under its number; 0 if it has been removed already.
static int pin(int fd, ino_t number) {
    char link[32], name[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    snprintf(name, sizeof name, "%llu", (unsigned long long)number);
    if (linkat(AT_FDCWD, link, pins, name, AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST) return 1;
    if (errno != ENOENT) give_up("link");
    return 0;
}

static void record_file(int fd, const struct stat *status) {
    char line[64];
    if (!pin(fd, status->st_ino)) return;
    int size = snprintf(line, sizeof line, "file %llu %lld\n",
                        (unsigned long long)status->st_ino, (long long)status->st_size);
    append(line, size);
}

// The record of a directory as it is now, to be freed by the caller; its files are pinned.
static char *listing(int fd, const char *path, size_t *size) {
    char *lines = NULL, *record = NULL;
    size_t lines_size = 0;
    unsigned count = 0;
    FILE *text = open_memstream(&lines, &lines_size);
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (!text || !directory) give_up(path);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (strchr(entry->d_name, '\n')) give_up("a name with a line break");
        int file = openat(fd, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0 && errno == ENOENT) continue;
        struct stat status;
        if (file < 0 || fstat(file, &status) < 0) give_up(entry->d_name);
        if (S_ISDIR(status.st_mode)) {
            count += fprintf(text, "0 %s\n", entry->d_name) > 0;
        } else if (S_ISREG(status.st_mode) && pin(file, status.st_ino)) {
            count += fprintf(text, "%llu %s\n", (unsigned long long)status.st_ino,
                             entry->d_name) > 0;
        }
        close(file);
    }
    closedir(directory);
    fclose(text);
    int length = asprintf(&record, "directory %u %s\n%s", count, path, lines);
    if (length < 0) give_up(path);
    free(lines);
    *size = length;
    return record;
}

// What stands there before the first start: every file and listing, as if flushed.
static void record_tree(const char *path) {
    char buffer[PATH_MAX];
    size_t size;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) give_up(path);
    const char *relative = watched_path(fd, buffer);
    if (!relative) give_up("CUMULUS_POWERCUT_DIR leads through a symbolic link");
    char *record = listing(fd, relative, &size);
    append(record, size);
    free(record);
    DIR *directory = fdopendir(fd);
    if (!directory) give_up(path);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char child[PATH_MAX];
        struct stat status;
        if (snprintf(child, sizeof child, "%s/%s", path, entry->d_name) >= PATH_MAX) abort();
        if (lstat(child, &status) < 0) give_up(child);
        if (S_ISDIR(status.st_mode)) record_tree(child);
        if (!S_ISREG(status.st_mode)) continue;
        int file = open(child, O_RDONLY | O_CLOEXEC);
        if (file < 0) give_up(child);
        record_file(file, &status);
        close(file);
    }
    closedir(directory);
}

__attribute__((constructor)) static void start(void) {
    real_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    real_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    const char *state = getenv("CUMULUS_POWERCUT_STATE");
    watched = getenv("CUMULUS_POWERCUT_DIR");
    deaf = getenv("CUMULUS_POWERCUT_DEAF");
    if (!watched) return;
    if (!state) give_up("CUMULUS_POWERCUT_STATE is not set");
    int folder = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) give_up(state);
    int first = mkdirat(folder, "files", 0700) == 0;
    pins = openat(folder, "files", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    journal = openat(folder, "journal", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    undo = openat(folder, "undo", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (pins < 0 || journal < 0 || undo < 0) give_up(state);
    close(folder);
    if (first && access(watched, F_OK) == 0) record_tree(watched);
}

static int ends_with(const char *text, const char *suffix) {
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

// Remembers so many old bytes of a file, which may follow its head; none: it was flushed.
static void record_undo(int fd, ino_t number, off_t place, size_t count) {
    uint64_t head[3] = {number, place, count};
    char *record = malloc(sizeof head + count);
    if (!record) give_up("undo");
    if (count > 0) {
        char link[32];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        int file = open(link, O_RDONLY | O_CLOEXEC);
        ssize_t found = file < 0 ? -1 : pread(file, record + sizeof head, count, place);
        if (found < 0) give_up(link);
        close(file);
        head[2] = found;
        if (found == 0) {
            free(record);
            return;
        }
    }
    memcpy(record, head, sizeof head);
    size_t size = sizeof head + head[2];
    if (write(undo, record, size) != (ssize_t)size) give_up("undo");
    free(record);
}

static ssize_t overwrite(int fd, const void *bytes, size_t count, off_t place) {
    char buffer[PATH_MAX];
    struct stat status;
    const char *path = watched && count > 0 ? watched_path(fd, buffer) : NULL;
    if (path && ends_with(path, ".journal")) {
        if (fstat(fd, &status) < 0) give_up(path);
        record_undo(fd, status.st_ino, place, count);
    }
    return real_pwrite(fd, bytes, count, place);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t place) {
    return overwrite(fd, bytes, count, place);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t place) {
    return overwrite(fd, bytes, count, place);
}

static int flush(int fd, int (*real)(int)) {
    char buffer[PATH_MAX];
    struct stat status;
    const char *path = watched ? watched_path(fd, buffer) : NULL;
    if (!path) return real(fd);
    if (fstat(fd, &status) < 0) give_up(path);
    if (S_ISDIR(status.st_mode)) {
        size_t size;
        pthread_mutex_lock(&directories);
        char *record = listing(fd, path, &size);
        int result = real(fd);
        int error = errno;
        if (result == 0) append(record, size);
        pthread_mutex_unlock(&directories);
        free(record);
        errno = error;
        return result;
    }
    if (deaf && ends_with(path, deaf)) return 0;
    // Its size was taken before the flush: what is written meanwhile need not be covered.
    int result = real(fd);
    int error = errno;
    if (result == 0) record_file(fd, &status);
    if (result == 0 && ends_with(path, ".journal")) record_undo(fd, status.st_ino, 0, 0);
    errno = error;
    return result;
}

int fsync(int fd) { return flush(fd, real_fsync); }

int fdatasync(int fd) { return flush(fd, real_fdatasync); }
