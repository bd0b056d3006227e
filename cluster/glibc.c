// What the programs of a package take from glibc 2.35 and newer, in terms of glibc 2.34.
//
// cluster/package links it, so that the programs run on older systems than the one that built
// them. The compiler's and the standard library's archives name these functions where they were
// built for a newer glibc. cluster/package refuses programs that need more than 2.34.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// Only for the program itself: libraries of the system find their own.
#pragma GCC visibility push(hidden)

// --- 2.35: where an exception looks for the frames of a function

#ifdef DLFO_STRUCT_HAS_EH_DBASE

struct search {
    uintptr_t place;
    struct dl_find_object *found;
};

static int look(struct dl_phdr_info *object, size_t size, void *given) {
    (void)size;
    struct search *search = given;
    const ElfW(Phdr) *frames = NULL, *holder = NULL;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[index];
        uintptr_t start = object->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_GNU_EH_FRAME) frames = header;
        if (header->p_type == PT_LOAD && search->place - start < header->p_memsz) holder = header;
    }
    if (!holder || !frames) return 0;
    *search->found = (struct dl_find_object){
        .dlfo_map_start = (void *)(object->dlpi_addr + holder->p_vaddr),
        .dlfo_map_end = (void *)(object->dlpi_addr + holder->p_vaddr + holder->p_memsz),
        .dlfo_eh_frame = (void *)(object->dlpi_addr + frames->p_vaddr),
    };
    return 1;
}

int _dl_find_object(void *place, struct dl_find_object *found) {
    struct search search = {(uintptr_t)place, found};
    return dl_iterate_phdr(look, &search) ? 0 : -1;
}

#endif

// --- 2.35: roots of sums of squares, of the same results

__asm__(".symver older_hypot, hypot@GLIBC_2.2.5");
__asm__(".symver older_hypotf, hypotf@GLIBC_2.2.5");
extern double older_hypot(double, double) __attribute__((visibility("default")));
extern float older_hypotf(float, float) __attribute__((visibility("default")));
double hypot(double x, double y) { return older_hypot(x, y); }
float hypotf(float x, float y) { return older_hypotf(x, y); }

// --- 2.36: the standard library's random numbers, from the kernel

uint32_t arc4random(void) {
    uint32_t number;
    if (getentropy(&number, sizeof number) != 0) abort();
    return number;
}
