#include <rocksdb/c.h>
#include <sys/types.h>

#ifdef __linux__
// The C library shows them to GNU sources only, and Swift imports it without their names.
extern int fallocate(int file, int mode, off_t offset, off_t count);
extern int sync_file_range(int file, off_t offset, off_t count, unsigned int flags);
#endif
