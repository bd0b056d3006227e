#include <rocksdb/c.h>
#include <sys/types.h>

#ifdef __linux__
// The C library shows it to GNU sources only, and Swift imports it without their names.
extern int fallocate(int file, int mode, off_t offset, off_t count);
#endif
