// Loads libpq, see CPostgres.h.

#include "CPostgres.h"

#include <dlfcn.h>
#include <stddef.h>

// The number is that of libpq's interface, which is the same since 2006.
static const char *const names[] = {
#ifdef __APPLE__
    "libpq.5.dylib",
    "/opt/homebrew/opt/libpq/lib/libpq.5.dylib",
    "/usr/local/opt/libpq/lib/libpq.5.dylib",
#else
    "libpq.so.5",
#endif
};

const char *cumulus_libpq_load(struct cumulus_libpq *table) {
    void *library = NULL;
    for (size_t index = 0; !library && index < sizeof names / sizeof *names; index++) {
        library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    }
    if (!library) return dlerror();
#define CUMULUS_FIND(name) \
    if (!(table->name = (__typeof__(&name))dlsym(library, #name))) return dlerror();
    CUMULUS_LIBPQ(CUMULUS_FIND)
#undef CUMULUS_FIND
    return NULL;
}
